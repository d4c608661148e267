"""A training file is followed to the letter, or refused in one line with its name and the option's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas.errors import AtlasError
from atlas.training.config import TrainingConfig, TrainingConfigError

BASE = 'name = "x"\ncorpus = "tatoeba"\n'


def load(text: str, folder: Path) -> TrainingConfig:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return TrainingConfig.load(path)


def test_what_is_written_is_what_is_used(tmp_path: Path):
    config = load(
        BASE + "steps = 7\nsnapshots = [1, 3]\nbetas = [0.8, 0.9]\nlearning_rate = 1\n"
        '[model]\npreset = "tiny"\nnorm = "post"\nwidth = 64\n',
        tmp_path,
    )
    assert (config.steps, config.snapshots, config.betas, config.learning_rate) == (7, (1, 3), (0.8, 0.9), 1)
    assert config.model_options() == {
        "encoder_layers": 4, "decoder_layers": 4, "heads": 4, "width": 64, "ffn": 256, "norm": "post",
    }  # fmt: skip
    assert TrainingConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lerning_rate = 1e-3", "unknown option 'lerning_rate'; known are average, average_every, betas,"),
        ("steps = 0", "steps must be a whole number of at least 1, not 0"),
        ("steps = 1.5", "steps must be a whole number of at least 1, not 1.5"),
        ("steps = true", "steps must be a whole number of at least 1, not True"),
        ('tokens = "many"', "tokens must be a whole number of at least 1, not 'many'"),
        ("seed = -1", "seed must be a whole number of at least 0, not -1"),
        ("vocabulary = 259", "vocabulary must be a whole number of at least 260, not 259"),
        ("learning_rate = 2", "learning_rate must lie between 0 and 1, not 2"),
        ("learning_rate = nan", "learning_rate must lie between 0 and 1, not nan"),
        ("learning_rate = true", "learning_rate must lie between 0 and 1, not True"),
        ('label_smoothing = "0.1"', "label_smoothing must lie between 0 and 1, not '0.1'"),
        ("weight_decay = -0.1", "weight_decay must lie between 0 and 1, not -0.1"),
        ("clip = 0", "clip must be above 0, not 0"),
        ('clip = "hard"', "clip must be above 0, not 'hard'"),
        ("epsilon = 0.0", "epsilon must be above 0, not 0.0"),
        ("betas = 0.9", "betas must be two numbers of at least 0 and below 1, not 0.9"),
        ("betas = [0.9, 1.0]", "betas must be two numbers of at least 0 and below 1, not (0.9, 1.0)"),
        ("snapshots = 5", "snapshots must be a list of steps from 1 on, not 5"),
        ("snapshots = [0]", "snapshots must be a list of steps from 1 on, not (0,)"),
        ('schedule = "linear"', "schedule must be one of inverse_sqrt, cosine, wsd, not 'linear'"),
        ('precision = "half"', "precision must be one of auto, float32, bfloat16, not 'half'"),
        ("licence = 4", "licence must be text, not 4"),
        ('model = "small"', "model must be a table with a preset, not 'small'"),
        ('model = { preset = "huge" }', "model.preset must be one of tiny, small, base, not 'huge'"),
        ("model = { preset = [1] }", "model.preset must be one of tiny, small, base, not [1]"),
        ("model = { layers = 3 }", "model: unknown model option 'layers'; known are activation,"),
        ("model = { heads = 7 }", "model: width 256 cannot be split over 7 heads: it must be a multiple"),
        ("model = { vocabulary = 9 }", "model.vocabulary follows from the tokenizer; set vocabulary instead"),
        ("steps = ", "Invalid value (at line 3, column 9)"),
    ],
)
def test_a_wrong_option_is_named_with_the_file(line: str, said: str, tmp_path: Path):
    with pytest.raises(TrainingConfigError) as caught:
        load(BASE + line + "\n", tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'run.toml'}: {said}")
    assert "\n" not in message
    assert isinstance(caught.value, AtlasError)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('corpus = "tatoeba"', "the option 'name' is missing"),
        ('name = "x"', "the option 'corpus' is missing"),
    ],
)
def test_what_must_be_there(text: str, said: str, tmp_path: Path):
    with pytest.raises(TrainingConfigError, match=said):
        load(text, tmp_path)


@pytest.mark.parametrize("content", [None, b"name = \xff\xfe"])
def test_a_file_that_cannot_be_read(content: bytes | None, tmp_path: Path):
    path = tmp_path / "run.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TrainingConfigError) as caught:
        TrainingConfig.load(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_every_option_survives_a_state_on_disk():
    config = TrainingConfig(name="x", corpus="y")
    values: dict[str, Any] = json.loads(json.dumps(config.to_dict()))
    assert TrainingConfig.from_dict(values) == config
