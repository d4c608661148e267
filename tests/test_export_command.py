"""``atlas export``: a trace file in, one page out, without a model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from atlas.cli import app
from atlas.figures.page.document import trace_page
from tests.traces import make_trace


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def refused(*arguments: object) -> str:
    result = export(*arguments)
    assert result.exit_code == 2 and result.stdout == "", result.output
    assert result.stderr.startswith("atlas: ") and result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    make_trace().save(tmp_path / "one.npz")
    return tmp_path / "one.npz"


def test_the_page_is_written_and_an_old_one_replaced(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("old")
    result = export(saved, "-o", out, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"file": str(out), "bytes": out.stat().st_size, "trace": str(saved)}
    assert out.read_text(encoding="utf-8") == trace_page(make_trace())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.npz", "page.html"]
    result = export(saved, "-o", out, "--no-heatmap")
    assert result.exit_code == 0 and result.stdout.endswith("MB\n")
    assert out.read_text(encoding="utf-8") == trace_page(make_trace(), heatmap=False)


def test_wrong_input_is_one_line_and_leaves_the_old_page(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("old")
    assert "No such file" in refused(tmp_path / "none.npz", "-o", out)
    broken = tmp_path / "broken.npz"
    broken.write_bytes(saved.read_bytes()[:500])
    assert "broken.npz: not a trace file, or a damaged one" in refused(broken, "-o", out)
    assert "does not exist" in refused(saved, "-o", tmp_path / "nowhere" / "page.html")
    assert "directory" in refused(saved, "-o", tmp_path).lower()
    assert out.read_text() == "old"


def test_neither_torch_nor_streamlit_is_imported(saved: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from atlas.cli import app\n"
        f"app(['export', {str(saved)!r}, '-o', {str(tmp_path / 'page.html')!r}], standalone_mode=False)\n"
        "print(sorted({'torch', 'streamlit', 'pandas', 'tokenizers'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
