"""What is looked at in a stranger's bundle before anything of it is read or allocated."""

from __future__ import annotations

from pathlib import Path

from atlas import limits
from atlas.errors import AtlasError
from atlas.model.family import ModelConfig
from atlas.model.recurrent_config import RecurrentConfig


class BundleError(AtlasError):
    """A folder that is not a whole bundle of ours; the line names the file and, where there is one, the
    field.
    """


def check_file(folder: Path, name: str, limit: limits.Limit) -> None:
    """A file of a bundle is there, in its folder, and not over a limit.

    Raises:
        BundleError: it is missing, too large, or a link that leads out of the folder: such a link would show
            what else is on this machine to whoever made the bundle.
    """
    file = folder / name
    try:
        inside = file.resolve().is_relative_to(folder.resolve())
        there = file.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise BundleError(f"{file}: cannot be read: {error}") from error
    if not inside:
        raise BundleError(f"{file}: a link that leads out of the bundle")
    if not there:
        raise BundleError(f"{file}: the file is missing")
    try:
        limit.check(file.stat().st_size, "the file")
    except limits.LimitExceeded as error:
        raise BundleError(f"{file}: {error}") from error


def check_sizes(config: ModelConfig, description: Path, file: Path) -> None:
    """The model that a description asks for is no larger than its file of weights.

    Counted are matrices that every such model has, so the true number is larger still.

    Raises:
        BundleError: it is larger, or over a limit.
    """
    if isinstance(config, RecurrentConfig):
        weights = config.vocabulary * config.width + config.state * (config.width + config.state)
    else:
        layers = config.encoder_layers + config.decoder_layers
        weights = config.vocabulary * config.width + layers * config.width * 2 * (
            2 * config.width + config.ffn
        )
        try:
            limits.LAYERS.check(max(config.encoder_layers, config.decoder_layers), "the model")
            limits.POSITIONS.check(config.max_length * config.width, "its position table")
        except limits.LimitExceeded as error:
            raise BundleError(f"{description}: {error}") from error
    if weights > file.stat().st_size:
        raise BundleError(
            f"{file}: {file.stat().st_size:,} bytes are too few for the over {weights:,} weights that "
            f"{description.name} asks for"
        )
