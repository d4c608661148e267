"""The table of limits: what it says, how it is changed, and that the places that keep to it agree."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from atlas import limits
from atlas.cli import app
from atlas.errors import AtlasError
from atlas.limits import Limit, LimitExceeded

ROOT = Path(__file__).resolve().parents[1]


def test_every_limit_is_named_once_and_has_a_unit() -> None:
    names = [limit.name for limit in limits.ALL]
    assert len(names) == len(set(names)) and len(names) > 20
    assert all(limit.default > 0 and limit.unit and limit.of for limit in limits.ALL)


def test_over_a_limit_both_numbers_are_said() -> None:
    limits.ROWS.check(10_000, "notes.csv")
    with pytest.raises(LimitExceeded) as refused:
        limits.ROWS.check(10_001, "notes.csv")
    assert str(refused.value) == "notes.csv has 10,001 rows; the limit is 10,000 rows"
    with pytest.raises(LimitExceeded, match=r"the file has 100 MB; the limit is 64 MiB"):
        limits.TRACE.check(100 * 10**6, "the file")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(999, "999 bytes"), (10**7, "10 MB"), (2**26, "64 MiB"), (3 * 2**19, "1.5 MiB"), (1_234, "1,234 bytes")],
)
def test_bytes_are_shown_in_a_unit_that_fits(value: int, shown: str) -> None:
    assert limits.amount(value, "bytes") == shown


def test_an_operator_sets_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, "rows=20, upload=3MiB\nwait=7")
    assert (limits.ROWS.value, limits.UPLOAD.value, limits.WAIT.value) == (20, 3 * 2**20, 7)
    assert limits.COLUMNS.value == limits.COLUMNS.default
    limits.ROWS.check(20, "x")
    with pytest.raises(LimitExceeded, match="the limit is 20 rows"):
        limits.ROWS.check(21, "x")


@pytest.mark.parametrize(
    "setting",
    ["rows", "rows=", "rows=-1", "rows=0", "rows=1MB", "upload=5XB", "nothing=3", "rows=1 b"],
)
def test_a_wrong_setting_is_one_line(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, setting)
    with pytest.raises(AtlasError, match=r"^ATLAS_LIMITS: .*") as refused:
        _ = limits.ROWS.value
    assert "\n" not in str(refused.value)


def test_the_command_prints_what_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, "rows=20")
    printed = CliRunner().invoke(app, ["limits", "--json"])
    found = json.loads(printed.stdout)
    assert found["rows"] == {"limit": 20, "unit": "rows", "of": limits.ROWS.of, "kept_by": "all"}
    assert set(found) == {limit.name for limit in limits.ALL}
    assert "| `rows` | 20 rows |" in CliRunner().invoke(app, ["limits"]).stdout


def test_the_document_has_the_table_as_it_is() -> None:
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    rows = [line + "\n" for line in text.splitlines() if line.startswith("|")]
    assert "".join(rows[: len(limits.ALL) + 2]) == limits.table()


def test_streamlits_own_limits_are_no_wider_than_ours() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["maxUploadSize"] * 2**20 == limits.TRACE.default
    assert limits.UPLOAD.default <= limits.TRACE.default
    assert config["server"]["maxMessageSize"] <= 64 and config["server"]["maxWidgetStateSize"] <= 4


def test_no_number_of_a_limit_is_written_a_second_time() -> None:
    """A control that states a length takes it from the table."""
    for folder in ("atlas/ui", "pages"):
        for path in (ROOT / folder).rglob("*.py"):
            found = re.findall(r"(?:max_chars|max_upload_size)=\d+|\blimit=\d{4,}", path.read_text("utf-8"))
            assert found == [], path


def test_a_limit_is_what_it_says() -> None:
    assert Limit("a", 5, "things", "of it").shown == "5 things"
