"""One line, whatever is quoted in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atlas.errors import AtlasError


@given(st.text(st.characters(categories=None), max_size=60))
def test_an_error_is_one_line_that_any_terminal_shows(quoted: str) -> None:
    message = str(AtlasError(f"{quoted}: is wrong"))
    assert message.endswith(": is wrong")
    assert len(message.splitlines()) == 1
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in message)
    message.encode()


def test_an_error_can_be_read() -> None:
    assert str(AtlasError("café: no such file")) == "café: no such file"
    assert str(AtlasError("\x1b[2Ja\r\nb")) == " [2Ja b"
    assert len(str(AtlasError("a" * 10**6))) == 2_000
