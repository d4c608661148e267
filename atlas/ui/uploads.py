"""How many files one tab can leave on the server: Streamlit bounds the size of each, not their number."""

from __future__ import annotations

import re
from collections import Counter

from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from atlas import limits
from atlas.ui.security import Application, Message, Receive, Send

_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)$")


def kept_files(session: str) -> set[str]:
    """The ids of the files that Streamlit holds for a session."""
    manager = runtime.get_instance().uploaded_file_mgr
    if not isinstance(manager, MemoryUploadedFileManager):
        raise TypeError(f"uploads are counted in Streamlit's memory, not in a {type(manager).__name__}")
    return set(manager.file_storage.get(session, ()))


class BoundedUploads:
    """ASGI middleware that refuses more files of a session than ``limits.FILES``, those on the way counted.

    Args:
        app: the application inside.
    """

    def __init__(self, app: Application) -> None:
        self._app = app
        self._arriving: Counter[str] = Counter()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request."""
        upload = _UPLOAD.search(scope["path"]) if scope["type"] == "http" else None
        if upload is None or scope["method"] != "PUT":
            await self._app(scope, receive, send)
            return
        session, file = upload.groups()
        others = kept_files(session) - {file}
        if len(others) + self._arriving[session] >= limits.FILES.value:
            await _refuse(send)
            return
        self._arriving[session] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._arriving[session] -= 1
            if not self._arriving[session]:
                del self._arriving[session]


async def _refuse(send: Send) -> None:
    body = f"This tab already has {limits.FILES.shown} on the server, the limit; close one first.".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
