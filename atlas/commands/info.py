"""``atlas info``: what a bundle is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from atlas.bundles import choose_bundle
from atlas.commands import options
from atlas.commands.output import say, say_json


def _summary(path: Path) -> dict[str, Any]:
    """Load and verify the bundle; what it says about itself."""
    from atlas.checkpoint import load_bundle

    bundle = load_bundle(path)
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return {
        "name": bundle.name,
        "folder": str(path),
        "hash": bundle.hash,
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "parameters": sum(parameter.numel() for parameter in bundle.model.parameters()),
        "model": bundle.model.config.to_dict(),
        "training": bundle.training,
        "files": {str(file.relative_to(path)): file.stat().st_size for file in files},
        "card": bundle.card,
    }


def run(
    checkpoint: Annotated[
        str | None, typer.Argument(help="A folder, or the name of a bundle.", show_default="en-fr")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Verify a bundle and show what it is: languages, sizes, files, and its card."""
    summary = _summary(choose_bundle(checkpoint))
    if as_json:
        say_json(summary)
        return
    languages = f"{summary['source_language']} to {summary['target_language']}"
    say(f"{summary['name']}: {languages}, {summary['folder']}")
    say(f"{summary['parameters']:,} parameters; every file agrees with its checksum")
    say("")
    width = max(map(len, summary["model"]))
    for name, value in summary["model"].items():
        say(f"  {name:<{width}}  {value}")
    say("")
    for name, size in summary["files"].items():
        say(f"  {size / 1e6:8.2f} MB  {name}")
    if summary["card"]:
        say("")
        say(summary["card"].rstrip())
