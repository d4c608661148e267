"""``atlas app``: serve the application."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated

import typer

import atlas
from atlas import limits
from atlas.bundles import ENVIRONMENT
from atlas.commands.output import tell
from atlas.errors import AtlasError
from atlas.ui.security import EMBEDDERS, check_origin, embedders
from atlas.ui.talk.library import ENVIRONMENT as TOURS
from atlas.ui.talk.library import load_tour, tour_name

# An installed wheel has the application inside the package, a checkout next to it.
_PACKAGE = Path(atlas.__file__).resolve().parent
_PLACES = (_PACKAGE / "application" / "app.py", _PACKAGE.parent / "app.py")


def application() -> Path:
    """The ``app.py`` that belongs to this package.

    Raises:
        AtlasError: the package was installed without it.
    """
    for place in _PLACES:
        if place.is_file():
            return place
    raise AtlasError("the application is not installed with this package: app.py is missing")


def _check_port(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise AtlasError(
                f"cannot serve on {address} port {port}: {reason}; choose another --port"
            ) from error


def _checked(path: Path) -> str:
    """The name of a tour that can be played; what is wrong with another is raised with its line."""
    load_tour(path)
    return tour_name(path)


def run(
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Bundle, or folder of bundles, to offer. Otherwise $ATLAS_CHECKPOINTS, then ./checkpoints."
        ),
    ] = None,
    tour: Annotated[
        list[Path] | None,
        typer.Option(
            help=f"Tour to offer, a YAML file; may be given again. Otherwise ${TOURS}. "
            "The one that ships is always offered."
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port to serve on.", min=1, max=65535)] = 8501,
    address: Annotated[
        str, typer.Option(help="Address to serve on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    headless: Annotated[bool, typer.Option("--headless", help="Do not open a browser.")] = False,
    embed_in: Annotated[
        list[str] | None,
        typer.Option(
            help="Origin that may show the app in a frame, such as https://example.org; may be given again. "
            f"Otherwise ${EMBEDDERS}, then none."
        ),
    ] = None,
) -> None:
    """Open the application in the browser."""
    if checkpoint is not None:
        if not checkpoint.is_dir():
            raise AtlasError(f"{checkpoint}: there is no such folder")
        os.environ[ENVIRONMENT] = str(checkpoint.resolve())
    if embed_in:
        os.environ[EMBEDDERS] = " ".join(map(check_origin, embed_in))
    embedders()
    limits.overrides(os.environ.get(limits.ENVIRONMENT, ""))
    if tour:
        os.environ[TOURS] = os.pathsep.join(str(path.resolve()) for path in tour)
        for name in map(_checked, tour):
            tell(f"Play {name}: http://{address}:{port}/?talk=1&tour={name}")
    script = application()
    _check_port(address, port)

    from streamlit.web.cli import main as streamlit

    options = {
        "server.port": port,
        "server.address": address,
        "server.headless": str(headless).lower(),
        "server.showEmailPrompt": "false",
        "browser.gatherUsageStats": "false",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    streamlit(["run", str(script), *arguments], prog_name="streamlit", standalone_mode=False)
