"""The table of a measurement: what is printed, what is kept, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from atlas.bench.machine import machine
from atlas.bench.report import Column, Report, ReportError, refresh
from atlas.bench.rounds import in_turns, ratio
from atlas.cli import app

REPORT = Report(
    "decoding",
    "atlas bench decoding",
    {"cores": 2},
    {"rounds": 3},
    (Column("tokens/s"), Column("of CTranslate2", 2)),
    (("greedy, batch 1", (1234.5, 0.712)), ("beam 5", (None, 1.0))),
    ("Both read the same weights.",),
    {"ours": [0.1, 0.2]},
)


def test_the_table_has_the_command_the_machine_and_every_number() -> None:
    assert REPORT.markdown().splitlines() == [
        "`atlas bench decoding`",
        "",
        "cores 2, rounds 3",
        "",
        "|  | tokens/s | of CTranslate2 |",
        "|---|---:|---:|",
        "| greedy, batch 1 | 1,234 | 0.71 |",
        "| beam 5 |  | 1.00 |",
        "",
        "Both read the same weights.",
    ]


def test_what_is_kept_is_printed_again(tmp_path: Path) -> None:
    REPORT.save(tmp_path / "a.json")
    assert Report.load(tmp_path / "a.json") == REPORT
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    done = CliRunner().invoke(app, ["bench", "show", str(tmp_path / "a.json")])
    assert done.exit_code == 0
    assert done.stdout == REPORT.markdown()


def test_a_document_gets_the_tables_and_keeps_the_rest(tmp_path: Path) -> None:
    text = "Before.\n<!-- a -->\nold\n<!-- end -->\nBetween.\n<!-- b -->\n<!-- end -->\nAfter.\n"
    document, kept = tmp_path / "page.md", tmp_path / "a.json"
    document.write_text(text)
    REPORT.save(kept)
    done = CliRunner().invoke(app, ["bench", "show", str(kept), "--into", str(document)])
    assert done.exit_code == 0, done.output
    once = document.read_text()
    assert once == text.replace("old\n", f"\n{REPORT.markdown()}\n")
    assert refresh(once, {"a": REPORT}) == once
    with pytest.raises(ReportError, match="no place for c"):
        refresh(once, {"c": REPORT})


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"name": 1}', "\udcff"])
def test_another_file_is_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ReportError):
        Report.load(path)
    done = CliRunner().invoke(app, ["bench", "show", str(path)])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ReportError, match="has 1 numbers"):
        Report("a", "b", {}, {}, (Column("x"), Column("y")), (("r", (1.0,)),))


def test_jobs_take_turns_and_none_always_follows_the_same() -> None:
    calls: list[str] = []
    ticks = iter(range(1000))
    seconds = in_turns(
        {name: (lambda name=name: calls.append(name)) for name in "abc"},
        3,
        warm=0,
        clock=lambda: float(next(ticks)),
    )
    assert calls == [*"abc", *"bca", *"cab"]
    assert {name: times.tolist() for name, times in seconds.items()} == {name: [1.0] * 3 for name in "abc"}


def test_a_ratio_is_taken_within_each_round() -> None:
    ticks = iter((0.0, 1.0, 0.0, 10.0, 0.0, 2.0))
    slow = in_turns({"a": lambda: None}, 3, warm=0, clock=ticks.__next__)
    assert slow["a"].tolist() == [1.0, 10.0, 2.0]
    assert ratio(slow["a"], slow["a"] / [2, 4, 1]) == 2.0


def test_the_machine_is_told_with_versions() -> None:
    import torch

    told = machine(torch.device("cpu"), ("torch", "no-such-distribution"))
    assert told["torch"] == str(torch.__version__)
    assert told["threads"] == torch.get_num_threads()
    assert told["device"] == "cpu"
    assert "no-such-distribution" not in told


DOCUMENT = Path(__file__).parents[2] / "docs" / "performance.md"
KEPT = sorted((DOCUMENT.parent / "bench").glob("*.json"))


def test_the_document_shows_every_kept_result_as_it_is_kept() -> None:
    reports = {path.stem: Report.load(path) for path in KEPT}
    assert len(reports) >= 5
    assert refresh(DOCUMENT.read_text(encoding="utf-8"), reports) == DOCUMENT.read_text(encoding="utf-8")
