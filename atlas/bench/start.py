"""How long it takes to begin: every measurement is a process of its own, from its start to its end.

What is timed is what a person waits for: an import, the help, a loaded model, the first translation, the
first page of the application. Imports of PyTorch and of Streamlit, timed in the same rounds, are the floor:
nothing that runs a model is faster than the one, no page of this kind faster than the other.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from atlas.bench.machine import machine
from atlas.bench.report import Column, Report
from atlas.bench.rounds import in_turns, ratio
from atlas.bundles import ENVIRONMENT
from atlas.errors import AtlasError

SENTENCE = "The cat sat on the chair because it was tired."
PAGE = "translate"
PATIENCE = 120.0
"""Seconds after which a process or a page is taken for hung."""
TORCH, STREAMLIT = "import torch", "import streamlit"
_LOAD = "from atlas.engine import Engine\nengine = Engine.load({path!r}, {device!r})\n"
_COUNT = "\nimport sys\nprint(len(sys.modules))"


class StartError(AtlasError):
    """A process or a page that did not come up."""


def programs(bundle: Path, device: str) -> dict[str, str]:
    """What is timed, by name: programs for ``python -c``, the floor first."""
    load = _LOAD.format(path=str(bundle), device=device)
    help_text = "from atlas.cli import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass"
    return {
        "python": "pass",
        TORCH: TORCH,
        STREAMLIT: STREAMLIT,
        "import atlas": "import atlas",
        "atlas --help": help_text,
        "import atlas.trace": "import atlas.trace",
        "import atlas.engine": "import atlas.engine",
        "Engine.load": load,
        "first translation": f"{load}engine.translate([{SENTENCE!r}])",
        "first trace": f"{load}engine.trace({SENTENCE!r})",
    }


def run_program(program: str, environment: Mapping[str, str]) -> str:
    """Run it in a fresh Python to its end, and hand back what it printed.

    Raises:
        StartError: it failed or hung; the line is the last one that it wrote.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise StartError(f"a program did not end within {PATIENCE:.0f} s: {program!r}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise StartError(f"a program ended with {done.returncode}: {last}")
    return done.stdout


def serve_first_page(environment: Mapping[str, str], page: str = PAGE) -> str:
    """Start the application, let one visitor open ``page`` until its script has finished, and end it.

    The visitor is a web socket that speaks Streamlit's protocol: what a browser does beside is not in it.

    Returns:
        the name of the first element that the page sent.

    Raises:
        StartError: the server ended, the page failed, or either hung.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "atlas.cli", "app", "--headless", "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, env=dict(environment), stdout=log, stderr=log)
        try:
            return _visit(server, port, page)
        except StartError as error:
            log.seek(0)
            lines = log.read().decode("utf-8", "replace").strip().splitlines()
            raise StartError(f"{error}; the server said: {lines[-1] if lines else 'nothing'}") from error
        finally:
            server.kill()
            server.wait()


def _visit(server: subprocess.Popen[bytes], port: int, page: str) -> str:
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    deadline, first = time.monotonic() + PATIENCE, ""
    while True:
        if server.poll() is not None:
            raise StartError(f"the application ended with {server.returncode}")
        if time.monotonic() > deadline:
            raise StartError(f"the application did not answer within {PATIENCE:.0f} s")
        try:
            tab = connect(
                f"ws://127.0.0.1:{port}/_stcore/stream",
                subprotocols=[Subprotocol("streamlit")],
                max_size=None,
            )
            break
        except (OSError, WebSocketException):
            time.sleep(0.01)
    with tab:
        start = BackMsg()
        start.rerun_script.page_name = page
        tab.send(start.SerializeToString())
        while True:
            try:
                received = tab.recv(timeout=max(deadline - time.monotonic(), 0.0))
            except (TimeoutError, WebSocketException) as error:
                raise StartError(f"the page {page!r} did not finish") from error
            message = ForwardMsg()
            message.ParseFromString(received if isinstance(received, bytes) else received.encode())
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                element = str(message.delta.new_element.WhichOneof("type"))
                if element == "exception":
                    raise StartError(
                        f"the page {page!r} failed: {message.delta.new_element.exception.message}"
                    )
                first = first or element
            elif kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return first
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise StartError(f"the page {page!r} cannot be read")


COLUMNS = (
    Column("seconds", 2),
    Column("of import torch", 2),
    Column("of import streamlit", 2),
    Column("modules"),
)


def start_times(
    bundle: Path,
    *,
    device: str = "cpu",
    rounds: int = 7,
    command: str,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Time fresh processes in turns.

    Args:
        bundle: the folder of a trained model.
        device: where it runs.
        rounds: how often each is timed.
        command: that prints the report again.
        progress: called with rounds done and rounds in all.

    Raises:
        StartError: something did not come up.
    """
    environment = os.environ | {ENVIRONMENT: str(bundle), "ATLAS_DEVICE": device}
    modules: dict[str, int] = {}

    def begin(name: str, program: str) -> None:
        modules[name] = int(run_program(program + _COUNT, environment).split()[-1])

    jobs: dict[str, Callable[[], object]] = {
        name: partial(begin, name, program) for name, program in programs(bundle, device).items()
    }
    jobs["first page"] = partial(serve_first_page, environment)
    seconds = in_turns(jobs, rounds, warm=0, progress=progress)  # a cold first round is one of several
    rows = tuple(
        (
            name,
            (
                float(np.median(times)),
                ratio(times, seconds[TORCH]),
                ratio(times, seconds[STREAMLIT]),
                modules.get(name),
            ),
        )
        for name, times in seconds.items()
    )
    return Report(
        "start",
        command,
        machine(packages=("torch", "numpy", "streamlit", "tokenizers", "typer")),
        {"model": bundle.name, "device": device, "rounds": rounds},
        COLUMNS,
        rows,
        (
            "Every row is a process of its own, from its start to its end, with the files in the system's "
            "cache. First page: from the start of atlas app until the script of the page Translate has "
            "finished for one visitor, who is a web socket and no browser. Ratios are medians over the "
            "rounds; modules are those of Python that were imported at the end.",
        ),
        {name: times.tolist() for name, times in seconds.items()},
    )
