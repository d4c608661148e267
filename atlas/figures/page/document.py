"""A trace as one file of HTML: heads, lines, heatmap and the tree of the search, alive without a server.

The page asks the network for nothing and says so to the browser in its own content security policy: only the
one script whose digest stands there may run, and what that script unpacks from the page itself (``blob:``).
Text of users and models is escaped where it is HTML, and elsewhere travels as gzip in base64, in which no tag
can end.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from functools import cache
from importlib import resources
from string import Template
from typing import Final

from plotly.offline import get_plotlyjs

from atlas.figures.page.content import page_arrays, page_data
from atlas.trace import Trace

COMPONENTS: Final[dict[str, tuple[str, ...]]] = {
    "mosaic": ("mosaic.js",),
    "lines": ("lines.js",),
    "search_tree": ("walking_keys.js", "search_tree_picture.js", "search_tree.js"),
}
"""The pictures of the application that the page shows, and their scripts."""

# Read as text: the files that atlas.ui registers with Streamlit. Nothing of atlas.ui is imported.
_PICTURES = resources.files("atlas") / "ui" / "components"
_OWN = resources.files("atlas.figures.page")
_EXPORT = re.compile(r"^export default function\b *(\w*)", re.MULTILINE)


def trace_page(trace: Trace, *, heatmap: bool = True) -> str:
    """One page of HTML about a trace.

    Args:
        trace: of any model; kinds of attention that it lacks are left out.
        heatmap: whether plotly.js travels with the page and draws one head as a heatmap: 2 of its 2.1 MB.

    Returns:
        The text of an HTML file.
    """
    script = _script()
    parts = {
        "policy": html.escape(_policy(script)),
        "title": html.escape(_shortened(trace.source)),
        "style": _read(_OWN, "page.css"),
        "source": html.escape(trace.source),
        "translation": html.escape(trace.text(int(trace.hypotheses[0])) if len(trace.hypotheses) else ""),
        "facts": html.escape(_facts(trace)),
        "heatmap": '<div id="heatmap" role="img"></div>\n' if heatmap else "",
        "returned": _returned(trace),
        "footer": html.escape(_footer(trace)),
        "templates": "\n".join(map(_template, COMPONENTS)),
        "blocks": "\n".join(_blocks(trace, heatmap)),
        "script": script,
    }
    return Template(_read(_OWN, "page.html")).substitute(parts)


def _policy(script: str) -> str:
    """What the page may do: its one script, what that unpacks, its own styles, pictures that it draws."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{digest}' blob:",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


@cache
def _script() -> str:
    """The one script of the page: ``components`` by name, then the page's own.

    Raises:
        ValueError: a component without exactly one default export, or a script that would end its element.
    """
    members = []
    for name, files in COMPONENTS.items():
        code = "".join(_read(_PICTURES, file) for file in files)
        code, exports = _EXPORT.subn(r"module.render = function \1", code)
        if exports != 1:
            raise ValueError(f"{name}: a component has one default export, not {exports}")
        members.append(f"{name}: ((module) => {{\n{code}\nreturn module.render;\n}})({{}}),")
    script = "const components = {\n" + "\n".join(members) + "\n};\n" + _read(_OWN, "page.js")
    if re.search("<(?:/script|!--)", script, re.IGNORECASE):
        raise ValueError("the script of the page holds a tag that would end or change its element")
    return script


def _template(name: str) -> str:
    """Styles and elements that a picture expects in the shadow tree it is mounted in."""
    body = _PICTURES / f"{name}.html"
    elements = body.read_text(encoding="utf-8") if body.is_file() else ""
    style = f"<style>\n{_read(_PICTURES, f'{name}.css')}</style>"
    return f'<template id="template-{name}">{style}{elements}</template>'


def _blocks(trace: Trace, heatmap: bool) -> list[str]:
    data = json.dumps(page_data(trace), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    blocks = [_block("data", _packed(data.encode("utf-8", "backslashreplace")))]
    blocks += [
        _block(f"array-{kind}", _packed(values.tobytes())) for kind, values in page_arrays(trace).items()
    ]
    return [*blocks, _block("plotly", _packed_plotly())] if heatmap else blocks


def _block(name: str, packed: str) -> str:
    return f'<script type="application/octet-stream" id="{name}">{packed}</script>'


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


@cache
def _packed_plotly() -> str:
    return _packed(get_plotlyjs().encode())


def _read(folder: resources.abc.Traversable, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _facts(trace: Trace) -> str:
    header, settings = trace.header, trace.header.settings
    search = " ".join(str(settings[name]) for name in ("method", "beam") if name in settings)
    penalty = " ".join(str(settings[name]) for name in ("penalty", "alpha") if name in settings)
    parts = [
        f"model {header.model_name}",
        f"{header.source_language} to {header.target_language}",
        search,
        penalty,
        f"{len(trace.search) - 1} candidates",
    ]
    return " · ".join(filter(None, parts))


def _footer(trace: Trace) -> str:
    return (
        f"Made by Attention Atlas {trace.header.package_version} from a trace of {trace.header.model_name}. "
        f"Weights are taken before dropout. This page asks the network for nothing."
    )


def _returned(trace: Trace) -> str:
    """The table of hypotheses; its buttons wait for the script."""
    if not len(trace.hypotheses):
        return "<p>The search found no translation.</p>"
    rows = []
    for place, node in enumerate(trace.hypotheses.tolist()):
        text = html.escape(trace.text(node)) or "(an empty translation)"
        names = f'id="hypothesis-{place}" data-hypothesis="{place}"'
        button = f'<button type="button" {names} disabled>{text}</button>'
        score, total = trace.search.score[node], trace.search.cumulative[node]
        rows.append(
            f"<tr><td>{place + 1}</td><td>{button}</td><td>{score:.3f}</td><td>{total:.3f}</td>"
            f"<td>{int(trace.search.step[node])}</td></tr>"
        )
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("", "translation", "score", "log-probability", "tokens")
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
