"""The security headers: what the policy says, and that every answer carries it."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import streamlit
import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.security import EMBEDDERS, SecurityHeaders, check_origin, embedders, headers, policy
from atlas.ui.serving import local_address, opened_browser
from tests.ui.loops import in_a_loop


def directives(text: str) -> dict[str, list[str]]:
    return {name: sources for name, *sources in (part.split() for part in text.split("; "))}


def answered(
    path: str = "/attention", inside: list[tuple[bytes, bytes]] | None = None, **options: Any
) -> list:
    """The headers of an answer that an application gave behind the middleware."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": inside or []})
        await send({"type": "http.response.body", "body": b"x"})

    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    scope = {"type": "http", "path": path}
    in_a_loop(SecurityHeaders(application, **options)(scope, receive, send))
    assert sent[1] == {"type": "http.response.body", "body": b"x"}
    return sent[0]["headers"]


def test_the_policy_names_this_server_and_nobody_else() -> None:
    found = directives(policy())
    assert found["default-src"] == ["'self'"] and found["connect-src"] == ["'self'"]
    assert found["object-src"] == found["base-uri"] == found["form-action"] == ["'none'"]
    assert found["frame-ancestors"] == ["'none'"]
    assert "http" not in policy() and "*" not in policy() and "ws:" not in policy()


def test_no_script_runs_that_this_server_did_not_serve() -> None:
    scripts = directives(policy())["script-src"]
    assert scripts[:2] == ["'self'", "blob:"]
    assert scripts[2:] and all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", source) for source in scripts[2:])
    assert not any("unsafe" in source for source in scripts)


def test_the_inline_script_of_streamlits_start_page_is_allowed_by_its_hash() -> None:
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy()


def test_every_answer_carries_the_headers_once_whatever_was_there() -> None:
    found = answered(inside=[(b"content-type", b"text/html"), (b"X-Frame-Options", b"ALLOWALL")])
    names = [name.lower() for name, _ in found]
    assert len(names) == len(set(names))
    assert dict(found)[b"content-type"] == b"text/html"
    assert dict(found)[b"content-security-policy"].decode() == policy()
    assert dict(found)[b"x-frame-options"] == b"DENY"
    assert dict(found)[b"x-content-type-options"] == b"nosniff"


def test_a_web_socket_passes_untouched() -> None:
    seen = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope, receive, send))

    in_a_loop(SecurityHeaders(application)({"type": "websocket"}, "receive", "send"))  # type: ignore[arg-type]
    assert seen == [({"type": "websocket"}, "receive", "send")]


def test_a_download_is_never_a_page_of_this_server() -> None:
    assert headers("/media/abc.html")["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert headers("/below/media/abc.html")["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert headers("/translate")["Content-Security-Policy"] == policy()


def test_the_operator_names_who_may_embed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EMBEDDERS, "https://example.org  http://localhost:8080")
    names = embedders()
    assert directives(policy(names))["frame-ancestors"] == ["https://example.org", "http://localhost:8080"]
    assert b"x-frame-options" not in dict(answered(embed_in=names))
    monkeypatch.delenv(EMBEDDERS)
    assert embedders() == ()


@pytest.mark.parametrize(
    "origin", ["*", "example.org", "https://a; script-src *", "javascript:x", "https://a/b"]
)
def test_a_wrong_origin_is_one_line(origin: str) -> None:
    with pytest.raises(AtlasError, match="cannot embed the app") as refused:
        check_origin(origin)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({"server.address": None}, "http://localhost:8501/"),
        ({"server.address": "0.0.0.0"}, "http://localhost:8501/"),
        ({"server.address": "127.0.0.1"}, "http://127.0.0.1:8501/"),
        ({"server.address": "::1", "server.baseUrlPath": "/atlas/"}, "http://[::1]:8501/atlas"),
        ({"server.address": "127.0.0.1", "server.sslCertFile": "x.pem"}, "https://127.0.0.1:8501/"),
    ],
)
def test_the_address_that_is_opened(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str | None], address: str
) -> None:
    whole = {
        "server.port": 8501,
        "server.baseUrlPath": "",
        "server.sslCertFile": None,
        "browser.serverAddress": "localhost",
    }
    monkeypatch.setattr(st, "get_option", lambda name: {**whole, **options}[name])
    assert local_address() == address


@pytest.mark.parametrize("headless", [True, False])
def test_a_browser_is_opened_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch, headless: bool) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(st, "get_option", lambda name: headless)
    monkeypatch.setattr("atlas.ui.serving.local_address", lambda: "http://here/")

    async def serve() -> None:
        async with opened_browser(None):
            pass

    in_a_loop(serve())
    assert opened == ([] if headless else ["http://here/"])


def test_the_document_states_the_policy_as_it_is() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    sent = {
        **headers("/attention"),
        "Content-Security-Policy": re.sub(r"'sha256-[^']+'", "'sha256-…'", policy()),
    }
    for name, value in sent.items():
        assert f"\n{name}: {value}\n" in text
