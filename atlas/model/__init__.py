"""The encoder-decoder Transformer of Vaswani et al. (2017), written from tensor operations.

Shapes in this package use one alphabet: ``B`` batch, ``S`` source length, ``T`` target length, ``L``
layers, ``H`` heads,
``D`` model width, ``K`` head width, ``F`` feed-forward width, ``V`` vocabulary.
"""

from atlas.model.cache import Cache
from atlas.model.config import PRESETS, TransformerConfig
from atlas.model.device import pick_device
from atlas.model.recorder import Recorder
from atlas.model.transformer import Transformer

__all__ = ["PRESETS", "Cache", "Recorder", "Transformer", "TransformerConfig", "pick_device"]
