"""How much memory the keys and values of a cache take: by formula, and in the tensors of a real one.

For each of ``L`` layers, each token that was read leaves a key and a value, ``H K`` numbers each::

    bytes = 2 · L · H · K · N · rows · bytes a number

``N`` is the length in tokens and ``rows`` the texts written at once (sentences times beams). A model with an
encoder also keeps keys and values of its ``S`` source tokens, once for each sentence however wide the beam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.errors import AtlasError
from atlas.model.cache import Cache
from atlas.model.config import PRESETS as SIZES
from atlas.model.config import TransformerConfig

BYTES: Mapping[str, int] = {"float32": 4, "bfloat16 or float16": 2, "8-bit integer": 1}
"""Bytes of one number, by its name."""


class CacheSizeError(AtlasError):
    """A cache that cannot be."""


@dataclass(frozen=True)
class CacheShape:
    """What a cache of keys and values holds.

    Attributes:
        layers: L, those of the decoder.
        heads: H, heads of keys and values.
        head_width: K; ``heads * head_width`` is D where every query head has keys of its own.
        length: N, target tokens.
        source: S, source tokens; 0 for a model without an encoder.
        sentences: B, texts that are worked on at once.
        beams: hypotheses kept for each of them.
        number: bytes of one number.

    Raises:
        CacheSizeError: a size below 1 (a source below 0).
    """

    layers: int
    heads: int
    head_width: int
    length: int
    source: int = 0
    sentences: int = 1
    beams: int = 1
    number: int = 4

    def __post_init__(self) -> None:
        for name, low in {
            "layers": 1, "heads": 1, "head_width": 1, "length": 1, "source": 0, "sentences": 1, "beams": 1,
            "number": 1,
        }.items():  # fmt: skip
            if getattr(self, name) < low:
                raise CacheSizeError(f"{name} must be at least {low}, not {getattr(self, name)}")

    @property
    def token_bytes(self) -> int:
        """What one more token of one text adds."""
        return 2 * self.layers * self.heads * self.head_width * self.number

    @property
    def own_bytes(self) -> int:
        """Keys and values of the tokens written so far."""
        return self.token_bytes * self.length * self.sentences * self.beams

    @property
    def source_bytes(self) -> int:
        """Keys and values of the source."""
        return self.token_bytes * self.source * self.sentences

    @property
    def total(self) -> int:
        """Both, in bytes."""
        return self.own_bytes + self.source_bytes


@dataclass(frozen=True)
class Preset:
    """A published model: its cache at its full length, its weights, and where the numbers are from.

    ``parameters`` is the published number of weights; None where a model has none of its own (it depends on
    the vocabulary).
    """

    shape: CacheShape
    parameters: int | None
    origin: str


def _ours(name: str, origin: str, parameters: int | None = None) -> Preset:
    sizes = SIZES[name]
    shape = CacheShape(sizes["decoder_layers"], sizes["heads"], sizes["width"] // sizes["heads"], 256, 256)
    return Preset(shape, parameters, origin)


KNOWN: Mapping[str, Preset] = {
    "tiny": _ours("tiny", "the preset tiny of this project"),
    "base": _ours("base", "Vaswani et al. 2017, table 3, base", 65_000_000),
    "big": Preset(CacheShape(6, 16, 64, 256, 256), 213_000_000, "Vaswani et al. 2017, table 3, big"),
    "GPT-2 XL": Preset(
        CacheShape(48, 25, 64, 1024, number=2), 1_542_000_000, "Radford et al. 2019, table 2, 1542M"
    ),
    "GPT-3": Preset(
        CacheShape(96, 96, 128, 2048, number=2), 175_000_000_000, "Brown et al. 2020, table 2.1, 175B"
    ),
}
"""Sizes by name, from the smallest to the largest."""


def shape_of(config: TransformerConfig, length: int, source: int, *, number: int = 4) -> CacheShape:
    """The cache of one sentence in a model of ours, after ``length`` target tokens.

    Args:
        source: S, tokens of the source, end mark included.
        number: bytes of one number.
    """
    return CacheShape(config.decoder_layers, config.heads, config.head_width, length, source, 1, 1, number)


@dataclass(frozen=True)
class HeldBytes:
    """Bytes in the tensors of a real cache.

    ``used`` by the tokens read so far, ``source`` by the source, ``allocated`` for tokens in all (memory is
    made in advance and doubles when it is full).
    """

    used: int
    source: int
    allocated: int


def held_bytes(cache: Cache) -> HeldBytes:
    """Weigh a cache: elements of its tensors times bytes of an element."""
    used = source = allocated = 0
    for layer in cache.layers:
        for tensor in (layer.keys, layer.values):
            filled = tensor[:, :, : cache.length]
            used += filled.numel() * filled.element_size()
            allocated += tensor.numel() * tensor.element_size()
        for tensor in (layer.memory_keys, layer.memory_values):
            source += tensor.numel() * tensor.element_size()
    return HeldBytes(used, source, allocated)


def readable(count: float) -> str:
    """Bytes for people, in powers of 1024: ``512 B``, ``12.00 KiB``, ``9.00 GiB``."""
    if count < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1024 or unit == "TiB":
            break
    return f"{count:,.2f} {unit}"
