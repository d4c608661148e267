"""Nothing heavy is imported before it is needed: what a fresh process holds after each way to begin."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODEL = {"torch", "tokenizers", "safetensors"}
TABLES = {"pandas", "pyarrow", "openpyxl", "sacrebleu", "sacremoses", "charset_normalizer"}
PICTURES = {"plotly", "streamlit", "PIL", "kaleido"}
TERMINAL = {"typer", "rich"}
COMPILER = {"sympy", "torch._dynamo", "torch._inductor", "torch.onnx", "torch.utils.tensorboard"}
PEERS = {"transformers", "ctranslate2", "bertviz", "playwright", "scipy", "matplotlib"}
ALWAYS_ABSENT = COMPILER | PEERS
HELP = """
from atlas.cli import app
try:
    app([{arguments}])
except SystemExit as end:
    assert not end.code
"""

WAYS = {
    "import atlas": ("import atlas", MODEL | TABLES | PICTURES | TERMINAL | {"numpy"}),
    "import atlas.trace": ("import atlas.trace", MODEL | TABLES | PICTURES | TERMINAL),
    "import atlas.engine": ("import atlas.engine", TABLES | PICTURES | TERMINAL),
    "import a figure": ("import atlas.figures.heatmap", MODEL | TABLES | TERMINAL | {"streamlit"}),
    "import the training": ("import atlas.training.loop", TABLES | PICTURES | TERMINAL),
    "import the commands": ("import atlas.cli", MODEL | TABLES | PICTURES | {"rich.progress", "numpy"}),
    "import the navigation": ("import atlas.ui.navigation", MODEL | TABLES | {"numpy"}),
    "atlas --help": (HELP.format(arguments="'--help'"), MODEL | TABLES | PICTURES | {"numpy", "yaml"}),
    "atlas bench --help": (
        HELP.format(arguments="'bench', '--help'"),
        MODEL | TABLES | PICTURES | {"numpy", "yaml"},
    ),
    "atlas translate --help": (
        HELP.format(arguments="'translate', '--help'"),
        MODEL | TABLES | PICTURES | {"numpy", "yaml"},
    ),
}


def modules_after(program: str) -> set[str]:
    """What a fresh Python has imported when ``program`` has run."""
    told = "\nimport json, sys\nprint()\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program + told], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_needed_is_not_there(way: str) -> None:
    program, absent = WAYS[way]
    assert not modules_after(program) & (absent | ALWAYS_ABSENT)


def test_a_translation_and_a_trace_need_no_table_and_no_picture(tiny_bundle: Path) -> None:
    program = (
        f"from atlas.engine import Engine\nengine = Engine.load({str(tiny_bundle)!r}, 'cpu')\n"
        "engine.translate(['I love you.'])\nengine.trace('I love you.').path()"
    )
    held = modules_after(program)
    assert held > MODEL
    assert not held & (TABLES | PICTURES | TERMINAL | ALWAYS_ABSENT)


def test_the_command_that_translates_imports_the_same(tiny_bundle: Path) -> None:
    arguments = f"'translate', '--checkpoint', {str(tiny_bundle)!r}, 'I love you.'"
    held = modules_after(HELP.format(arguments=arguments))
    assert held > MODEL
    assert not held & (TABLES | PICTURES | ALWAYS_ABSENT)
