"""Uploaded files: what people's editors, spreadsheets and scripts really write."""

from __future__ import annotations

import codecs
import io
import json
import zipfile
from datetime import date

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import limits
from atlas.text.decode import decode
from atlas.text.files import FileProblem, Row, read_upload


def texts(name: str, data: bytes, column: int | str = 0) -> list[str]:
    return [row.text for row in read_upload(name, data).sentences(column)]


def workbook(*rows: list[object], sheets: int = 1) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for number in range(1, sheets):
        book.create_sheet(f"more {number}")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


# --- encodings


@pytest.mark.case("U1")
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n", "\n  \n"])
def test_byte_order_mark_line_ends_and_blank_last_line(ending: str, last: str) -> None:
    data = codecs.BOM_UTF8 + ("Hello.\n\nHow are you?" + last).replace("\n", ending).encode()
    upload = read_upload("mine.txt", data)
    assert upload.sentences(0) == [Row(1, "Hello."), Row(2, "", "empty"), Row(3, "How are you?")]
    assert len(upload) == 3
    assert upload.encoding == "UTF-8"
    assert "byte-order mark" in upload.notes[0]


@pytest.mark.case("U1")
def test_byte_order_mark_before_a_csv_header() -> None:
    upload = read_upload("mine.csv", codecs.BOM_UTF8 + b"text,id\r\nHello.,1\r\nBye.,2\r\n\r\n")
    assert upload.columns == ("text", "id")
    assert upload.sentences("text") == [Row(2, "Hello."), Row(3, "Bye.")]


WESTERN = [
    "é",
    "café",
    "été",
    "Zoë and José",
    "Un café, s’il vous plaît.",
    "Où est-il ?\r\nÀ demain.\r\n",
    "élève à été créée.",
    "« déjà vu » … Œuvre n° 5 à 3 €",
    "Señor Núñez está aquí. ¿Dónde?",
    "Grüße aus München, Straße, Füße",
    "ÉTÉ À LA MER",
    "Jag älskar dig, Åsa.",
]


@pytest.mark.case("U2")
@pytest.mark.parametrize("text", WESTERN)
@pytest.mark.parametrize("padding", ["", "Nothing but ASCII here.\n" * 500])
def test_windows_1252_is_detected_converted_and_said(text: str, padding: str) -> None:
    upload = read_upload("mine.txt", (padding + text).encode("cp1252"))
    lines = (padding + text).rstrip().splitlines()
    assert [row.text for row in upload.sentences(0)] == lines
    assert all(row.problem is None for row in upload.sentences(0))
    assert upload.encoding == "Windows-1252"
    assert "Windows-1252" in upload.notes[0]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Żółć gęślą jaźń. Chcę iść do domu.", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
        ("Привет, как дела?\nЯ тебя люблю.", "cp1251"),
        ("Сегодня хорошая погода, и мы идём гулять в парк.", "koi8-r"),
        ("Καλημέρα κόσμε, τι κάνεις σήμερα;", "cp1253"),
        ("日本語の文章です。こんにちは。", "shift_jis"),
        ("今天天气很好,我们去公园散步吧。", "gb18030"),
        ("L'été dernier, j'ai déjà visité ce café.", "mac_roman"),
    ],
)
def test_other_legacy_encodings(text: str, encoding: str) -> None:
    assert decode("mine.txt", text.encode(encoding)).text == text


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_unicode_with_and_without_marks(codec: str) -> None:
    upload = read_upload("mine.csv", "text,note\r\nThe café is open.,été\r\n".encode(codec))
    assert upload.sentences("text") == [Row(2, "The café is open.")]
    assert texts("mine.csv", "text,note\r\nThe café is open.,été\r\n".encode(codec), "note") == ["été"]


def test_damaged_utf8_lines_are_marked_and_the_rest_is_read() -> None:
    data = "Où est-il ?\nÀ demain.\n".encode() + b"caf\xe9 \xff\n" + b"plain\n"
    assert read_upload("mine.txt", data).sentences(0) == [
        Row(1, "Où est-il ?"),
        Row(2, "À demain."),
        Row(3, "caf\\xe9 \\xff", "undecodable bytes, shown as \\xNN"),
        Row(4, "plain"),
    ]


def test_a_cut_utf16_file_keeps_its_whole_characters() -> None:
    rows = read_upload("mine.txt", "One.\nTwo.".encode("utf-16")[:-1]).sentences(0)
    assert rows == [Row(1, "One."), Row(2, "Two\\x2e", "undecodable bytes, shown as \\xNN")]


def test_a_replacement_character_in_the_file_is_marked_as_lost_before() -> None:
    [row] = read_upload("mine.txt", "caf\ufffd".encode()).sentences(0)
    assert row == Row(1, "caf\\ufffd", "a character was lost (U+FFFD) before the upload")


@given(st.binary(min_size=1, max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_without_a_replacement_character_or_refused_in_one_line(data: bytes) -> None:
    for name in ("a.txt", "a.csv", "a.tsv", "a.jsonl", "a.xlsx"):
        try:
            upload = read_upload(name, data)
        except FileProblem as problem:
            assert "\n" not in str(problem)
            assert str(problem).startswith(name)
        else:
            for row in upload.sentences(0):
                row.text.encode("utf-8")
                assert "\ufffd" not in row.text


@given(
    st.lists(
        st.text(
            st.characters(codec="utf-8", exclude_characters="\r\n\t\ufffd\ufeff\U0010fffe\0"), min_size=1
        ).filter(str.strip),
        min_size=1,
    )
)
@settings(max_examples=100, deadline=None)
def test_utf8_lines_come_back_as_typed(lines: list[str]) -> None:
    data = codecs.BOM_UTF8 + "\n".join(lines).encode()
    assert texts("mine.txt", data) == lines


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04rest", "begins like a ZIP archive or a spreadsheet"),
        (b"%PDF-1.7", "begins like a PDF file"),
        (b"\x89PNG\r\n", "begins like a PNG picture"),
        (b"a\x00\x01\x02\x00\x00b\x00\x00\x00", "contains zero bytes"),
        (b"", "is empty"),
        (b"\xef\xbb\xbf\r\n\r\n", "is empty"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(FileProblem, match=reason):
        read_upload("mine.txt", data)


# --- lines and fields


def test_a_line_ends_only_at_line_ends() -> None:
    text = "one\u2028two\x0bthree\x0cfour\x85five\nsix"
    assert texts("mine.txt", text.encode()) == ["one\u2028two\x0bthree\x0cfour\x85five", "six"]


def test_a_text_file_of_tabs_becomes_columns() -> None:
    upload = read_upload("pairs.txt", b"Go.\tVa !\nHi.\tSalut !\n")
    assert upload.columns == ("column 1", "column 2")
    assert [row.text for row in upload.sentences(1)] == ["Va !", "Salut !"]
    assert not upload.header


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(delimiter: str) -> None:
    lines = [["id", "english"], ["1", '"Yes, I do; he | she said ""no""."'], ["2", "Bye."]]
    data = "\r\n".join(delimiter.join(fields) for fields in lines).encode()
    upload = read_upload("mine.csv", data)
    assert upload.columns == ("id", "english")
    assert upload.sentences("english") == [Row(2, 'Yes, I do; he | she said "no".'), Row(3, "Bye.")]
    assert any(note.startswith("Delimiter:") for note in upload.notes)


def test_unquoted_commas_of_a_single_column_do_not_cut_sentences() -> None:
    data = b"Hello, world\nHow are you?\nYes, I am, thanks\nBye\n"
    upload = read_upload("mine.csv", data)
    assert [row.text for row in upload.sentences(0)] == data.decode().splitlines()
    assert any("No delimiter" in note for note in upload.notes)


def test_quoted_single_column() -> None:
    assert texts("mine.csv", b'"Hello, world"\n"Bye, ""you"""\n') == ["Hello, world", 'Bye, "you"']


def test_quotation_marks_that_are_text_do_not_swallow_lines() -> None:
    data = b'"Hello" she said.\tx\n"Bye\ty\nTwo\tz\n'
    upload = read_upload("mine.tsv", data)
    assert [row.text for row in upload.sentences(0)] == ['"Hello" she said.', '"Bye', "Two"]
    assert any("quotation marks" in note for note in upload.notes)


def test_a_sentence_may_hold_a_line_end_within_quotation_marks() -> None:
    rows = read_upload("mine.csv", b'text,n\n"One\ntwo.",1\nThree.,2\n').sentences("text")
    assert rows == [Row(2, "One\ntwo."), Row(3, "Three.")]


def test_bad_rows_are_marked_in_place() -> None:
    long = "x" * (limits.SENTENCE.value + 1)
    data = f"id,text,note\n1,Good.,a\n2,Cut, in two,b\n3\n,,\n4,{long},c\n5,{long[1:]},d\n".encode()
    rows = read_upload("mine.csv", data).sentences("text")
    assert [(row.number, row.problem) for row in rows] == [
        (2, None),
        (3, "4 fields where 3 were expected"),
        (4, "empty"),
        (5, "empty"),
        (6, "too long: 4,001 characters; the limit is 4,000"),
        (7, None),
    ]
    assert rows[4].text == long


def test_the_header_is_offered_and_said() -> None:
    upload = read_upload("mine.csv", b"first,second\nHello.,Bonjour.\n")
    assert not upload.header
    assert "read as data" in upload.notes[-1]
    named = upload.with_header(True)
    assert named.columns == ("first", "second")
    assert named.sentences("first") == [Row(2, "Hello.")]
    assert named.notes[-1] == "Row 1 read as column names (as you chose)."
    assert named.with_header(False).sentences(0) == [Row(1, "first"), Row(2, "Hello.")]


def test_a_name_above_numbers_is_a_header() -> None:
    assert read_upload("mine.csv", b"wording,count\nHello.,3\nBye.,14\n").columns == ("wording", "count")


def test_repeated_and_missing_column_names_are_told_apart() -> None:
    upload = read_upload("mine.csv", b"text,text,,id\na,b,c,1\n").with_header(True)
    assert upload.columns == ("text", "text (2)", "column 3", "id")


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (b"id,french,english\n1,Bonjour a tous.,Hi.\n", "english"),
        (b"nr,x,y\n1,Short.,A much longer sentence.\n", "y"),
    ],
)
def test_the_suggested_column(data: bytes, column: str) -> None:
    upload = read_upload("mine.csv", data)
    assert upload.columns[upload.suggested] == column


def test_an_unknown_column_names_those_there_are() -> None:
    upload = read_upload("mine.csv", b"id,text\n1,a\n")
    for column in ("nope", 2, -1):
        with pytest.raises(FileProblem, match="no column .*id, text"):
            upload.sentences(column)


# --- limits


def test_limits_are_said_in_one_line() -> None:
    with pytest.raises(FileProblem, match=r"mine.txt has 10.0 MB; the limit is 10 MB"):
        read_upload("mine.txt", b"a" * (limits.UPLOAD.value + 1))
    with pytest.raises(FileProblem, match=r"mine.txt has 10,001 rows; the limit is 10,000"):
        read_upload("mine.txt", b"Hi.\n" * (limits.ROWS.value + 1))
    with pytest.raises(FileProblem, match=r"mine.csv has 101 columns; the limit is 100"):
        read_upload(
            "mine.csv", (",".join("abc"[i % 3] for i in range(limits.COLUMNS.value + 1)) + "\n").encode() * 3
        )
    with pytest.raises(FileProblem, match=r"more than 100 different keys"):
        read_upload("mine.jsonl", json.dumps({str(key): "" for key in range(101)}).encode())
    with pytest.raises(
        FileProblem, match=r"mine.doc: files ending in .txt, .csv, .tsv, .xlsx, .jsonl can be read"
    ):
        read_upload("mine.doc", b"Hi.")
    assert len(read_upload("mine.csv", b"text,id\n" + b"Hi.,1\n" * limits.ROWS.value)) == limits.ROWS.value


def test_a_header_alone_is_no_table() -> None:
    with pytest.raises(FileProblem, match="no row under them"):
        read_upload("mine.csv", b"text,id\n").with_header(True)


# --- JSON lines


def test_json_lines_of_strings() -> None:
    upload = read_upload("mine.jsonl", '"Hello."\r\n"caf\\u00e9 🦊"\r\n'.encode())
    assert upload.columns == ("text",)
    assert upload.sentences("text") == [Row(1, "Hello."), Row(2, "café 🦊")]


def test_json_lines_of_objects_with_every_kind_of_bad_line() -> None:
    lines = [
        '{"id": 1, "text": "Good."}',
        '{"id": 2, "text": 5}',
        '{"id": 3, "text": null}',
        '{"id": 4}',
        '{"id": 5, "text": ["a"]}',
        "{broken",
        "[1, 2]",
        "",
        '{"text": "\\ud83e"}',
        "[" * 100_000,
        '"A bare string."',
    ]
    rows = read_upload("mine.jsonl", "\n".join(lines).encode()).sentences("text")
    assert [row.number for row in rows] == list(range(1, 12))
    assert [row.problem for row in rows] == [
        None,
        "a number, not text",
        "empty",
        "empty",
        "a list, not text",
        "not JSON: expecting property name enclosed in double quotes at character 2",
        "a list, not text",
        "empty",
        "half a character (a lone surrogate), shown as \\uNNNN",
        "not JSON that can be read: nested too deeply or a number too long",
        None,
    ]
    assert rows[8].text == "\\ud83e"


# --- workbooks


def test_workbook_rows_and_bad_cells() -> None:
    data = workbook(
        ["id", "text"],
        [1, "Hello."],
        [2, 2019],
        [3, None],
        [],
        [5, date(2026, 1, 2)],
        [6, True],
        [7, "café 🦊"],
    )
    upload = read_upload("mine.xlsx", data)
    assert upload.columns == ("id", "text")
    assert upload.sentences("text") == [
        Row(2, "Hello."),
        Row(3, "2019", "a number, not text"),
        Row(4, "", "empty"),
        Row(5, "", "empty"),
        Row(6, "2026-01-02 00:00:00", "a date or time, not text"),
        Row(7, "TRUE", "true or false, not text"),
        Row(8, "café 🦊"),
    ]


def test_the_first_sheet_is_read_and_said() -> None:
    upload = read_upload("mine.xlsx", workbook(["Hello."], ["Bye."], sheets=3))
    assert texts("mine.xlsx", workbook(["Hello."], ["Bye."], sheets=3)) == ["Hello.", "Bye."]
    assert "Sheet read: 'Sheet', the first of 3." in upload.notes


def test_workbook_limits() -> None:
    with pytest.raises(FileProblem, match="10,001 rows"):
        read_upload("mine.xlsx", workbook(*[["Hi."]] * (limits.ROWS.value + 1)))
    with pytest.raises(FileProblem, match="more than 100 columns"):
        read_upload("mine.xlsx", workbook(["x"] * 101))


def test_a_far_away_empty_cell_costs_nothing() -> None:
    book = openpyxl.Workbook()
    book.active["A1"] = "Hello."
    book.active["XFD1048576"] = None
    book.active["A1048576"].style = "Good"
    buffer = io.BytesIO()
    book.save(buffer)
    assert texts("mine.xlsx", buffer.getvalue()) == ["Hello."]


def repacked(data: bytes, name: str, content: bytes) -> bytes:
    source, buffer = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for part in source.namelist():
            target.writestr(part, content if part == name else source.read(part))
    return buffer.getvalue()


def test_bombs_and_damage_are_refused() -> None:
    good = workbook(["Hello."])
    bomb = repacked(good, "xl/worksheets/sheet1.xml", b" " * (limits.UNPACKED.value + 1))
    assert len(bomb) < limits.UPLOAD.value
    with pytest.raises(FileProblem, match="unpacks to .* the limit is 1,000 parts with 64 MB"):
        read_upload("mine.xlsx", bomb)
    entities = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet>&a;</worksheet>'
    with pytest.raises(FileProblem, match="XML entities"):
        read_upload("mine.xlsx", repacked(good, "xl/worksheets/sheet1.xml", entities))
    with pytest.raises(FileProblem, match="is damaged"):
        read_upload("mine.xlsx", repacked(good, "xl/worksheets/sheet1.xml", b"<worksheet><sheetData><row>"))
    with pytest.raises(FileProblem, match="not an Excel workbook"):
        read_upload("mine.xlsx", good[: len(good) // 2])
    with pytest.raises(FileProblem, match="not an Excel workbook"):
        read_upload("mine.xlsx", b"just,a,csv\n")
    with pytest.raises(FileProblem, match="password-protected"):
        read_upload("mine.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    with pytest.raises(FileProblem, match="no Excel workbook"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("a.txt", "a")
        read_upload("mine.xlsx", buffer.getvalue())


GOOD_WORKBOOK = workbook(["id", "text"], [1, "Hello."], [2, "How are you?"])


@given(st.integers(0, len(GOOD_WORKBOOK) - 1), st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_a_damaged_byte_is_survived_or_said_in_one_line(position: int, value: int) -> None:
    data = bytearray(GOOD_WORKBOOK)
    data[position] = value
    try:
        upload = read_upload("mine.xlsx", bytes(data))
    except FileProblem as problem:
        assert str(problem).startswith("mine.xlsx")
        assert "\n" not in str(problem)
    else:
        assert len(upload.sentences(0)) == len(upload)


@pytest.mark.case("M7")
def test_empty_lines_double_spaces_and_a_missing_tab_are_kept_and_marked() -> None:
    data = b"english\tfrench\nGo.\tVa !\n\t\nHow  are you?\tCa va ?\nno tab here\nBye.\tSalut.\n"
    upload = read_upload("pairs.tsv", data)
    assert upload.sentences("english") == [
        Row(2, "Go."),
        Row(3, "", "empty"),
        Row(4, "How  are you?"),
        Row(5, "no tab here"),
        Row(6, "Bye."),
    ]
    assert upload.sentences("french")[3] == Row(5, "", "empty")
