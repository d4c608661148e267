"""Uploads are counted before they are read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from atlas import limits
from atlas.ui import uploads
from atlas.ui.uploads import BoundedUploads
from tests.ui.loops import in_a_loop


class Server:
    """An application that stores what is uploaded, behind the middleware."""

    def __init__(self) -> None:
        self.manager = MemoryUploadedFileManager("/_stcore/upload_file")
        self.uploaded_file_mgr = self.manager
        self.statuses: list[int] = []
        self.bodies: list[bytes] = []
        self.go = asyncio.Event()
        self.go.set()
        self.app = BoundedUploads(self._store)

    async def _store(self, scope: Any, receive: Any, send: Any) -> None:
        await self.go.wait()
        parts = scope["path"].split("/")
        if scope.get("method") == "PUT":
            self.manager.add_file(parts[-2], UploadedFileRec(parts[-1], "a.txt", "text/plain", b"x"))
        await send({"type": "http.response.start", "status": 204, "headers": []})

    async def ask(self, path: str, method: str = "PUT") -> int:
        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.statuses.append(message["status"])
            else:
                self.bodies.append(message["body"])

        await self.app({"type": "http", "method": method, "path": path}, None, send)  # type: ignore[arg-type]
        return self.statuses[-1]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv(limits.ENVIRONMENT, "files=3")
    server = Server()
    monkeypatch.setattr(uploads.runtime, "get_instance", lambda: server)
    return server


def test_one_file_too_many_is_refused_for_that_tab_alone(server: Server) -> None:
    async def visit() -> None:
        for file in "abc":
            assert await server.ask(f"/_stcore/upload_file/tab/{file}") == 204
        assert await server.ask("/_stcore/upload_file/tab/d") == 413
        assert await server.ask("/below/_stcore/upload_file/tab/d") == 413
        assert b"already has 3 files on the server, the limit" in server.bodies[-1]
        assert await server.ask("/_stcore/upload_file/other/d") == 204
        assert await server.ask("/_stcore/upload_file/tab/a") == 204, "the same file again is no other file"
        assert await server.ask("/_stcore/upload_file/tab/a", "DELETE") == 204
        server.manager.remove_file("tab", "a")
        assert await server.ask("/_stcore/upload_file/tab/d") == 204

    in_a_loop(visit())
    assert set(server.manager.file_storage["tab"]) == {"b", "c", "d"}


def test_files_on_the_way_are_counted(server: Server) -> None:
    async def visit() -> None:
        server.go.clear()
        asking = [asyncio.create_task(server.ask(f"/_stcore/upload_file/tab/{n}")) for n in range(9)]
        await asyncio.sleep(0)
        server.go.set()
        await asyncio.gather(*asking)

    in_a_loop(visit())
    assert sorted(server.statuses) == [204] * 3 + [413] * 6
    assert len(server.manager.file_storage["tab"]) == 3
