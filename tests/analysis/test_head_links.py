"""The search by where a head looks: links made by hand, and those of a model against its weights."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.analysis.heads import links
from atlas.analysis.heads.links import Links, SearchError
from atlas.analysis.heads.sample import sample_of
from atlas.analysis.passes import forced_pass
from atlas.checkpoint import load_bundle
from atlas.engine import Engine
from atlas.measurements import load_measurement, save_measurement
from atlas.text.corpora import Pair

SOURCES = [["The", "dog", "saw", "It", ".", "</s>"], ["it", "ran", "</s>"]]
TARGETS = [["<s>", "Il", "court"], ["<s>", "Elle"]]


@pytest.fixture
def made() -> Links:
    """Encoder 1.1 of two sentences, each query with its strongest key and weight."""
    keys = [1, 0, 1, 1, 5, 5, 1, 0, 2]
    weights = [51, 102, 153, 204, 255, 255, 102, 51, 255]
    arrays = {
        "encoder.key": np.array(keys, np.uint8).reshape(1, 1, -1),
        "encoder.weight": np.array(weights, np.uint8).reshape(1, 1, -1),
        "cross.key": np.array([0, 1, 2, 0, 1], np.uint8).reshape(1, 1, -1),
        "cross.weight": np.array([255, 204, 153, 102, 51], np.uint8).reshape(1, 1, -1),
    }
    return Links(arrays, SOURCES, TARGETS)


def places(found) -> list[tuple[int, int, int]]:
    return [(match.sentence, match.query, match.key) for match in found]


def test_by_word_in_any_case(made):
    found = made.search("encoder", 0, 0, query="IT")
    assert places(found) == [(0, 3, 1), (1, 0, 1)], "the larger weight first"
    assert found[0].query_word == "It" and found[0].key_word == "dog"
    assert found[0].weight == pytest.approx(0.8) and found[0].distance == -2
    assert places(made.search("encoder", 0, 0, query="it", key="Dog")) == [(0, 3, 1)]
    assert places(made.search("encoder", 0, 0, query="saw, ran")) == [(0, 2, 1), (1, 1, 0)]
    assert made.search("encoder", 0, 0, query="nowhere <b>") == []


def test_by_distance_and_weight_and_at_most_so_many(made):
    assert places(made.search("encoder", 0, 0, least_distance=2)) == [(0, 3, 1)]
    assert places(made.search("encoder", 0, 0, least_distance=1, least_weight=0.6)) == [
        (0, 4, 5),
        (0, 3, 1),
        (0, 2, 1),
    ]
    assert len(made.search("encoder", 0, 0, limit=4)) == 4
    assert len(made.search("encoder", 0, 0)) == 9


def test_by_class(made):
    assert places(made.search("encoder", 0, 0, query="[pronouns]")) == [(0, 3, 1), (1, 0, 1)]
    assert places(made.search("encoder", 0, 0, query="[punctuation]")) == [(0, 4, 5)]
    assert places(made.search("encoder", 0, 0, query="[words]", key="[control]")) == []
    assert places(made.search("encoder", 0, 0, query="[punctuation], ran")) == [(0, 4, 5), (1, 1, 0)]


def test_cross_attention_looks_from_target_to_source(made):
    found = made.search("cross", 0, 0, query="elle")
    assert places(found) == [(1, 1, 1)] and found[0].key_word == "ran"


def test_a_bad_search_is_one_line(made):
    for asked in ("[nouns]", "x" * 1000):
        with pytest.raises(SearchError) as caught:
            made.search("encoder", 0, 0, key=asked)
        assert "\n" not in str(caught.value)
    for odd in ("[]", "[", ",,, ,", "\x00", "(.*", "</s>"):
        assert isinstance(made.search("encoder", 0, 0, query=odd), list)


def test_measured_links_are_the_largest_weights_of_single_passes(tiny_bundle, tmp_path):
    pairs = [
        Pair("The dog runs in the park.", "Le chien court."),
        Pair("We sleep.", "Nous dormons beaucoup."),
        Pair("A man.", "Un homme."),
    ]
    engine = Engine.load(tiny_bundle)
    sample = sample_of(load_bundle(tiny_bundle).tokenizer, "tiny", pairs)
    save_measurement(tmp_path, links.measure(engine, sample, work=tmp_path))
    stored = load_measurement(tmp_path, "head_links", engine.hash)
    assert stored is not None
    found = Links.of(stored, sample, engine.tokenizer)
    assert not any("dog" in str(value) for value in stored.facts.values()), "no sentence is kept"
    with pytest.raises(SearchError, match="measured on other sentences"):
        Links.of(stored, sample_of(engine.tokenizer, "tiny", pairs[:2]), engine.tokenizer)
    start = dict.fromkeys(("encoder", "decoder", "cross"), 0)
    for number, (source, target) in enumerate(zip(sample.source_ids, sample.target_ids, strict=True)):
        taken = forced_pass(engine.model, list(source), list(target[:-1]), wanted=("weights",))
        for kind, block in (("encoder", "self"), ("decoder", "self"), ("cross", "cross")):
            side = "encoder" if kind == "encoder" else "decoder"
            queries, keys = found.words(kind, number)
            length = len(queries)
            for layer, head in np.ndindex(*stored.arrays[f"{kind}.key"].shape[:2]):
                weights = taken.points[f"{side}.{layer}.{block}.weights"][head]
                assert weights.shape == (length, len(keys))
                part = np.s_[layer, head, start[kind] : start[kind] + length]
                key = stored.arrays[f"{kind}.key"][part]
                np.testing.assert_allclose(weights[np.arange(length), key], weights.max(1), atol=1e-5)
                np.testing.assert_allclose(
                    stored.arrays[f"{kind}.weight"][part] / 255, weights.max(1), atol=0.5 / 255 + 1e-5
                )
            start[kind] += length
    words = found.words("encoder", 0)[0]
    assert words[-1] == "</s>" and {"dog", "runs", "."} <= {word.strip() for word in words}
    assert found.search("encoder", 0, 0, query="DOG")[0].sentence == 0
