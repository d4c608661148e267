"""How the command line fails: one line on standard error, and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from atlas.errors import AtlasError

WRONG_INPUT = 2


class OneLineErrors(TyperGroup):
    """A group of commands whose errors are one line: ``atlas: what is wrong``.

    Exit codes: 0 done, 2 wrong input (an option, a file, a sentence), 1 aborted, 130 stopped by Ctrl-C. An
    error that is a fault of the program keeps its traceback.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and turn every expected error into its line; no arguments mean ``--help``."""
        arguments = list(sys.argv[1:] if args is None else args) or ["--help"]
        try:
            result = super().main(arguments, prog_name, complete_var, False, windows_expand_args, **extra)
        except AtlasError as error:
            self._fail(str(error), WRONG_INPUT)
        except typer.TyperException as error:
            self._fail(error.format_message(), error.exit_code)
        except typer.Abort:
            self._fail("aborted", 1)
        if standalone_mode:
            sys.exit(result if isinstance(result, int) else 0)
        return result

    @staticmethod
    def _fail(message: str, code: int) -> None:
        print(f"atlas: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
        sys.exit(code)
