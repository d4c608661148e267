"""``atlas limits``: how much of everything is allowed here."""

from __future__ import annotations

from typing import Annotated

import typer

from atlas import limits
from atlas.commands.output import say, say_json


def run(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Print the limits in force; ATLAS_LIMITS="rows=20000 upload=20MB" sets others."""
    if as_json:
        say_json(
            {
                limit.name: {
                    "limit": limit.value,
                    "unit": limit.unit,
                    "of": limit.of,
                    "kept_by": limit.kept_by,
                }
                for limit in limits.ALL
            }
        )
        return
    say(limits.table().rstrip("\n"))
