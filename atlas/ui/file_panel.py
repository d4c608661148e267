"""Translate a file: choose it, choose its column, watch, stop, look, download."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from atlas import limits
from atlas.decoding import SearchOptions
from atlas.limits import LimitExceeded
from atlas.text.files import FORMATS, FileProblem, Upload, read_upload
from atlas.text.tables import MIME_TYPES, TABLE_FORMATS
from atlas.ui.job import FileJob, Progress, Result, result_columns
from atlas.ui.markup import notice, show_facts
from atlas.ui.models import SharedEngine, is_present, visitor

_PANEL = "atlas.file"
_UPLOADER = "atlas.file.upload"
_POLL_SECONDS = 1.0
_PREVIEW_ROWS = 8


@dataclass
class FilePanel:
    """What this session keeps of an upload while the visitor looks at other pages."""

    upload: Upload | None = None
    problem: str = ""
    column: str = ""
    job: FileJob | None = None
    job_column: str = ""


def _panel() -> FilePanel:
    if _PANEL not in st.session_state:
        st.session_state[_PANEL] = FilePanel()
    panel: FilePanel = st.session_state[_PANEL]
    return panel


def show_file_panel(engine: SharedEngine, options: SearchOptions) -> None:
    """The whole panel, whatever stage it is in."""
    panel = _panel()
    if panel.upload is None:
        _choose_file(panel)
        return
    _describe(panel, panel.upload)
    if panel.job is None:
        _choose_column(panel, panel.upload, engine, options)
    else:
        _watch(panel.job)


def _choose_file(panel: FilePanel) -> None:
    st.file_uploader(
        f"A file of sentences, at most {limits.ROWS.shown}",
        type=list(FORMATS),
        key=_UPLOADER,
        on_change=_uploaded,
        args=(panel,),
        max_upload_size=limits.UPLOAD.value // 10**6,
    )
    if panel.problem:
        notice(panel.problem)


def _uploaded(panel: FilePanel) -> None:
    file = st.session_state[_UPLOADER]
    panel.problem = ""
    if file is None:
        return
    try:
        panel.upload = read_upload(file.name, file.getvalue())
        panel.column = panel.upload.columns[panel.upload.suggested]
    except FileProblem as problem:
        panel.problem = str(problem)


def _describe(panel: FilePanel, upload: Upload) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        show_facts([upload.name, f"{len(upload):,} rows", *upload.notes])
        st.button("Another file", icon=":material/close:", on_click=_forget, args=(panel,))


def _forget(panel: FilePanel) -> None:
    if panel.job is not None:
        panel.job.stop()
    st.session_state[_PANEL] = FilePanel()


def _set_header(panel: FilePanel, upload: Upload) -> None:
    panel.upload = upload.with_header(not upload.header)
    panel.column = panel.upload.columns[panel.upload.suggested]


def _choose_column(panel: FilePanel, upload: Upload, engine: SharedEngine, options: SearchOptions) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        index = st.selectbox(
            "Column with the sentences",
            range(len(upload.columns)),
            index=upload.columns.index(panel.column),
            format_func=lambda place: upload.columns[place],
            key=f"atlas.file.column.{upload.name}.{upload.header}",
        )
        panel.column = upload.columns[index]
        if upload.can_have_header:
            st.checkbox(
                "The first row has the names",
                value=upload.header,
                key=f"atlas.file.header.{upload.name}",
                on_change=_set_header,
                args=(panel, upload),
            )
        rows = upload.sentences(panel.column)
        good = sum(row.problem is None for row in rows)
        st.button(
            f"Translate {good:,} rows",
            type="primary",
            disabled=not good,
            on_click=_start,
            args=(panel, upload, engine, options),
        )
    if panel.problem:
        notice(panel.problem)
    if good < len(rows):
        notice(f"{len(rows) - good:,} rows cannot be translated; they are marked and stay in the table.")
    preview = pd.DataFrame(
        {
            "row": [row.number for row in rows[:_PREVIEW_ROWS]],
            "original": [row.text for row in rows[:_PREVIEW_ROWS]],
            "problem": [row.problem or "" for row in rows[:_PREVIEW_ROWS]],
        }
    )
    st.dataframe(
        preview,
        hide_index=True,
        width="stretch",
        height="content",
        column_config={
            "row": st.column_config.NumberColumn("row", width="small"),
            "problem": st.column_config.TextColumn("remark"),
        },
    )


def _start(panel: FilePanel, upload: Upload, engine: SharedEngine, options: SearchOptions) -> None:
    session = visitor() or ""
    job = FileJob(
        upload.sentences(panel.column),
        lambda sentences: engine.translate(sentences, options, background=session),
        lambda: is_present(session),
    )
    try:
        job.start()
    except LimitExceeded as full:
        panel.problem = str(full)
        return
    panel.problem = ""
    panel.job, panel.job_column = job, panel.column


def _watch(job: FileJob) -> None:
    """Progress while the job runs, then the table: a fragment that asks again every second until the end."""
    running = job.progress.running
    st.fragment(_progress, run_every=_POLL_SECONDS if running else None)(job, running)
    if not running:
        _show_results(job)


def _progress(job: FileJob, was_running: bool) -> None:
    progress = job.progress
    share = progress.done / progress.total if progress.total else 1.0
    st.progress(share, text=_progress_text(progress))
    if progress.running:
        st.button(
            "Stop and keep what is done", icon=":material/stop:", on_click=job.stop, disabled=progress.stopped
        )
        _table(job.results[-_PREVIEW_ROWS:])
    elif was_running:
        st.rerun()


def _progress_text(progress: Progress) -> str:
    parts = [f"{progress.done:,} of {progress.total:,} rows"]
    if progress.running:
        parts.append("stopping after this batch" if progress.stopped else time_left(progress.seconds_left))
    elif progress.stopped:
        parts.append("stopped: what was done is kept")
    return " · ".join(parts)


def time_left(seconds: float | None) -> str:
    """``"about 3 min left"``; a rough word before there is anything to go by."""
    if seconds is None:
        return "estimating the time left"
    if seconds < 60:
        return f"about {max(1, round(seconds))} s left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 90 else f"about {minutes / 60:.1f} h left"


def _show_results(job: FileJob) -> None:
    progress = job.progress
    if progress.error:
        notice(f"The translation ended by an error: {progress.error}")
    results = job.results
    marked = sum(bool(result.problem) for result in results)
    with st.container(horizontal=True):
        for format in TABLE_FORMATS:
            st.download_button(
                format.upper(),
                data=partial(job.table, format),
                file_name=f"translations.{format}",
                mime=MIME_TYPES[format],
                icon=":material/download:",
                key=f"atlas.file.download.{format}",
                on_click="ignore",
            )
    if marked:
        show_facts([f"{marked:,} rows have a remark in the last column"])
    _table(results)


def _table(results: list[Result]) -> None:
    st.dataframe(
        pd.DataFrame(result_columns(results)),
        hide_index=True,
        width="stretch",
        column_config={
            "row": st.column_config.NumberColumn("row", width="small"),
            "score": st.column_config.NumberColumn(
                "score",
                format="%.3f",
                help="Log-probability after the length penalty; nearer to 0 is surer.",
            ),
            "problem": st.column_config.TextColumn("remark"),
        },
    )
