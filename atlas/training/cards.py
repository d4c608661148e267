"""The card of a bundle: what it learnt from, how to make it again, what it scores."""

from __future__ import annotations

from typing import Any

from atlas.checkpoint import Bundle
from atlas.model.config import TransformerConfig
from atlas.model.family import ModelConfig
from atlas.text.corpora import Corpus

ATTRIBUTION = {
    "tatoeba": "Tatoeba English-French (tatoeba.org), packed by manythings.org/anki; CC BY 2.0 FR.",
    "multi30k-en-fr": "Multi30k English-French (Elliott et al. 2016, 2017); research and "
    "education, non-commercial, CC BY-NC-SA 4.0.",
    "multi30k-en-de": "Multi30k English-German (Elliott et al. 2016); research and education, "
    "non-commercial, CC BY-NC-SA 4.0.",
}
SCORES = "## Scores"


def training_card(bundle: Bundle, corpus: Corpus) -> str:
    """Markdown that states data, licence, training and model; scores are added by :func:`with_score`."""
    facts = bundle.training
    config = facts["config"]
    model = bundle.model.config
    rounding = facts["rounding"]
    reached = (
        f"{facts['steps']:,} of {config['steps']:,} updates"
        if facts["steps"] < config["steps"]
        else f"all {facts['steps']:,} updates"
    )
    kind = "Transformer" if isinstance(model, TransformerConfig) else "recurrent translator"
    lines = [
        f"# {bundle.name}",
        "",
        f"A {kind} of {sum(p.numel() for p in bundle.model.parameters()):,} parameters, "
        f"{bundle.source_language} to {bundle.target_language}, trained from scratch by Attention Atlas.",
        "",
        "## Data and licence",
        "",
        f"- {ATTRIBUTION.get(corpus.name, f'{corpus.name}: a file of the user.')}",
        f"- Weights: {config['licence'] or 'as the training data'}.",
        f"- Read: {corpus.report}. Training {len(corpus.train):,}, development "
        f"{len(corpus.development):,}, test {len(corpus.test):,} pairs.",
        *[f"- `{name}`: SHA-256 `{digest}`" for name, digest in sorted(corpus.files.items())],
        "- No-break spaces and curly apostrophes of the training and development text were made "
        "plain; the test text is as published.",
        "",
        "## Model",
        "",
        f"- {_architecture(model)}, {'tied' if model.tied else 'untied'} "
        f"embeddings, {model.vocabulary:,} pieces (byte-level BPE, joint).",
        f"- Weights on disk in float16, computed in float32. What rounding moved: development loss "
        f"{rounding['loss']:.5f} to {rounding['half_loss']:.5f}, greedy BLEU on development sentences "
        f"{rounding['bleu']:.2f} to {rounding['half_bleu']:.2f}.",
        "",
        "## Training",
        "",
        f"- {reached}, {facts['target_tokens']:,} target tokens, {facts['minutes']} minutes, "
        f"{facts['precision']}; weights: {facts['weights']}.",
        *([f"- Went on from the bundle `{facts['init']}` with a fresh optimiser."] if facts["init"] else []),
        f"- Again: `atlas train configs/{bundle.name}.toml --out checkpoints/{bundle.name}"
        + (f" --init checkpoints/{facts['init']}" if facts["init"] else "")
        + "`. Settings: "
        + ", ".join(
            f"{key} {value}"
            for key, value in config.items()
            if key not in ("name", "corpus", "licence", "model", "snapshots")
        )
        + ".",
        "",
    ]
    return "\n".join(lines)


def _architecture(model: ModelConfig) -> str:
    if isinstance(model, TransformerConfig):
        return (
            f"{model.encoder_layers}+{model.decoder_layers} layers, width {model.width}, feed-forward "
            f"{model.ffn}, {model.heads} heads, {model.norm}-norm, {model.positions} positions, "
            f"{model.activation}" + ("" if model.causal else ", no causal mask")
        )
    reading = {"none": "no attention, one vector for the sentence"}.get(
        model.attention, f"{model.attention} attention"
    )
    return (
        f"bidirectional {model.cell.upper()} encoder and {model.cell.upper()} decoder, state {model.state}, "
        f"width {model.width}, {reading}"
    )


def with_score(card: str, row: dict[str, Any]) -> str:
    """The card with one result of ``atlas evaluate`` in its scores section, in place of an older one of
    that test.

    Args:
        row: ``test``, ``sentences``, ``beam``, ``bleu``, ``chrf``, ``signature``, ``command``, and for
            Multi30k ``bleu_lc_tok`` and ``published`` (None where nothing was published).
    """
    head, _, scores = card.partition(SCORES)
    blocks = [
        block
        for block in scores.strip().split("\n\n")
        if block and not block.startswith(f"- **{row['test']}**")
    ]
    lines = [
        f"- **{row['test']}** ({row['sentences']:,} sentences, beam {row['beam']}): BLEU {row['bleu']:.2f}, "
        f"chrF {row['chrf']:.2f}",
        f"  - `{row['signature']}`",
    ]
    if "bleu_lc_tok" in row:
        beside = (
            "" if row["published"] is None else f" (published for Transformer-Tiny: {row['published']:.2f})"
        )
        lines.append(f"  - lowercased tokenised BLEU {row['bleu_lc_tok']:.2f}{beside}")
    lines.append(f"  - printed by `{row['command']}`")
    blocks = sorted([*blocks, "\n".join(lines)])
    return f"{head.rstrip()}\n\n{SCORES}\n\n" + "\n\n".join(blocks) + "\n"
