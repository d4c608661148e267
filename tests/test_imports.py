"""The arrows of the house: which part may import which, and what a bare machine must be able to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[1] / "atlas"
MODULES = {
    ".".join(path.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(HOUSE.rglob("*.py"))
}

# A part may import parts of its own rank and below.
RANKS = {
    "errors": 0,
    "limits": 0,
    "memory": 0,
    "whole": 0,
    "trace": 0,
    "model": 1,
    "text": 1,
    "bundle_checks": 2,
    "checkpoint": 2,
    "decoding": 2,
    "training": 2,
    "analysis": 3,
    "translation": 3,
    "build_trace": 3,
    "engine": 4,
    "bundles": 4,
    "measurements": 1,
    "bench": 5,
    "ui": 5,
    "commands": 5,
    "cli": 6,
}
SHOWN_ONLY = ("atlas.ui", "atlas.figures", "atlas.bench", "atlas.commands", "atlas.cli")


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module is not None
            if node.module == "atlas":
                yield from (f"atlas.{alias.name}" for alias in node.names)
            else:
                yield node.module


def part(module: str) -> str:
    return (module.split(".") + [""])[1]


def foreign(path: Path) -> set[str]:
    """The distributions that a file imports: neither Python's own nor ours."""
    tops = {module.split(".")[0] for module in imports(path)}
    return tops - set(sys.stdlib_module_names) - {"atlas"}


def in_part(name: str) -> list[str]:
    return [module for module in MODULES if part(module) == name]


def test_the_house_was_found() -> None:
    assert {"atlas.trace", "atlas.figures", "atlas.text.files"} <= set(MODULES)


@pytest.mark.parametrize("module", in_part("trace"))
def test_the_trace_knows_numpy_and_itself(module: str) -> None:
    path = MODULES[module]
    assert foreign(path) <= {"numpy"}
    ours = {part(name) for name in imports(path) if name.startswith("atlas")}
    assert ours <= {"trace", "errors", "limits", "__version__"}


@pytest.mark.parametrize("module", in_part("figures"))
def test_figures_know_the_trace_and_plotly(module: str) -> None:
    path = MODULES[module]
    assert foreign(path) <= {"numpy", "plotly", "kaleido", "choreographer"}
    ours = {part(name) for name in imports(path) if name.startswith("atlas")}
    assert ours <= {"trace", "figures", "errors", "__version__"}


@pytest.mark.parametrize("module", [name for name in MODULES if part(name) in RANKS])
def test_arrows_run_one_way(module: str) -> None:
    rank = RANKS[part(module)]
    for name in imports(MODULES[module]):
        if name.startswith("atlas.") and part(name) != "__version__":
            if part(name) == "figures":
                assert rank >= RANKS["ui"], f"{module} imports {name}"
            else:
                assert RANKS[part(name)] <= rank, f"{module} imports {name}"


@pytest.mark.parametrize("module", [name for name in MODULES if not name.startswith("atlas.ui")])
def test_only_the_ui_knows_streamlit(module: str) -> None:
    allowed = {"streamlit"} if module == "atlas.commands.app" or part(module) == "bench" else set()
    assert foreign(MODULES[module]) & {"streamlit"} <= allowed


def test_every_part_has_a_rank() -> None:
    parts = {part(module) for module in MODULES} - {"", "figures"}
    assert parts <= set(RANKS)


def import_all(modules: list[str], blocked: str) -> None:
    """Import modules in a fresh interpreter in which some packages do not exist."""
    script = f"""
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}} (blocked)", name=name)

sys.meta_path.insert(0, Blocker())
for module in {modules!r}:
    importlib.import_module(module)
print(len(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=HOUSE.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > len(modules)


def test_the_trace_imports_with_numpy_alone() -> None:
    import_all(in_part("trace"), 'top not in sys.stdlib_module_names and top not in ("numpy", "atlas")')


def test_figures_import_without_torch_and_streamlit() -> None:
    import_all(
        in_part("figures"),
        'top in ("torch", "streamlit", "tokenizers", "safetensors", "pandas", "kaleido", "choreographer")',
    )


def test_the_core_imports_on_a_bare_machine() -> None:
    """With torch, tokenizers, safetensors and NumPy: no page, picture, table or terminal library."""
    core = [module for module in MODULES if not module.startswith(SHOWN_ONLY)]
    absent = (
        *("streamlit", "plotly", "pandas", "openpyxl", "charset_normalizer", "rich", "typer", "sacrebleu"),
        *("kaleido", "ctranslate2", "sacremoses"),
    )
    import_all(core, f"top in {absent!r}")


PEERS = {"bertviz", "transformers", "ctranslate2", "playwright", "boto3", "IPython"}


@pytest.mark.parametrize("module", list(MODULES))
def test_only_measurements_know_the_peers(module: str) -> None:
    allowed = PEERS if module.startswith("atlas.bench.") else set()
    assert foreign(MODULES[module]) & PEERS <= allowed


def test_everything_imports_without_the_peers() -> None:
    conversion = "atlas.bench.ctranslate"  # is made of theirs
    import_all([module for module in MODULES if module != conversion], f"top in {PEERS!r}")


def test_the_blocker_blocks() -> None:
    with pytest.raises(AssertionError, match="blocked"):
        import_all(["atlas.text.spreadsheet", "openpyxl"], 'top == "openpyxl"')
