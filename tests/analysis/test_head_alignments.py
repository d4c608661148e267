"""Alignment error rates of heads: by hand, where the answer is known, and through a measurement."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from atlas.analysis.heads import alignments, silver
from atlas.analysis.heads.alignments import HeadAlignments, aer, diagonal, links_of, pieces_of
from atlas.analysis.heads.sample import sample_of
from atlas.analysis.heads.silver import (
    AlignmentError,
    Silver,
    pack,
    silver_of,
    spans,
    symmetrise,
    unpack,
    words_in,
)
from atlas.checkpoint import load_bundle
from atlas.engine import Engine
from atlas.measurements import load_measurement, save_measurement
from atlas.text.corpora import Pair

PAIRS = [
    Pair("The dog runs in the park.", "Le chien court dans le parc."),
    Pair("A man reads a book.", "Un homme lit un livre."),
    Pair("We sleep.", "Nous dormons."),
]


def identity(words: int) -> Silver:
    same = frozenset((n, n) for n in range(words))
    return Silver(same, same)


def test_error_rate_by_hand():
    # A = {00, 11, 22}, S = {00, 12}, P = {00, 12, 11}: |A∩S| = 1, |A∩P| = 2, |A| + |S| = 5, 1 - 3/5
    sure = frozenset({(0, 0), (1, 2)})
    reference = Silver(sure, sure | {(1, 1)})
    found = frozenset({(0, 0), (1, 1), (2, 2)})
    assert aer([found], [reference]) == pytest.approx(0.4)
    # over two sentences counts are added, not rates: (3 + 4) / (5 + 4)
    assert aer([found, identity(2).sure], [reference, identity(2)]) == pytest.approx(1 - 7 / 9)
    assert aer([frozenset()], [reference]) == 1
    assert np.isnan(aer([], []))


def test_words_and_the_diagonal():
    assert words_in("L'homme n'a pas 2 chiens-loups !") == [
        "L'", "homme", "n'", "a", "pas", "2", "chiens", "-", "loups", "!",
    ]  # fmt: skip
    assert [("a b"[s:e], s) for s, e in spans("a b")] == [("a", 0), ("b", 2)]
    assert diagonal(4, 4) == identity(4).sure
    assert diagonal(0, 3) == frozenset()
    assert aer([diagonal(4, 4)], [identity(4)]) == 0


def test_a_diagonal_head_and_its_shift_by_one_step():
    words = 4
    whole = np.zeros((words, words + 1), np.float32)  # each word one piece, then the end mark
    whole[:, :words] = np.eye(words)
    head = np.eye(words + 1, dtype=np.float32)
    late = np.roll(head, 1, axis=0)  # step t + 1 looks at t: aligned when it reads
    predict, read = (
        links_of(np.stack([head, late]), whole, whole, readout) for readout in ("predict", "read")
    )
    assert predict[0].tolist() == [0, 1, 2, 3] and read[1].tolist() == [0, 1, 2, 3]

    def rate(found: np.ndarray) -> float:
        return aer([frozenset((int(s), t) for t, s in enumerate(found))], [identity(words)])

    assert rate(predict[0]) == 0 and rate(read[1]) == 0
    assert rate(read[0]) > 0.7 and rate(predict[1]) > 0.7


def test_pieces_of_a_word_are_joined_by_loops(tokenizer):
    text = "Every morning, an unbelievable dog eats its bread."
    ids = tokenizer.source(text)
    found = pieces_of(tokenizer, ids, text)
    assert found.shape == (len(spans(text)), len(ids))
    assert found[:, -1].sum() == 0, "the end mark is part of no word"
    assert (found.sum(1) > 0).all()
    rng = np.random.default_rng(0)
    weights = (rng.random((2, 3, len(ids), len(ids))) ** 60).astype(np.float32)  # one piece decides
    for readout, shift in (("predict", 0), ("read", 1)):
        got = links_of(weights, found, found, readout)
        for place in np.ndindex(2, 3):
            for target in range(len(found)):
                rows = [piece + shift for piece in np.flatnonzero(found[target])]
                sums = [
                    sum(weights[place][row, key] for row in rows for key in np.flatnonzero(source))
                    for source in found
                ]
                assert got[place][target] == int(np.argmax(sums))


def test_symmetrised_packed_and_back():
    silver = [symmetrise("0-0 1-1 2-1", "0-0 1-1 2-2"), symmetrise("", "0-0"), symmetrise("", "")]
    assert silver[0] == Silver(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (2, 1), (2, 2)}))
    assert unpack(pack(s.sure for s in silver), pack(s.possible - s.sure for s in silver), 3) == silver
    with pytest.raises(AlignmentError, match="0-0 1-2"):
        symmetrise("0:0", "")


def test_without_the_aligner_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(AlignmentError, match="pip install eflomal==2.0.0") as caught:
        silver_of(PAIRS, PAIRS)
    assert "\n" not in str(caught.value)


def test_measured_stored_and_read(tiny_bundle, tmp_path, monkeypatch):
    asked = []

    def by_place(pairs, training):
        asked.append((len(pairs), len(training)))
        links = [diagonal(len(spans(p.source)), len(spans(p.target))) for p in pairs]
        return [Silver(found, found) for found in links]

    monkeypatch.setattr(silver, "silver_of", by_place)
    engine = Engine.load(tiny_bundle)
    sample = sample_of(load_bundle(tiny_bundle).tokenizer, "tiny", PAIRS, training=PAIRS[:2])
    done = []
    measured = alignments.measure(
        engine, sample, work=tmp_path / "work", report=lambda *numbers: done.append(numbers)
    )
    again = alignments.measure(engine, sample, work=tmp_path / "work")
    assert asked == [(3, 2)], "a second run takes the alignments that the first left"
    assert done[-1] == (6, 6)
    save_measurement(tmp_path, measured)
    stored = load_measurement(tmp_path, "head_alignments", engine.hash)
    assert stored is not None
    found = HeadAlignments.from_measurement(stored)
    assert found.diagonal == 0 and found.training == 2
    assert list(found.silver) == by_place(PAIRS, [])
    shape = engine.model.config.decoder_layers, engine.model.config.heads
    for readout in ("predict", "read"):
        assert found.rates[readout].shape == found.controls[readout].shape == shape
        assert ((found.rates[readout] >= 0) & (found.rates[readout] <= 1)).all()
        assert (again.arrays[f"cross.aer_{readout}"] == found.rates[readout]).all()
        layer, head, rate = found.best(readout)
        assert rate == found.rates[readout].min() == found.rates[readout][layer, head]
    assert len(alignments.summary(stored)) == 3
    (tmp_path / "work" / "silver.npz").write_bytes(b"nothing")
    with pytest.raises(AlignmentError, match="--restart"):
        alignments.measure(engine, sample, work=tmp_path / "work")


def test_a_sample_without_training_is_refused(tiny_bundle, tmp_path):
    sample = sample_of(load_bundle(tiny_bundle).tokenizer, "tiny", PAIRS)
    with pytest.raises(AlignmentError, match="pairs of training"):
        alignments.measure(Engine.load(tiny_bundle), sample, work=tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed")
def test_the_aligner_learns_a_dictionary():
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(12)]
    rows = [rng.permutation(12)[:5] for _ in range(300)]
    pairs = [
        Pair(" ".join(words[n] for n in row), " ".join(words[n].upper() + "x" for n in row)) for row in rows
    ]
    silver = silver_of(pairs[:20], pairs[20:])
    assert len(silver) == 20
    assert aer([diagonal(5, 5)] * 20, silver) < 0.05
