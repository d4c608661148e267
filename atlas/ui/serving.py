"""What the server does besides serving: it opens the visitor's browser once, where there is a screen."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st

_EVERYWHERE = (None, "", "0.0.0.0", "::")


def local_address() -> str:
    """The address under which this machine reaches the app, from Streamlit's options."""
    bound = st.get_option("server.address")
    host = st.get_option("browser.serverAddress") if bound in _EVERYWHERE else bound
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    place = f"[{host}]" if ":" in host else host
    return (
        f"{scheme}://{place}:{st.get_option('server.port')}/{st.get_option('server.baseUrlPath').strip('/')}"
    )


@asynccontextmanager
async def opened_browser(_: Any) -> AsyncIterator[None]:
    """For as long as the app is served; a browser is opened at its start, unless the server is headless."""
    opening = None
    if not st.get_option("server.headless"):
        opening = asyncio.create_task(asyncio.to_thread(webbrowser.open, local_address()))
    yield
    if opening is not None:
        await opening
