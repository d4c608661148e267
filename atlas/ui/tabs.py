"""How many tabs may be open at once: each keeps a session on the server, with what its visitor opened."""

from __future__ import annotations

from atlas import limits
from atlas.ui.security import Application, Message, Receive, Send

_PARTS = ("/_stcore/", "/static/", "/media/", "/component/")
"""Paths of the parts of a page, which a tab that is open goes on asking for."""
_TRY_AGAIN_LATER = 1013
"""Code of a web socket that is closed because the server is full (RFC 6455, IANA's registry)."""


class BoundedTabs:
    """ASGI middleware that lets ``limits.TABS`` web sockets in. Whoever comes then gets one line for a page.

    Args:
        app: the application inside.
    """

    def __init__(self, app: Application) -> None:
        self._app = app
        self.open = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, or one web socket for as long as it is open."""
        full = self.open >= limits.TABS.value
        if scope["type"] == "websocket":
            if full:
                await receive()
                await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER})
                return
            self.open += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self.open -= 1
        elif scope["type"] == "http" and full and not any(part in scope["path"] for part in _PARTS):
            await _say_full(send)
        else:
            await self._app(scope, receive, send)


async def _say_full(send: Send) -> None:
    text = f"Attention Atlas is full: {limits.TABS.shown} are open, the limit. Try again in a minute."
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"retry-after", b"60")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
