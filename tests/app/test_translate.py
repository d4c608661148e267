"""The Translate page: sentences and files."""

from __future__ import annotations

import csv
import io
import json
import math
import time

import pytest
from streamlit.testing.v1 import AppTest

from atlas import limits
from atlas.ui.examples import EXAMPLES, FIRST
from tests.app.conftest import OpenApp, html_of
from tests.ui.fakes import FakeEngine

HTML_LIKE = [
    "<s>",
    "<b>x</b>",
    "<a href=x>",
    "&lt;",
    "<img src=x onerror=alert(1)>",
    "</script>",
    "$x$ **y** :red[z]",
]


def type_lines(test: AppTest, text: str) -> AppTest:
    return test.text_area(key="atlas.widget.translate.lines").set_value(text).run()


def upload(test: AppTest, name: str, data: bytes) -> AppTest:
    return test.main.get("file_uploader")[0].upload(name, data, "text/plain").run()


def button(test: AppTest, label: str):  # type: ignore[no-untyped-def]
    return next(element for element in test.button if element.label.startswith(label))


def wait_for_end(test: AppTest) -> AppTest:
    deadline = time.monotonic() + 20
    while test.session_state["atlas.file"].job.progress.running:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return test.run()


def translate_file(test: AppTest, name: str, data: bytes) -> AppTest:
    upload(test, name, data)
    button(test, "Translate").click().run()
    return wait_for_end(test)


def test_first_visit_shows_a_translated_sentence(open_app: OpenApp) -> None:
    test = open_app()
    assert test.text_area(key="atlas.widget.translate.lines").value == FIRST
    assert "atlas-translation" in html_of(test)
    assert "atlas-nbest" in html_of(test)
    assert len(test.get("plotly_chart")) == 1


def test_each_line_is_translated(open_app: OpenApp) -> None:
    test = type_lines(open_app(), "One cat.\n\n  Two dogs.  \nThree birds.")
    assert not test.exception
    page = html_of(test)
    assert page.count('class="atlas-translation"') == 3
    assert all(word in page for word in ("CAT", "DOGS", "BIRDS"))
    assert test.query_params["text"] == "One cat."


def test_details_of_any_line_can_be_opened(open_app: OpenApp) -> None:
    test = type_lines(open_app(), "One cat.\nTwo dogs.")
    assert len(test.get("plotly_chart")) == 1
    button(test, "Show on all pages").click().run()
    assert test.query_params["text"] == "Two dogs."
    assert test.query_params["lines"] == "One cat.\nTwo dogs."


def test_the_same_line_twice(open_app: OpenApp) -> None:
    test = type_lines(open_app(), "One cat.\nOne cat.")
    assert not test.exception
    assert html_of(test).count('class="atlas-translation"') == 2


def test_words_carry_the_product_of_their_pieces(open_app: OpenApp) -> None:
    sentence = "The animal didn't cross the street because it was too tired."
    test = open_app(text=sentence)
    trace = FakeEngine().trace(sentence)
    best = int(trace.hypotheses[0])
    tokens = trace.target_tokens(best)
    logprobs = trace.search.logprob[trace.ancestors(best)]
    words = [token.word for token in tokens if not token.special]
    word = max(words, key=words.count)
    members = [index for index, token in enumerate(tokens) if token.word == word]
    assert len(members) > 1
    probability = math.exp(sum(logprobs[members]))
    assert f"probability {probability:.3f} ({len(members)} pieces)" in html_of(test)


def test_n_best_shows_scores(open_app: OpenApp) -> None:
    trace = FakeEngine().trace(FIRST)
    page = html_of(open_app())
    for node in trace.hypotheses.tolist():
        assert f"{trace.search.score[node]:.2f}" in page


def test_examples_fill_the_box(open_app: OpenApp) -> None:
    test = open_app()
    assert "The animal didn't cross the street because it was too tired." in EXAMPLES
    test.menu_button[0].click(EXAMPLES[2]).run()
    assert test.text_area(key="atlas.widget.translate.lines").value == EXAMPLES[2]
    assert test.query_params["text"] == EXAMPLES[2]


def test_a_sentence_from_a_link_stands_in_the_box(open_app: OpenApp) -> None:
    test = open_app("translate", text="Second.", lines="First.\nSecond.")
    assert test.text_area(key="atlas.widget.translate.lines").value == "First.\nSecond."
    assert test.query_params["text"] == "Second."
    other = open_app("translate", text="Third.", lines="First.\nSecond.")
    assert other.text_area(key="atlas.widget.translate.lines").value == "Third."


def test_too_many_lines_are_said(open_app: OpenApp) -> None:
    test = type_lines(open_app(), "\n".join(f"Line {number}." for number in range(limits.LINES.value + 5)))
    assert not test.exception
    assert f"the first {limits.LINES.value} lines" in html_of(test)
    assert html_of(test).count('class="atlas-translation"') == limits.LINES.value


@pytest.mark.case("T5")
@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_nothing_to_translate_gets_a_hint(open_app: OpenApp, text: str) -> None:
    others = [open_app(page, text=text) for page in ("translate", "attention", "beam_search")]
    others.append(open_app("positions", text=text, part="lab"))
    for test in (type_lines(open_app(), text), *others):
        assert not test.exception
        assert "Write a sentence above" in html_of(test)


@pytest.mark.case("T6")
@pytest.mark.parametrize("text", ["Hi", "a", "."])
def test_one_token(open_app: OpenApp, text: str) -> None:
    test = type_lines(open_app(), text)
    assert not test.exception
    assert text.upper() in html_of(test)
    assert len(test.get("plotly_chart")) == 1


@pytest.mark.case("T3")
@pytest.mark.parametrize("text", HTML_LIKE)
def test_markup_is_text(open_app: OpenApp, text: str) -> None:
    test = type_lines(open_app(), text)
    assert not test.exception
    page = html_of(test)
    for raw in ("<s>", "<S>", "<b>", "<B>", "<a ", "<A ", "<img", "<IMG", "</script", "</SCRIPT"):
        assert raw not in page
    shown = [element.value for element in (*test.markdown, *test.caption, *test.warning)]
    assert not [value for value in shown if text in value]


@pytest.mark.case("T4")
def test_words_after_an_emoji_are_still_translated(open_app: OpenApp) -> None:
    test = type_lines(open_app(), "I love 🦊 and you.")
    assert not test.exception
    assert "🦊" in html_of(test)
    assert "YOU" in html_of(test)
    assert "\ufffd" not in html_of(test)


def test_a_file_is_translated_and_downloaded(open_app: OpenApp) -> None:
    test = open_app("translate", input="file")
    translate_file(test, "mine.txt", b"One cat.\nTwo dogs.\n")
    assert not test.exception
    table = test.dataframe[0].value
    assert table["original"].tolist() == ["One cat.", "Two dogs."]
    assert table["translation"].tolist() == ["ONE CAT.", "TWO DOGS."]
    assert table["score"].tolist() == pytest.approx([-0.1, -0.1])
    assert [element.proto.label for element in test.get("download_button")] == ["CSV", "TSV", "XLSX", "JSONL"]
    job = test.session_state["atlas.file"].job
    rows = list(csv.DictReader(io.StringIO(job.table("csv").decode("utf-8-sig"))))
    assert [row["translation"] for row in rows] == ["ONE CAT.", "TWO DOGS."]
    assert json.loads(job.table("jsonl").splitlines()[1])["original"] == "Two dogs."
    assert job.table("xlsx")[:2] == b"PK"


def test_the_column_can_be_chosen(open_app: OpenApp) -> None:
    data = b"id,English,note\n1,One cat.,x\n2,Two dogs.,y\n"
    test = upload(open_app("translate", input="file"), "m.csv", data)
    column = next(box for box in test.main.selectbox)
    assert column.value == 1
    column.set_value(2).run()
    button(test, "Translate").click().run()
    wait_for_end(test)
    assert test.dataframe[0].value["translation"].tolist() == ["X", "Y"]


@pytest.mark.case("U1")
def test_byte_order_mark_and_windows_line_ends(open_app: OpenApp) -> None:
    data = "One cat.\r\nTwo dogs.\r\n\r\n".encode("utf-8-sig")
    test = translate_file(open_app("translate", input="file"), "m.txt", data)
    assert test.dataframe[0].value["original"].tolist() == ["One cat.", "Two dogs."]
    assert "byte-order mark" in html_of(test)


@pytest.mark.case("U2")
def test_windows_1252_is_detected_and_said(open_app: OpenApp) -> None:
    data = "The café is closed.\nA naïve question.\n".encode("cp1252")
    test = translate_file(open_app("translate", input="file"), "m.txt", data)
    assert "Windows-1252" in html_of(test)
    assert test.dataframe[0].value["original"].tolist() == ["The café is closed.", "A naïve question."]
    assert "\ufffd" not in html_of(test)


def test_bad_rows_are_marked_and_do_not_stop_the_rest(open_app: OpenApp) -> None:
    data = b"One cat.\n\nexplode here\nTwo dogs.\n"
    test = translate_file(open_app("translate", input="file"), "m.txt", data)
    table = test.dataframe[0].value
    assert table["translation"].tolist() == ["ONE CAT.", "", "", "TWO DOGS."]
    assert table["problem"].tolist() == ["", "empty", "this sentence cannot be translated", ""]
    assert "2 rows have a remark" in html_of(test)


def test_stop_keeps_what_is_done(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "delay", 0.02)
    lines = "\n".join(f"Sentence number {number}." for number in range(2000)).encode()
    test = upload(open_app("translate", input="file"), "m.txt", lines)
    button(test, "Translate").click().run()
    while not test.session_state["atlas.file"].job.progress.done:
        time.sleep(0.05)
    test.run()
    assert "left" in test.get("progress")[0].proto.text
    button(test, "Stop").click().run()
    wait_for_end(test)
    done = len(test.dataframe[0].value)
    assert 0 < done < 2000
    assert "stopped: what was done is kept" in test.get("progress")[0].proto.text
    assert len(test.get("download_button")) == 4


def test_the_job_goes_on_on_other_pages(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEngine, "delay", 0.005)
    test = upload(open_app("translate", input="file"), "m.txt", b"One cat.\n" * 100)
    button(test, "Translate").click().run()
    test.switch_page("pages/positions.py").run()
    assert not test.exception
    test.session_state["atlas.file"].job.join(20)
    test.switch_page("pages/translate.py").run()
    assert not test.exception
    assert len(test.dataframe[0].value) == 100


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [("m.txt", b"", "is empty"), ("m.txt", b"%PDF-1.4", "PDF"), ("m.xlsx", b"PK\x03\x04junk", "m.xlsx")],
)
def test_a_file_that_cannot_be_read_gets_one_line(
    open_app: OpenApp, name: str, data: bytes, said: str
) -> None:
    test = upload(open_app("translate", input="file"), name, data)
    assert not test.exception
    assert html_of(test).count('role="alert"') == 1
    assert said in html_of(test)


def test_another_file_can_be_chosen(open_app: OpenApp) -> None:
    test = translate_file(open_app("translate", input="file"), "m.txt", b"One cat.\n")
    button(test, "Another file").click().run()
    assert not test.exception
    assert len(test.main.get("file_uploader")) == 1
    assert not test.dataframe
