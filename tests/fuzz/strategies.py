"""What a stranger sends: texts, tables and bytes that other programs fell over."""

from __future__ import annotations

from hypothesis import strategies as st

WORST = {
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x85",
    "nul": "a\x00b",
    "bidi": "a\u202eb\u2066c\u2069\u200f d",
    "marks": "e" + "\u0301" * 3_999,
    "joined emoji": "👩‍👩‍👧‍👦" * 200,
    "flags": "🇫🇷" * 100,
    "astral": "𝒳𐍈🦊" * 50,
    "zero width": "a\u200b\u200c\u200d\ufeff\u2060b",
    "lines": "a\u2028b\u2029c\x0bd\x0ce\x1cf",
    "private": "\ue000\U000f0000\U0010fffd",
    "noncharacters": "\ufdd0\ufffe\uffff\U0001ffff\U0010fffe",
    "replacement": "\ufffd\ufffd",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>&lt;b&gt;$x$ **b** :red[x] [a](b) `c`",
    "control tokens": "<s></s><pad>",
    "formula": '=HYPERLINK("http://192.0.2.1")',
    "one long word": "x" * 4_000,
    "spaces": " " * 4_000,
    "hangul": "\u1112\u1161\u11ab" * 300,
    "normalises longer": "\ufdfa" * 200,
    "numbers": "1e999 -0 NaN 2026-01 ٣٤",
    "format": "%s%n {0} {x!r} \\x00 \\u0000",
    "path": "../../etc/passwd\x00.txt",
}
"""Sentences, by what is bad about them."""

HALF = ("\ud83e", "a\udc80b", "\udfff\ud800")
"""Half characters: they come from no browser, but from a file of JSON or a caller of the library."""

sentences = st.one_of(
    st.sampled_from([*WORST.values(), *HALF]),
    st.text(max_size=80),
    st.text(st.characters(categories=["Mn", "Cf", "Zs", "Cc", "Co", "So"]), max_size=80),
    st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, categories=None), max_size=40),
)
"""Any text at all, half characters included."""

NAMES = (
    "a.txt",
    "a.csv",
    "a.tsv",
    "a.xlsx",
    "a.jsonl",
    "A.CSV",
    "a",
    ".csv",
    "a.exe",
    "../a.csv",
    "a\x00.csv",
    "é.txt",
)

_BITS = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe\x00\x00", b"\x00", b"\r", b"\n", b"\r\n", b'"']
_BITS += [
    b"\t",
    b";",
    b",",
    b"|",
    b"text,id\n",
    b"[",
    b"{",
    b'{"text": "a"}\n',
    b"\\ud800",
    b"\x80",
    b"PK\x03\x04",
]

file_bytes = st.one_of(
    st.binary(max_size=300),
    st.lists(st.one_of(st.sampled_from(_BITS), st.binary(max_size=6)), max_size=60).map(b"".join),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.text(max_size=100).flatmap(
        lambda text: st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "gb18030"]).map(
            lambda codec: text.encode(codec, "replace")
        )
    ),
)
"""Any bytes, with what makes parsers branch."""
