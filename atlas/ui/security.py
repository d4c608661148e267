"""The headers that every answer of the app carries: a strict content security policy and its neighbours.

What the policy allows, and who needs it (Streamlit 1.67, Plotly 7.1; each was taken away and missed):

- scripts from this server, and ``blob:`` for the components, whose code Streamlit imports from an object URL;
- the inline scripts of Streamlit's own start page, each by its SHA-256, so no other inline script runs;
- inline styles: Streamlit and Plotly set them from their scripts;
- pictures and fonts from ``data:``, for icons; pictures from ``blob:``, for Plotly's PNG;
- connections to this server alone, its WebSocket included.

No ``unsafe-eval``, no ``unsafe-inline`` for scripts, no other machine, no plug-ins, no ``<base>``, and no
frame around the app unless the operator names who may embed it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from atlas.errors import AtlasError

__all__ = ["EMBEDDERS", "SecurityHeaders", "check_origin", "embedders", "headers", "policy"]

EMBEDDERS = "ATLAS_EMBED_IN"
"""Environment variable: origins that may show the app in a frame, spaces between them; none by default."""

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|'self'")
_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)
_FILES = ("/media/",)
"""Where Streamlit serves downloads: a file that a visitor made is data, never a page of this server."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def check_origin(origin: str) -> str:
    """An origin that may embed the app: ``https://example.org``, with a port or without, or ``'self'``.

    Raises:
        AtlasError: it is something else.
    """
    if not _ORIGIN.fullmatch(origin):
        raise AtlasError(
            f"{origin!r} cannot embed the app; an origin looks like https://example.org or http://localhost:8080"
        )
    return origin


def embedders() -> tuple[str, ...]:
    """The origins that :data:`EMBEDDERS` names, each checked."""
    return tuple(map(check_origin, os.environ.get(EMBEDDERS, "").split()))


@cache
def _start_page_hashes() -> tuple[str, ...]:
    """The sources ``'sha256-...'`` of the inline scripts in Streamlit's start page, as installed here."""
    import streamlit

    page = Path(streamlit.__file__).with_name("static") / "index.html"
    scripts = _INLINE_SCRIPT.findall(page.read_text(encoding="utf-8"))
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return tuple(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def policy(embed_in: Sequence[str] = ()) -> str:
    """The content security policy of the app's pages.

    Args:
        embed_in: origins that may show the app in a frame.
    """
    directives = {
        "default-src": ("'self'",),
        "script-src": ("'self'", "blob:", *_start_page_hashes()),
        "style-src": ("'self'", "'unsafe-inline'"),
        "img-src": ("'self'", "data:", "blob:"),
        "font-src": ("'self'", "data:"),
        "connect-src": ("'self'",),
        "worker-src": ("'self'",),
        "object-src": ("'none'",),
        "base-uri": ("'none'",),
        "form-action": ("'none'",),
        "frame-ancestors": tuple(embed_in) or ("'none'",),
    }
    return "; ".join(" ".join((name, *sources)) for name, sources in directives.items())


def headers(path: str, embed_in: Sequence[str] = ()) -> dict[str, str]:
    """The security headers of an answer.

    Args:
        path: of the request.
        embed_in: origins that may show the app in a frame.
    """
    is_file = any(part in path for part in _FILES)
    found = {
        "Content-Security-Policy": "default-src 'none'; sandbox" if is_file else policy(embed_in),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if not embed_in:
        found["X-Frame-Options"] = "DENY"
    return found


class SecurityHeaders:
    """ASGI middleware that puts :func:`headers` on every HTTP answer, whatever the application set there.

    Args:
        app: the application inside.
        embed_in: origins that may show the app in a frame.
    """

    def __init__(self, app: Application, embed_in: Sequence[str] = ()) -> None:
        self._app = app
        self._embed_in = tuple(embed_in)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ours = [
            (name.lower().encode(), value.encode())
            for name, value in headers(scope["path"], self._embed_in).items()
        ]
        names = {name for name, _ in ours}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                theirs = [pair for pair in message.get("headers", ()) if pair[0].lower() not in names]
                message = {**message, "headers": [*theirs, *ours]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
