"""The wheel: built from this tree, installed elsewhere, serving the application from an empty directory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


def run(command: list[object], **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT])
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--no-deps",
            "--no-index",
            "--quiet",
            "--target",
            target,
            wheel,
        ]
    )
    return target


@pytest.fixture(scope="module")
def environment(installed: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "STREAMLIT_"))
    }
    return {**kept, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def address(
    installed: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The application, served by the installed `atlas` command from an empty directory."""
    empty = tmp_path_factory.mktemp("empty")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(installed / "bin" / "atlas"), "app", "--port", str(port), "--headless"]
    log = tmp_path_factory.mktemp("log") / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=empty, env=environment, stdout=output, stderr=output)
    try:
        address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 90
        while True:
            try:
                if fetch(f"{address}/_stcore/health") == "ok":
                    break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield address
        assert server.poll() is None, log.read_text()
        assert "Traceback" not in log.read_text()
        assert list(empty.iterdir()) == []
    finally:
        server.terminate()
        server.wait(timeout=20)


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def test_the_wheel_carries_the_application_and_no_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names}
    assert tops == {"atlas", next(top for top in tops if top.endswith(".dist-info"))}
    for folder, place in (("pages", "atlas/application/pages"), ("configs", "atlas/configs")):
        sources = {path.name for path in (ROOT / folder).iterdir() if path.is_file()}
        assert sources
        assert {f"{place}/{name}" for name in sources} <= names
    for path in (ROOT / "atlas").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert path.relative_to(ROOT).as_posix() in names
    assert {"atlas/application/app.py", "atlas/application/.streamlit/config.toml"} <= names
    assert not [name for name in names if name.endswith((".safetensors", ".pyc", ".zip", ".gz"))]


def test_the_installed_package_is_the_one_that_runs(installed: Path, environment: dict[str, str]) -> None:
    code = "import atlas; print(atlas.__file__, atlas.__version__)"
    file, version = run([sys.executable, "-c", code], env=environment, cwd=installed).split()
    assert Path(file).is_relative_to(installed)
    [metadata] = installed.glob("attention_atlas-*.dist-info")
    assert metadata.name == f"attention_atlas-{version}.dist-info"


def test_the_application_answers_from_an_empty_directory(address: str) -> None:
    assert fetch(f"{address}/_stcore/health") == "ok"
    for page in ("", *(f"{path.stem}" for path in (ROOT / "pages").glob("*.py"))):
        assert '<div id="root"' in fetch(f"{address}/{page}")


def test_every_page_of_the_navigation_runs_without_a_model(
    installed: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Without a bundle each page says in one clear line how to get one, and nothing raises."""
    script = """
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest

application = Path(sys.argv[1])
for page in sorted((application / "pages").glob("*.py")):
    at = AppTest.from_file(str(application / "app.py"), default_timeout=60).run()
    at = at.switch_page(f"pages/{page.name}").run()
    assert not at.exception, (page.name, at.exception[0].message)
    shown = [element for kind in ("title", "text", "markdown", "code") for element in at.get(kind)]
    words = " ".join(str(element.value) for element in shown)
    assert "ATLAS_CHECKPOINTS" in words or "--checkpoint" in words, (page.name, words)
    print(page.stem)
"""
    printed = run(
        [sys.executable, "-c", script, installed / "atlas" / "application"], env=environment, cwd=tmp_path
    )
    assert printed.split() == sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
