"""The logit lens against NumPy, and against the model itself at its last layer."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.analysis.forward import WANTED
from atlas.analysis.logit_lens import LensError, logit_lens
from atlas.analysis.passes import forced_pass
from tests.analysis.walked import SOURCE, TARGET, Walked, softmax
from tests.model.reference import VOCABULARY, small_model

FOLLOWING = (*TARGET, 2)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_depth_is_the_stream_through_the_end_of_the_model(norm):
    model = small_model(norm=norm)
    lens = logit_lens(model, forced_pass(model, SOURCE, TARGET, wanted=WANTED), FOLLOWING)
    again = Walked(model)
    decoder = again.rows[-(1 + 3 * 3 + (norm == "pre")) :]
    streams = [decoder[0][-1], decoder[3][-1], decoder[6][-1], decoder[9][-1]]
    for depth, stream in enumerate(streams):
        read = again.norm("decoder_norm", stream) if norm == "pre" else stream
        logits = read @ again.weights["source_embedding.weight"].T
        probability = softmax(logits)
        assert list(lens.tokens[depth]) == list(logits.argmax(axis=1))
        np.testing.assert_allclose(lens.probability[depth], probability.max(axis=1), rtol=1e-4)
        for position, token in enumerate(FOLLOWING):
            assert lens.said[depth, position] == pytest.approx(probability[position, token], rel=1e-4)
            better = sum(other > logits[position, token] for other in logits[position])
            assert lens.rank[depth, position] == better + 1


def test_the_last_depth_is_the_model_itself():
    model = small_model()
    done = forced_pass(model, SOURCE, TARGET, wanted=WANTED)
    lens = logit_lens(model, done, FOLLOWING)
    own = softmax(done.logits.astype(np.float64))
    np.testing.assert_allclose(lens.probability[-1], own.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(lens.said[-1], own[np.arange(4), FOLLOWING], rtol=1e-5)
    assert lens.tokens.shape == (4, 4)
    assert 1 <= lens.rank.min() <= lens.rank.max() <= VOCABULARY


def test_tied_embeddings_read_the_input_as_itself():
    model = small_model(positions="none", norm="post", width=64)
    lens = logit_lens(model, forced_pass(model, SOURCE, TARGET, wanted=WANTED), FOLLOWING)
    assert list(lens.tokens[0]) == [1, *TARGET]


def test_a_token_for_every_position_is_needed():
    model = small_model()
    done = forced_pass(model, SOURCE, TARGET, wanted=WANTED)
    with pytest.raises(LensError, match="4 positions are followed by 3 tokens"):
        logit_lens(model, done, TARGET)
