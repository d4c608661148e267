"""Descriptions of a model, and the device that it runs on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
import torch

from atlas.errors import AtlasError
from atlas.model import PRESETS, TransformerConfig, pick_device
from atlas.model.config import ConfigError
from atlas.model.device import DeviceError


@pytest.mark.parametrize("preset", list(PRESETS))
def test_plain_values_and_back(preset):
    config = TransformerConfig(vocabulary=100, **PRESETS[preset])
    assert TransformerConfig.from_dict(config.to_dict()) == config
    assert config.head_width * config.heads == config.width
    with pytest.raises(FrozenInstanceError):
        config.width = 3


def test_base_is_the_model_of_2017():
    config = TransformerConfig(vocabulary=37_000, **PRESETS["base"])
    assert (config.encoder_layers, config.decoder_layers, config.heads) == (6, 6, 8)
    assert (config.width, config.ffn, config.head_width) == (512, 2048, 64)
    assert (config.norm, config.positions, config.activation, config.tied) == (
        "post",
        "sinusoidal",
        "relu",
        True,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": 0}, "vocabulary must be a whole number of at least 1, not 0"),
        ({"encoder_layers": -1}, "encoder_layers must be a whole number of at least 1, not -1"),
        ({"decoder_layers": 1.5}, "decoder_layers must be a whole number of at least 1, not 1.5"),
        ({"heads": True}, "heads must be a whole number of at least 1, not True"),
        ({"ffn": "64"}, "ffn must be a whole number of at least 1, not '64'"),
        ({"max_length": None}, "max_length must be a whole number of at least 1, not None"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, not 1.0"),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1, not -0.1"),
        ({"dropout": float("nan")}, "dropout must be at least 0 and below 1, not nan"),
        ({"dropout": "half"}, "dropout must be a number, not 'half'"),
        ({"norm_epsilon": 0.0}, "norm_epsilon must be above 0 and finite, not 0.0"),
        ({"norm_epsilon": float("nan")}, "norm_epsilon must be above 0 and finite, not nan"),
        ({"norm_epsilon": float("inf")}, "norm_epsilon must be above 0 and finite, not inf"),
        ({"tied": 1}, "tied must be true or false, not 1"),
        ({"norm": "mid"}, "norm must be one of post, pre, not 'mid'"),
        ({"positions": "rotary"}, "positions must be one of sinusoidal, learned, none, not 'rotary'"),
        ({"positions": ["none"]}, "positions must be one of sinusoidal, learned, none, not ['none']"),
        ({"activation": "swish"}, "activation must be one of relu, gelu, not 'swish'"),
        ({"width": 100}, "width 100 cannot be split over 8 heads: it must be a multiple"),
        ({"width": 15, "heads": 3}, "sinusoidal positions need an even width, not 15"),
    ],
)
def test_a_description_that_cannot_be_built_says_so_in_one_line(change, message):
    with pytest.raises(ConfigError) as caught:
        TransformerConfig(**({"vocabulary": 100} | change))
    assert str(caught.value) == message
    assert isinstance(caught.value, AtlasError)


def test_unknown_and_missing_keys_are_refused():
    values = TransformerConfig(vocabulary=100).to_dict()
    with pytest.raises(ConfigError, match=r"^unknown model option 'd_model'; known are activation, .*width$"):
        TransformerConfig.from_dict(values | {"d_model": 512})
    del values["vocabulary"]
    with pytest.raises(ConfigError, match=r"^the model option 'vocabulary' is missing$"):
        TransformerConfig.from_dict(values)


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_the_best_device_there_is(monkeypatch, cuda, mps, expected):
    monkeypatch.delenv("ATLAS_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert pick_device().type == expected
    monkeypatch.setenv("ATLAS_DEVICE", "cpu")
    assert pick_device() == torch.device("cpu"), "the environment decides"
    monkeypatch.setenv("ATLAS_DEVICE", "nonsense")
    assert pick_device("cpu") == torch.device("cpu"), "an argument decides before it"


@pytest.mark.parametrize("name", ["nonsense", "cuda", "cuda:7", "mps", "meta", "cpu:x", "cuda:-1"])
def test_a_device_that_is_not_there_is_one_line(monkeypatch, name):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setenv("ATLAS_DEVICE", name)
    with pytest.raises(DeviceError) as caught:
        pick_device()
    assert repr(name) in str(caught.value) and "\n" not in str(caught.value)
