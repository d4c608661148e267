"""What docs/security.md says is written and who is called, held against an audit hook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas.ui.navigation import PAGES
from tests.browser.drive import run_session, running_server

ROOT = Path(__file__).resolve().parents[1]
WATCHED = str(ROOT / "tests" / "watched.py")
LOCAL = ("127.0.0.1", "localhost", "::1")


def happened(log: Path) -> dict[str, set[str]]:
    """What a watched process did, by kind."""
    found: dict[str, set[str]] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        kind, what = json.loads(line)
        found.setdefault(kind, set()).add(what)
    return found


def outside(paths: set[str], *folders: Path) -> set[str]:
    """The paths in none of the folders; terminals and byte code beside its source are no one's files."""
    return {
        path
        for path in paths
        if not any(Path(path).is_relative_to(folder.resolve()) for folder in folders)
        and not path.startswith("/dev/")
        and "__pycache__" not in path
    }


Watch = Callable[..., dict[str, set[str]]]


@pytest.fixture
def watch(tmp_path: Path, tiny_bundle: Path) -> Watch:
    """Runs ``atlas`` in an empty folder, as someone with an empty home, and tells what it did."""

    def run(*arguments: object) -> dict[str, set[str]]:
        log = tmp_path / "log.jsonl"
        here = tmp_path / "here"
        here.mkdir(exist_ok=True)
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        subprocess.run(
            [sys.executable, WATCHED, str(log), "-m", "atlas.cli", *map(str, arguments)],
            cwd=here,
            env=os.environ
            | {"HOME": str(home), "ATLAS_CHECKPOINTS": str(tiny_bundle), "PYTHONPATH": str(ROOT)}
            | {"TMPDIR": str(tmp_path / "tmp"), "OMP_NUM_THREADS": "1"},
            check=True,
            capture_output=True,
        )
        found = happened(log) if log.exists() else {}
        log.unlink(missing_ok=True)
        assert not list(home.iterdir())
        return found

    (tmp_path / "tmp").mkdir()
    return run


def test_the_watch_sees_what_it_is_there_for(tmp_path: Path) -> None:
    script, log = tmp_path / "script.py", tmp_path / "log.jsonl"
    script.write_text(
        "import os, pickle, socket, subprocess, threading\n"
        "from pathlib import Path\n"
        f"where = Path({str(tmp_path)!r})\n"
        "threading.Thread(target=(where / 'thread').write_text, args=('x',)).start()\n"
        "(where / 'folder').mkdir()\n"
        "os.rename(where / 'folder', where / 'renamed')\n"
        "pickle.loads(pickle.dumps(Path('a')))\n"
        "subprocess.run(['true'])\n"
        "socket.socket().connect_ex(('127.0.0.1', 9))\n"
    )
    subprocess.run([sys.executable, WATCHED, str(log), str(script)], check=True)
    found = happened(log)
    assert {str(tmp_path / name) for name in ("thread", "folder", "renamed")} <= found["write"]
    assert {"pickle.find_class", "subprocess.Popen", "socket.connect"} <= set(found)


def quiet(found: dict[str, set[str]]) -> None:
    """Nobody was called, nothing was started or unpickled."""
    assert {kind: what for kind, what in found.items() if kind != "write"} == {}


def test_commands_that_print_write_nothing(watch: Watch, tmp_path: Path) -> None:
    for command in (["limits"], ["info"], ["translate", "I love you."], ["translate", "A cat.", "--json"]):
        found = watch(*command)
        assert outside(found.get("write", set()), tmp_path / "tmp") == set(), command
        quiet(found)


def test_commands_that_write_write_where_they_were_told_to(watch: Watch, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    sentences = tmp_path / "here.txt"
    sentences.write_text("I love you.\nIt rains.\n")
    for command in (
        ["translate", "--file", sentences, "--out", out / "a.csv"],
        ["trace", "I love you.", "--out", out / "a.npz"],
        ["export", out / "a.npz", "--out", out / "a.html"],
    ):
        found = watch(*command)
        assert outside(found["write"], out, tmp_path / "tmp") == set(), command
        assert Path(str(command[-1])).is_file()
        quiet(found)
    assert not list((tmp_path / "here").iterdir())


def test_the_server_writes_nothing_and_calls_nobody(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, log = tmp_path / "home", tmp_path / "log.jsonl"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    with running_server(tiny_bundle, tmp_path / "out.txt", (WATCHED, str(log), "-m", "streamlit")) as address:
        for page in PAGES:
            run_session(address, page.name)
    found = happened(log)
    assert outside(found.pop("write", set()), tmp_path / "tmp") == set()
    assert not list(home.iterdir())
    for kind, calls in found.items():
        assert kind.startswith("socket."), (kind, calls)
        assert all(any(name in call for name in LOCAL) for call in calls), calls
