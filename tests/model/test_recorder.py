"""Points that a pass names, edited on the way, and what they are worth when they are put together again."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from atlas.analysis.passes import forced_pass
from atlas.model import Recorder, Transformer, TransformerConfig
from tests.model.reference import small_model

SOURCE = torch.tensor([[5, 6, 7, 8, 2]])
TARGET = torch.tensor([[1, 9, 10, 11]])
SEEN = torch.ones_like(SOURCE, dtype=torch.bool)
BLOCKS = {"encoder": ("self", "ffn"), "decoder": ("self", "cross", "ffn")}


def recorded(model: Transformer, **more: object) -> tuple[Recorder, Tensor]:
    recorder = Recorder(**more)  # type: ignore[arg-type]
    with torch.no_grad():
        return recorder, model(SOURCE, SEEN, TARGET, recorder)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_edits_that_change_nothing_change_nothing_to_the_bit(norm: str) -> None:
    model = small_model(dtype=torch.float32, norm=norm)
    plain, logits = recorded(model)
    edited, same = recorded(model, edits=dict.fromkeys(plain.points, torch.clone))
    assert torch.equal(logits, same)
    assert plain.points.keys() == edited.points.keys()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_named_point_reaches_the_logits(norm: str) -> None:
    """An edit of any point of the last positions moves the outcome: none is recorded beside the pass."""
    model = small_model(dtype=torch.float64, norm=norm)
    plain, logits = recorded(model)
    for name, value in plain.points.items():
        if name.endswith(".scores"):
            continue  # a constant added to a row of scores is what softmax does not see
        noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(1), dtype=value.dtype)
        _, moved = recorded(model, edits={name: lambda x, noise=noise: x + noise})
        assert (moved - logits).abs().max() > 1e-6, name


def test_an_edit_of_scores_is_what_the_softmax_reads() -> None:
    model = small_model(dtype=torch.float64, norm="pre")
    recorder, _ = recorded(model, edits={"decoder.0.self.scores": lambda scores: scores * 0.5})
    point = "decoder.0.self"
    query, key = recorder[f"{point}.q"], recorder[f"{point}.k"]
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) * 0.5
    scores = scores.masked_fill(torch.ones(4, 4).triu(1).bool(), -math.inf)
    torch.testing.assert_close(recorder[f"{point}.weights"], scores.softmax(-1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_points_of_a_residual_step_add_up(norm: str) -> None:
    model = small_model(dtype=torch.float64, norm=norm)
    recorder, _ = recorded(model)
    for side, blocks in BLOCKS.items():
        stream = recorder[f"{side}.embedded"]
        layers = model.encoder if side == "encoder" else model.decoder
        for index, layer in enumerate(layers):
            for block in blocks:
                point = f"{side}.{index}.{block}"
                normalise = getattr(layer, f"{block}_norm")
                read = normalise(stream) if norm == "pre" else stream
                torch.testing.assert_close(recorder[f"{point}.input"], read, rtol=0, atol=1e-12)
                total = stream + recorder[f"{point}.change"]
                torch.testing.assert_close(recorder[f"{point}.sum"], total, rtol=0, atol=1e-12)
                stream = total if norm == "pre" else normalise(total)
                torch.testing.assert_close(recorder[f"{point}.residual"], stream, rtol=0, atol=1e-12)
    end = model.decoder_norm(stream) if norm == "pre" else stream
    torch.testing.assert_close(recorder["decoder.output"], end, rtol=0, atol=1e-12)


def test_the_embedding_is_looked_up_scaled_and_placed() -> None:
    model = small_model(dtype=torch.float64, norm="pre")
    recorder, _ = recorded(model)
    table = model.source_embedding.weight
    torch.testing.assert_close(recorder["encoder.looked_up"], table[SOURCE])
    torch.testing.assert_close(recorder["encoder.scaled"], table[SOURCE] * math.sqrt(model.config.width))
    assert model.position_table is not None
    placed = recorder["encoder.scaled"] + model.position_table[: SOURCE.shape[1]]
    torch.testing.assert_close(recorder["encoder.embedded"], placed)


def test_a_forced_pass_is_the_pass_without_its_batch() -> None:
    model = small_model(dtype=torch.float32, norm="pre").requires_grad_(False)
    recorder, logits = recorded(model)
    found = forced_pass(model, SOURCE[0].tolist(), TARGET[0, 1:].tolist())
    assert (found.source_ids, found.target_ids) == (tuple(SOURCE[0].tolist()), tuple(TARGET[0].tolist()))
    assert found.points.keys() == recorder.points.keys()
    torch.testing.assert_close(torch.tensor(found.logits), logits[0])
    torch.testing.assert_close(torch.tensor(found["decoder.1.cross.q"]), recorder["decoder.1.cross.q"][0])
    few = forced_pass(model, [5, 2], [9], wanted=("weights",))
    assert {name.rpartition(".")[2] for name in few.points} == {"weights"}


def without_mask(**options: object) -> Transformer:
    torch.manual_seed(3)
    sizes = {"encoder_layers": 1, "decoder_layers": 2, "heads": 2, "width": 8, "ffn": 16}
    config = TransformerConfig(vocabulary=20, causal=False, **sizes, **options)  # type: ignore[arg-type]
    return Transformer(config).double().eval()


def test_without_the_causal_mask_what_comes_later_is_seen() -> None:
    model, other = without_mask(), TARGET.clone()
    other[0, -1] = 12
    memory = model.encode(SOURCE, SEEN)
    moved = (model.decode(TARGET, memory, SEEN) - model.decode(other, memory, SEEN)).abs().amax(-1)[0]
    assert (moved > 1e-6).all()
    masked = small_model(dtype=torch.float64, norm="pre")
    memory = masked.encode(SOURCE, SEEN)
    moved = (masked.decode(TARGET, memory, SEEN) - masked.decode(other, memory, SEEN)).abs().amax(-1)[0]
    assert moved[:-1].max() == 0
    assert moved[-1] > 1e-6


def test_without_the_causal_mask_padding_is_still_hidden() -> None:
    model = without_mask()
    memory = model.encode(SOURCE, SEEN)
    alone = model.decode(TARGET, memory, SEEN)
    padded = torch.nn.functional.pad(TARGET, (0, 3))
    together = model.decode(padded, memory, SEEN, target_mask=padded != 0)
    torch.testing.assert_close(together[:, :4], alone, rtol=0, atol=1e-12)
    assert (model.decode(padded, memory, SEEN)[:, :4] - alone).abs().max() > 1e-6
