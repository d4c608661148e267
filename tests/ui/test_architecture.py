"""Where the blocks of the drawing lead, how numbers are written, and what is said about gradients."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.analysis.depth import Gradients
from atlas.analysis.forward import stages
from atlas.analysis.head_cost import HeadTime, operations
from atlas.model import TransformerConfig
from atlas.ui.architecture.depth import ratio, verdict
from atlas.ui.architecture.destinations import destination
from atlas.ui.architecture.heads import seen
from atlas.ui.navigation import entry
from atlas.ui.tables import millions, printed, short


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("source_embedding", ("embedding", "encoder", -1)),
        ("target_embedding", ("embedding", "decoder", -1)),
        ("encoder.1.feed_forward", ("ffn", "encoder", 1)),
        ("decoder.2.cross_norm", ("cross", "decoder", 2)),
        ("decoder.0.self_norm", ("self", "decoder", 0)),
        ("output", ("logits", "decoder", -1)),
    ],
)
def test_blocks_lead_to_their_stage_of_the_forward_pass(name: str, stage: tuple, norm: str) -> None:
    config = TransformerConfig(vocabulary=9, norm=norm)
    found = destination(name, config)
    assert found.page == "forward_pass"
    shown = stages(config)[found.changes["stage"]]
    assert (shown.kind, shown.side, shown.layer) == stage


@pytest.mark.parametrize(
    ("name", "page", "changes"),
    [
        ("encoder.2.self_attention", "query_key_value", {"kind": "encoder", "layer": 3}),
        ("decoder.0.self_attention", "query_key_value", {"kind": "decoder", "layer": 1}),
        ("decoder.1.cross_attention", "query_key_value", {"kind": "cross", "layer": 2}),
        ("encoder.positions", "positions", {}),
        ("decoder.positions", "positions", {}),
        ("softmax", "beam_search", {}),
    ],
)
def test_attention_positions_and_the_search(name: str, page: str, changes: dict) -> None:
    found = destination(name, TransformerConfig(vocabulary=9))
    assert (found.page, found.changes) == (page, changes)
    assert found.words == f"Opens {entry(page).title}"


@pytest.mark.parametrize("name", ["encoder_norm", "decoder_norm"])
def test_only_a_pre_norm_model_has_norms_at_the_end(name: str) -> None:
    assert destination(name, TransformerConfig(vocabulary=9, norm="pre")).page == "forward_pass"
    with pytest.raises(KeyError, match="no block"):
        destination(name, TransformerConfig(vocabulary=9, norm="post"))


@pytest.mark.parametrize(
    ("number", "words"),
    [(950, "950"), (9_421_824, "9.42 M"), (214_245_376, "214.2 M"), (174_604_259_328, "174.6 B")],
)
def test_large_counts(number: int, words: str) -> None:
    assert millions(number) == words


def test_printed_counts_keep_their_figures() -> None:
    assert [printed(number) for number in (65e6, 213e6, 46.7e9, 175e9)] == [
        "65 M",
        "213 M",
        "46.7 B",
        "175 B",
    ]


@pytest.mark.parametrize(
    ("number", "words"),
    [(0.0, "0"), (0.0214, "0.0214"), (1230.4, "1,230"), (5.5e-15, "5.5·10⁻¹⁵"), (2.3e14, "2.3·10¹⁴")],
)
def test_numbers_of_any_size(number: float, words: str) -> None:
    assert short(number) == words


def four(first: float) -> tuple[Gradients, ...]:
    """A post-norm decoder whose first layer gets ``first``; everything else is even."""
    even = np.array([1.0, 2.0])
    return tuple(
        Gradients(
            norm, residual, even, np.array([first, 1.0]) if (norm, residual) == ("post", True) else even, 5.0
        )
        for norm, residual in (("post", True), ("pre", True), ("post", False), ("pre", False))
    )


def test_the_claim_about_residual_paths_is_judged_by_the_numbers() -> None:
    lost, kept = verdict(four(1e-9)), verdict(four(0.4))
    assert "**1.0·10⁻⁹** in post-norm and **0.5** in pre-norm" in lost
    assert "next to nothing" in lost and "next to nothing" not in kept
    assert "**0.4** in post-norm" in kept and "choose more layers" in kept


def test_what_a_timing_says() -> None:
    times = tuple(
        HeadTime(heads, operations(8, 32, heads), 1.0 + heads / 10, 1.0, 9.0, heads / 100)
        for heads in (1, 8, 16)
    )
    said = " | ".join(seen(times))
    assert "8 heads took 1.64 times as long as 1" in said
    assert "16 heads 2.36 times (+1.500 ms)" in said
    assert "16 times as many numbers: +0.150 ms" in said


def test_the_table_of_gradients_puts_first_against_last_as_its_sentence_does() -> None:
    assert ratio(np.array([2.0, 5.0, 8.0])) == short(0.25)
    assert ratio(np.array([0.0, 1.0])) == short(0.0)
    assert ratio(np.array([1.0, 0.0])) == "last is 0"
