"""Exact counts from the weights, against PyTorch's own list of them and against closed forms."""

from __future__ import annotations

import pytest
import torch

from atlas.analysis.parameters import REMAINDER, Weight, blocks, compare, shares, total
from atlas.model import Transformer, TransformerConfig

D, F, V, P = 24, 40, 70, 50
SIZES = {"vocabulary": V, "encoder_layers": 2, "decoder_layers": 3, "heads": 4, "width": D, "ffn": F}


def model(**options: object) -> Transformer:
    """Shapes without numbers."""
    with torch.device("meta"):
        return Transformer(TransformerConfig(**(SIZES | {"max_length": P} | options)))


def parameters(of: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in of.parameters())


@pytest.fixture(params=["post", "pre"])
def norm(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_every_parameter_is_counted_once(norm: str, positions: str, tied: bool) -> None:
    whole = model(norm=norm, positions=positions, tied=tied)
    parts = blocks(whole)
    shapes = {id(p): tuple(p.shape) for p in whole.parameters()}
    assert sorted(w.shape for part in parts for w in part.weights) == sorted(shapes.values())
    assert total(parts) == parameters(whole) == sum(shares(parts).values())
    rows = compare(whole.config, parts)
    assert sum(row.times * row.exact for row in rows) == parameters(whole)
    assert sum(row.times * row.remainder for row in rows) == shares(parts)[REMAINDER]


def test_a_block_is_a_module_of_the_model(norm: str) -> None:
    whole = model(norm=norm)
    names = [part.name for part in blocks(whole)]
    assert len(set(names)) == len(names)
    for part in blocks(whole):
        assert part.count == parameters(whole.get_submodule(part.name)), part.name
    assert total(blocks(whole), "decoder.2.") == parameters(whole.decoder[2])


def test_the_formulas_and_what_they_leave_out(norm: str) -> None:
    rows = {row.what: row for row in compare(model(norm=norm).config, blocks(model(norm=norm)))}
    encoder, decoder = rows["Encoder layer"], rows["Decoder layer"]
    assert (encoder.times, decoder.times) == (2, 3)
    assert encoder.expected == 4 * D**2 + 2 * D * F and encoder.remainder == 9 * D + F
    assert decoder.expected == 8 * D**2 + 2 * D * F and decoder.remainder == 15 * D + F
    assert (rows.get("Norm at the end of a stack") is not None) == (norm == "pre")
    embedding = rows["Embedding, shared by source, target and output"]
    assert (embedding.times, embedding.exact) == (1, V * D)


def test_four_times_as_wide_is_twelve_and_sixteen_squares() -> None:
    wide = model(ffn=4 * D)
    encoder, decoder = compare(wide.config, blocks(wide))[:2]
    assert encoder.expected == 12 * D**2 and "12d²" in encoder.formula
    assert decoder.expected == 16 * D**2 and "16d²" in decoder.formula


def test_shares_by_closed_form() -> None:
    found = shares(blocks(model(norm="pre", positions="learned", tied=False)))
    assert found == {
        "embedding": 3 * V * D,
        "positions": P * D,
        "encoder attention": 2 * 4 * D**2,
        "encoder feed-forward": 2 * 2 * D * F,
        "decoder self-attention": 3 * 4 * D**2,
        "cross-attention": 3 * 4 * D**2,
        "decoder feed-forward": 3 * 2 * D * F,
        REMAINDER: 2 * (9 * D + F) + 3 * (15 * D + F) + 2 * 2 * D,
    }


def test_kinds_and_order_follow_the_flow_of_a_sentence() -> None:
    parts = blocks(model(norm="pre", positions="learned", tied=False))
    kinds = [part.kind for part in parts]
    assert kinds[:3] == ["embedding", "positions", "self_attention"]
    assert kinds[-1] == "unembedding"
    assert [part.name for part in parts].index("target_embedding") > [p.name for p in parts].index(
        "encoder_norm"
    )
    assert Weight("x", (3, 4)).is_matrix and not Weight("x", (3,)).is_matrix
