"""What can run code from a file stands nowhere in the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    [*ROOT.glob("atlas/**/*.py"), *ROOT.glob("pages/*.py"), ROOT / "app.py", ROOT / "hatch_build.py"]
)
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "xmlrpc",
    "telnetlib",
}
CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"),
    *(
        "yaml.full_load",
        "torch.load",
        "torch.jit.load",
        "torch.hub.load",
        "np.load",
        "numpy.load",
        "pd.read_pickle",
    ),
    *("pandas.read_pickle", "np.fromfile", "tempfile.mktemp"),
}
SAFE = {
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
}


def named(node: ast.expr) -> str:
    """``np.load`` for the expression ``np.load``; empty for anything that is no dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inside = named(node.value)
        return f"{inside}.{node.attr}" if inside else ""
    return ""


def dangers(source: str) -> list[str]:
    """What in a source could run code from a file, with its line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [
                f"{node.lineno}: import {one.name}" for one in node.names if one.name.split(".")[0] in MODULES
            ]
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            found.append(f"{node.lineno}: from {node.module} import")
        if not isinstance(node, ast.Call):
            continue
        name = named(node.func)
        given = {one.arg: one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)}
        if name in CALLS and not (name in SAFE and given.get(SAFE[name][0]) is SAFE[name][1]):
            found.append(f"{node.lineno}: {name}(")
        for danger in ("allow_pickle", "shell", "weights_only"):
            if danger in given and given[danger] is not (danger == "weights_only"):
                found.append(f"{node.lineno}: {danger}={given[danger]}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_code_from_a_file(path: Path) -> None:
    assert dangers(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        *(
            "import pickle",
            "from pickle import loads",
            "import torch\ntorch.load(f)",
            "torch.load(f, weights_only=False)",
        ),
        *(
            "np.load(f)",
            "np.load(f, allow_pickle=True)",
            "yaml.load(t)",
            "eval(x)",
            "exec(x)",
            "np.savez(f, allow_pickle=True)",
        ),
        *("subprocess.run(x, shell=True)", "import joblib"),
    ],
)
def test_what_is_looked_for_is_found(source: str) -> None:
    assert dangers(source)


def test_the_safe_ways_are_not_found() -> None:
    for source in (
        *(
            "torch.load(f, weights_only=True)",
            "np.load(f, allow_pickle=False)",
            "re.compile(x)",
            "model.eval()",
        ),
        *("yaml.safe_load(t)", "np.savez_compressed(f, allow_pickle=False)"),
    ):
        assert dangers(source) == []
