"""Sentence pairs: what is skipped is counted and said, and no test sentence is seen in training."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.text.corpora import (
    MULTI30K_TESTS,
    CorpusError,
    Pair,
    Report,
    group_references,
    load_file,
    load_multi30k,
    load_tatoeba,
    multi30k_test,
    parse_pairs,
    read_lines,
    read_pairs,
    split_key,
    split_of,
    unify_typography,
)


def write(path: Path, content: str | bytes) -> Path:
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.case("M7")
def test_broken_lines_are_skipped_counted_and_said(tmp_path: Path):
    path = write(
        tmp_path / "pairs.tsv",
        "I love  you.\tJe  t'aime.\n\nno tab here\n \t \nIt rains.\t\n\tIl pleut.\n"
        "Go.\tVa !\tCC-BY 2.0\tmore\n",
    )
    pairs, report = read_pairs(path)
    assert pairs == [Pair("I love you.", "Je t'aime."), Pair("Go.", "Va !")]
    assert report == Report(lines=7, kept=2, empty=[2, 4, 5, 6], broken=[3])
    assert str(report) == (
        "7 lines, 2 pairs; 4 with an empty side skipped (line 2, 4, 5, …); "
        "1 without two columns skipped (line 3)"
    )


@pytest.mark.case("M7")
@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["", " ", "a", "é  b", "\u00a0", "c\u0301"]), max_size=4), max_size=12)
)
def test_every_line_is_a_pair_or_is_counted(rows):
    pairs, report = parse_pairs(rows)
    assert report.lines == len(rows) and report.kept == len(pairs)
    assert report.kept + len(report.empty) + len(report.broken) == report.lines
    kept = [n for n in range(1, len(rows) + 1) if n not in (*report.empty, *report.broken)]
    assert [pairs[place].source for place in range(len(kept))] == [
        {"a": "a", "é  b": "é b", "c\u0301": "ć"}[rows[number - 1][0]] for number in kept
    ]
    for number in report.broken:
        assert len(rows[number - 1]) < 2
    for number in report.empty:
        assert not all(cell.strip() for cell in rows[number - 1][:2]) or len(rows[number - 1]) < 2


@pytest.mark.case("M7")
@pytest.mark.parametrize("content", ["", "\n\n", "one column\nalone\n", "\t\n"])
def test_a_file_without_a_pair_is_refused_in_one_line(tmp_path: Path, content: str):
    path = write(tmp_path / "pairs.tsv", content)
    with pytest.raises(CorpusError) as caught:
        read_pairs(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: no sentence pair found (") and "\n" not in message


@pytest.mark.case("U1")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["pairs.txt", "pairs.tsv.gz"])
def test_a_byte_order_mark_and_line_ends_leave_no_trace(tmp_path: Path, end: str, name: str):
    path = write(tmp_path / name, "\ufeff" + end.join(["Hi.\tSalut.", "Run!\tCours !", ""]))
    pairs, report = read_pairs(path)
    assert pairs == [Pair("Hi.", "Salut."), Pair("Run!", "Cours !")]
    assert report.lines == 2


def test_two_columns_of_comma_separated_text(tmp_path: Path):
    path = write(
        tmp_path / "pairs.csv", '\ufeffHi.,Salut.\r\n"Well, well.","Tiens, ""tiens""."\r\nalone\r\n\r\n'
    )
    pairs, report = read_pairs(path)
    assert pairs == [Pair("Hi.", "Salut."), Pair("Well, well.", 'Tiens, "tiens".')]
    assert report.broken == [3] and report.empty == [4]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("latin.tsv", "caf\xe9\tcoffee".encode("latin-1")),
        ("cut.gz", gzip.compress(b"a\tb\n" * 999, mtime=0)[:30]),
        ("huge.csv", b'a,"' + b"x" * 200_000),
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(tmp_path: Path, name: str, content: bytes):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CorpusError) as caught:
        read_pairs(path)
    assert str(caught.value).startswith(f"{path}: cannot be read as ") and "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_to_a_gz_file_passes_as_another_error(tmp_path_factory: pytest.TempPathFactory, data):
    path = tmp_path_factory.mktemp("gz") / "pairs.gz"
    content = bytearray(gzip.compress(b"Hi.\tSalut.\n" * 40, mtime=0))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        lines = read_lines(path)
    except CorpusError as error:
        assert str(error).startswith(f"{path}: cannot be read") and "\n" not in str(error)
    else:
        assert lines == ["Hi.\tSalut."] * 40, "a change of the header's time or flags alone"


def test_a_missing_file_is_one_line(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"nowhere\.tsv: cannot be read"):
        read_pairs(tmp_path / "nowhere.tsv")


def test_typography_is_made_one():
    assert unify_typography("Où\u202f? L’été\u00a0!") == "Où ? L'été !"


words = st.lists(st.from_regex(r"[A-Za-z0-9]{1,6}", fullmatch=True), min_size=1, max_size=6)


@settings(deadline=None)
@given(
    words,
    st.sampled_from(["{}.", "{}!", "¿ {} ?", '"{}"', "{}…", " {}  "]),
    st.sampled_from([" ", ", ", " - "]),
)
def test_case_and_punctuation_do_not_move_a_sentence_to_another_side(found, frame, joint):
    plain = " ".join(found)
    variants = [plain, plain.upper(), plain.title(), frame.format(joint.join(found))]
    assert len({split_key(text) for text in variants}) == 1
    assert len({split_of(text) for text in variants}) == 1


def test_other_letters_and_digits_are_other_sentences():
    assert split_key("I love you!") == split_key("I love you.") == "i love you"
    assert len({split_key(text) for text in ("I love you", "I loved you", "Il ove you", "I love you 2")}) == 4
    assert split_key("Été") == split_key("e\u0301te\u0301") != split_key("ete")


def test_shares_of_the_split():
    sides = [split_of(f"sentence {number} of many") for number in range(40_000)]
    assert abs(sides.count("test") / 40_000 - 0.015) < 0.002
    assert abs(sides.count("development") / 40_000 - 0.010) < 0.002
    assert split_of("I love you.") == split_of("I love you.") in ("train", "test", "development")
    assert split_of("anything", test=1.0) == "test" and split_of("anything", test=0, development=0) == "train"


def synthetic(count: int) -> list[tuple[str, str]]:
    """Sentences with three translations each, and a variant that differs in punctuation and case."""
    rows = []
    for number in range(count):
        rows += [(f"Sentence {number} here.", f"Phrase {number} {kind}.") for kind in ("un", "deux", "trois")]
        rows.append((f"SENTENCE {number}, here!", f"La phrase {number} !"))
    return rows


def assert_sides_apart(sides: list[list[Pair]]) -> None:
    keys = [{split_key(pair.source) for pair in side} for side in sides]
    assert not keys[0] & keys[1] and not keys[0] & keys[2] and not keys[1] & keys[2]


def test_all_translations_of_a_sentence_are_on_one_side(tmp_path: Path):
    rows = synthetic(2000)
    path = write(tmp_path / "mine.tsv", "".join(f"{a}\t{b}\n" for a, b in rows))
    corpus = load_file(path, "en", "fr")
    assert (corpus.name, corpus.source_language, corpus.target_language) == ("mine", "en", "fr")
    sides = [corpus.train, corpus.development, corpus.test]
    assert sorted((pair.source, pair.target) for side in sides for pair in side) == sorted(rows)
    assert_sides_apart(sides)
    assert all(len(side) % 4 == 0 for side in sides) and len(corpus.test) > 60 < len(corpus.train)
    assert list(corpus.files) == ["mine.tsv"] and len(corpus.files["mine.tsv"]) == 64


def test_tatoeba_is_read_from_its_archive(tmp_path: Path):
    rows = synthetic(50)
    text = "".join(f"{a}\t{b}\tCC-BY 2.0 (France)\n" for a, b in rows) + "broken\n"
    with zipfile.ZipFile(tmp_path / "fra-eng.zip", "w") as archive:
        archive.writestr("__MACOSX/fra.txt", "not this one")
        archive.writestr("fra-eng/_about.txt", "nor this one")
        archive.writestr("fra-eng/fra.txt", text)
    corpus = load_tatoeba(tmp_path)
    assert len(corpus.train) + len(corpus.development) + len(corpus.test) == len(rows)
    assert corpus.report.lines == 201 and corpus.report.broken == [201]
    assert list(corpus.files) == ["fra-eng.zip"]


def archive_of(name: str, content: bytes) -> bytes:
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


WHOLE = archive_of("fra.txt", b"".join(b"Hi %d.\tSalut %d.\n" % (n, n * n) for n in range(500)))


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"not a zip",
        archive_of("other.txt", b"a\tb"),
        archive_of("fra.txt", b"\xff\xfe"),
        WHOLE[:200],
        WHOLE[:40] + b"\xff\xff\xff" + WHOLE[43:],
        WHOLE[:900] + b"\xff\xff\xff" + WHOLE[903:],
    ],
    ids=["missing", "empty", "text", "other archive", "not UTF-8", "cut", "damaged start", "damaged middle"],
)
def test_another_or_a_damaged_archive_is_one_line(tmp_path: Path, content: bytes | None):
    if content is not None:
        (tmp_path / "fra-eng.zip").write_bytes(content)
    with pytest.raises(CorpusError) as caught:
        load_tatoeba(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'fra-eng.zip'}: not the Tatoeba English-French archive: ")
    assert "\n" not in message and not message.endswith(": ")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_to_an_archive_passes_as_another_error(tmp_path_factory: pytest.TempPathFactory, data):
    folder = tmp_path_factory.mktemp("zip")
    content = bytearray(WHOLE)
    ends = st.integers(0, 60) | st.integers(len(WHOLE) - 80, len(WHOLE) - 1)  # where the structure is
    for place in data.draw(st.lists(ends | st.integers(0, len(WHOLE) - 1), min_size=1, max_size=3)):
        content[place] ^= data.draw(st.integers(1, 255))
    (folder / "fra-eng.zip").write_bytes(content)
    try:
        corpus = load_tatoeba(folder)
    except CorpusError as error:
        assert "not the Tatoeba English-French archive: " in str(error) and "\n" not in str(error)
    else:
        assert corpus.report.kept == 500, "a change of dates or flags alone"


@pytest.fixture
def multi30k(tmp_path: Path) -> Path:
    """Three captions a file, in three languages."""
    for stem in ("train", "val", *MULTI30K_TESTS.values()):
        for language, text in (("en", "A dog runs."), ("fr", "Un chien court."), ("de", "Ein Hund rennt.")):
            lines = [f"{stem} {number} {text}" for number in range(3)]
            write(tmp_path / f"{stem}.{language}.gz", "\n".join(lines) + "\n")
            tokenised = "\n".join(line.lower().replace(".", " .") for line in lines) + "\n"
            write(tmp_path / f"{stem}.lc.norm.tok.{language}.gz", tokenised)
    return tmp_path


@pytest.mark.parametrize(("language", "word"), [("fr", "chien"), ("de", "Hund")])
def test_multi30k_is_read_from_its_files(multi30k: Path, language: str, word: str):
    corpus = load_multi30k(multi30k, language)
    assert corpus.name == f"multi30k-en-{language}"
    for side, stem in (
        (corpus.train, "train"),
        (corpus.development, "val"),
        (corpus.test, "test_2016_flickr"),
    ):
        assert [pair.source for pair in side] == [f"{stem} {number} A dog runs." for number in range(3)]
        assert all(word in pair.target and stem in pair.target for pair in side)
    assert corpus.report.lines == corpus.report.kept == 9
    # Two sides of train, val and four test sets, each test set tokenised too: what the scores rest on.
    assert len(corpus.files) == 2 * (2 + 2 * len(MULTI30K_TESTS))
    assert {name.split(".")[-2] for name in corpus.files} == {"en", language}


@pytest.mark.parametrize("name", list(MULTI30K_TESTS))
def test_a_multi30k_test_set_comes_cased_and_as_published(multi30k: Path, name: str):
    cased, tokenised = multi30k_test(multi30k, name)
    assert cased.name == tokenised.name == name and cased.sources == tokenised.sources
    assert cased.references[2] == (f"{MULTI30K_TESTS[name]} 2 Un chien court.",)
    assert tokenised.references[2] == (f"{MULTI30K_TESTS[name]} 2 un chien court .",)


def test_multi30k_says_what_is_wrong(multi30k: Path):
    with pytest.raises(CorpusError, match="Multi30k has no 'it'; use 'fr' or 'de'"):
        load_multi30k(multi30k, "it")
    with pytest.raises(CorpusError, match="no test set 'multi30k-2019'; known are multi30k-2016, "):
        multi30k_test(multi30k, "multi30k-2019")
    write(multi30k / "val.fr.gz", "one line\n")
    with pytest.raises(CorpusError, match="val: 3 lines in en and 1 in fr; they must pair up"):
        load_multi30k(multi30k)
    write(multi30k / "test_2016_flickr.lc.norm.tok.fr.gz", "one line\n")
    with pytest.raises(CorpusError, match="3 sentences and 1 tokenised references; they must pair up"):
        multi30k_test(multi30k, "multi30k-2016")
    (multi30k / "train.en.gz").unlink()
    with pytest.raises(CorpusError, match=r"train\.en\.gz: cannot be read"):
        load_multi30k(multi30k)


def test_references_of_one_sentence_stand_together():
    pairs = [Pair("Hi.", "Salut."), Pair("Go.", "Va."), Pair("Hi.", "Bonjour."), Pair("Hi.", "Salut.")]
    found = group_references("few", pairs)
    assert found.sources == ("Hi.", "Go.")
    assert found.references == (("Salut.", "Bonjour."), ("Va.",))


@pytest.fixture(scope="module")
def real(corpora: Path | None) -> Path:
    if corpora is None:
        pytest.skip("ATLAS_DATA names no local copy of the corpora")
    return corpora


def test_the_real_tatoeba_is_split_as_promised(real: Path):
    corpus = load_tatoeba(real / "tatoeba")
    assert corpus.report.lines == 167_130
    assert corpus.report.kept + len(corpus.report.empty) + len(corpus.report.broken) == 167_130
    assert_sides_apart([corpus.train, corpus.development, corpus.test])
    assert abs(len(corpus.test) / corpus.report.kept - 0.015) < 0.003
    assert abs(len(corpus.development) / corpus.report.kept - 0.010) < 0.003
    assert len(group_references("tatoeba", corpus.test).sources) < len(corpus.test)


@pytest.mark.parametrize("language", ["fr", "de"])
def test_the_real_multi30k_has_its_published_sizes(real: Path, language: str):
    corpus = load_multi30k(real / "multi30k", language)
    assert [len(side) for side in (corpus.train, corpus.development, corpus.test)] == [29_000, 1_014, 1_000]
    names = ("multi30k-2016", "multi30k-2017", "multi30k-mscoco")
    sizes = [len(multi30k_test(real / "multi30k", name, language)[0].sources) for name in names]
    assert sizes == [1_000, 1_000, 461]
