"""A trace file that the visitor opened: kept in the session, and shown without a model."""

from __future__ import annotations

import io
from dataclasses import dataclass

import streamlit as st

from atlas import limits
from atlas.errors import AtlasError
from atlas.trace import Trace
from atlas.ui.markup import notice, show_sentence

_SAVED = "atlas.saved"
_ERROR = "atlas.saved.error"
_UPLOAD = "atlas.saved.upload"


@dataclass(frozen=True)
class SavedTrace:
    """A trace from a file, and the name of the file."""

    trace: Trace
    file_name: str


def open_saved() -> SavedTrace | None:
    """The saved trace that is open in this session, if any."""
    saved: SavedTrace | None = st.session_state.get(_SAVED)
    return saved


def read_saved(name: str, data: bytes) -> SavedTrace:
    """Read and check a trace file.

    Raises:
        AtlasError: it is too large, damaged, of another version, or no trace.
    """
    limits.TRACE.check(len(data), "the file")
    return SavedTrace(Trace.load(io.BytesIO(data)), name)


def _uploaded() -> None:
    st.session_state.pop(_ERROR, None)
    upload = st.session_state[_UPLOAD]
    if upload is None:
        return
    try:
        st.session_state[_SAVED] = read_saved(upload.name, upload.getvalue())
    except AtlasError as error:
        st.session_state[_ERROR] = f"{upload.name} cannot be opened: {error}"


def close_saved() -> None:
    """Go back to the live model."""
    st.session_state.pop(_SAVED, None)
    st.session_state.pop(_ERROR, None)


def saved_trace_box() -> None:
    """The part of the sidebar that opens and closes a saved trace."""
    saved = open_saved()
    if saved is None:
        st.file_uploader(
            "Open a saved trace",
            type=["npz"],
            key=_UPLOAD,
            on_change=_uploaded,
            max_upload_size=limits.TRACE.value // 2**20,
            help="A file written by `atlas trace` or downloaded from the Attention page. It needs no model.",
        )
    else:
        st.caption("Saved trace")
        show_sentence(saved.file_name)
        st.button("Close the saved trace", on_click=close_saved, icon=":material/close:", width="stretch")
    if _ERROR in st.session_state:
        notice(st.session_state[_ERROR])
