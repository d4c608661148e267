"""Limits on a real server, asked by a program: nothing is left to a browser to check."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlparse

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from atlas import limits
from atlas.ui.security import policy
from tests.browser.drive import running_server

TABS = 3


@pytest.fixture(scope="module")
def server(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that lets three tabs in, and keeps two files of each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(limits.ENVIRONMENT, f"tabs={TABS} files=2")
        with running_server(tiny_bundle, tmp_path_factory.mktemp("server") / "log.txt") as address:
            yield address


def open_tab(server: str) -> ClientConnection:
    url = server.replace("http", "ws", 1) + "/_stcore/stream"
    return connect(url, subprotocols=[Subprotocol("streamlit")], max_size=None)


def session_of(tab: ClientConnection) -> str:
    """The session's id, from the first message that the server sends when the page is asked for."""
    start = BackMsg()
    start.rerun_script.page_name = "translate"
    tab.send(start.SerializeToString())
    while True:
        message = ForwardMsg()
        message.ParseFromString(tab.recv(timeout=60))
        if message.WhichOneof("type") == "new_session":
            return str(message.new_session.initialize.session_id)


def ask(
    server: str, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    connection = http.client.HTTPConnection(urlparse(server).netloc, timeout=60)
    try:
        connection.request(
            method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def upload(server: str, session: str, file: str, data: bytes) -> tuple[int, bytes]:
    """What a browser does with a file, and the status it gets."""
    cookie = ask(server, "GET", "/_stcore/health")[1].get("set-cookie", "").split(";")[0]
    token = cookie.partition("=")[2]
    form = (
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n' + data + b"\r\n--x--\r\n"
    )
    status, _, body = ask(
        server,
        "PUT",
        f"/_stcore/upload_file/{session}/{file}",
        form,
        Content_Type="multipart/form-data; boundary=x",
        Cookie=cookie,
        X_Xsrftoken=token,
    )
    return status, body


def test_files_of_a_tab_are_bounded_in_size_and_number(server: str) -> None:
    with open_tab(server) as tab:
        session = session_of(tab)
        assert upload(server, session, "1", b"Hello.")[0] == 204
        assert upload(server, session, "2", bytes(limits.TRACE.default + 1))[0] == 413
        assert upload(server, session, "2", b"Hello.")[0] == 204
        status, body = upload(server, session, "3", b"Hello.")
        assert status == 413 and b"2 files on the server, the limit" in body
        assert upload(server, "nobody", "1", b"Hello.")[0] == 400


def test_tabs_are_bounded_and_a_tab_that_is_closed_makes_room(server: str) -> None:
    with ExitStack() as tabs:
        first = tabs.enter_context(open_tab(server))
        for _ in range(TABS - 1):
            tabs.enter_context(open_tab(server))
        with pytest.raises((InvalidStatus, ConnectionClosed)), open_tab(server) as late:
            late.recv(timeout=60)
        status, headers, body = ask(server, "GET", "/attention")
        assert status == 503 and headers["retry-after"] == "60"
        assert body == b"Attention Atlas is full: 3 tabs are open, the limit. Try again in a minute."
        assert headers["content-security-policy"] == policy()
        assert ask(server, "GET", "/_stcore/health")[0] == 200
        session_of(first)
    with open_tab(server) as tab:
        session_of(tab)
    assert ask(server, "GET", "/attention")[0] == 200


def test_a_message_over_the_limit_closes_that_web_socket_alone(server: str) -> None:
    with open_tab(server) as tab, open_tab(server) as other:
        with pytest.raises(ConnectionClosed):
            tab.send(bytes(65 * 2**20))
            while True:
                tab.recv(timeout=60)
        session_of(other)


@pytest.mark.parametrize(
    "path", ["/", "/attention", "/_stcore/health", "/static/nothing.js", "/media/nothing.csv"]
)
def test_every_answer_carries_the_headers(server: str, path: str) -> None:
    headers = ask(server, "GET", path)[1]
    assert headers["x-content-type-options"] == "nosniff"
    expected = "default-src 'none'; sandbox" if path.startswith("/media/") else policy()
    assert headers["content-security-policy"] == expected
