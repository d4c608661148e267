"""The bundle: a trained model as a folder that checks itself. Nothing in it is a pickle."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from atlas import limits
from atlas.bundle_checks import BundleError, check_file, check_sizes
from atlas.model.config import ConfigError
from atlas.model.family import Model, build_model, config_from_dict
from atlas.model.transformer import Transformer
from atlas.model.unfilled import Unfilled
from atlas.text.tokenizer import Tokenizer, TokenizerError
from atlas.whole import restore, whole_folder

__all__ = ["Bundle", "BundleError", "load_bundle", "save_bundle", "snapshots"]

FORMAT_VERSION = 1
STORED = torch.float16
"""Type of the weights on disk."""
_READ = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WEIGHTS, TOKENIZER, CONFIG, HISTORY, CARD = (
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "history.csv",
    "card.md",
)


@dataclass
class Bundle:
    """A model with everything that is needed to use it and to know where it comes from."""

    name: str
    source_language: str
    target_language: str
    model: Model
    tokenizer: Tokenizer
    hash: str = ""
    history: str = ""
    card: str = ""
    training: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def transformer(self) -> Transformer:
        """The model, where it is a Transformer.

        Raises:
            BundleError: it is another architecture.
        """
        if not isinstance(self.model, Transformer):
            raise BundleError(f"{self.name}: a recurrent model; this works on a Transformer")
        return self.model


def half_weights(model: Model) -> dict[str, Tensor]:
    """The model's weights in float16, each tied matrix once."""
    return {name: tensor.detach().to("cpu", STORED).contiguous() for name, tensor in model.named_parameters()}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def save_bundle(bundle: Bundle, path: Path, snapshots: Mapping[str, Path] | None = None) -> None:
    """Write a bundle. Whenever the process is killed, the folder at ``path`` is the old one or the new one.

    Args:
        snapshots: weights of earlier steps to carry along, by file name, stored under ``snapshots/``.

    Raises:
        BundleError: a weight is not finite in half precision; such a bundle could not be loaded again.
    """
    weights = half_weights(bundle.model)
    for name, tensor in weights.items():
        if not torch.stack(tensor.aminmax()).isfinite().all():  # NaN is both
            raise BundleError(f"{path}: not saved, {name!r} holds values that are not finite")
    with whole_folder(path) as folder:
        save_file(weights, folder / WEIGHTS)
        (folder / TOKENIZER).write_text(bundle.tokenizer.to_json(), encoding="utf-8")
        (folder / HISTORY).write_text(bundle.history, encoding="utf-8")
        (folder / CARD).write_text(bundle.card, encoding="utf-8")
        for name, file in (snapshots or {}).items():
            (folder / "snapshots").mkdir(exist_ok=True)
            shutil.copyfile(file, folder / "snapshots" / name)
        names = [WEIGHTS, TOKENIZER, HISTORY, *(f"snapshots/{name}" for name in snapshots or {})]
        description = {
            "format": FORMAT_VERSION,
            "name": bundle.name,
            "source_language": bundle.source_language,
            "target_language": bundle.target_language,
            "model": bundle.model.config.to_dict(),
            "hashes": {name: _sha256(folder / name) for name in names},
            "training": bundle.training,
        }
        (folder / CONFIG).write_text(
            json.dumps(description, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        folder.chmod(0o755)
        for file in folder.rglob("*"):
            file.chmod(0o755 if file.is_dir() else 0o644)


def read_description(path: Path) -> dict[str, Any]:
    """``config.json`` of a bundle, checked as far as it goes without the other files.

    Raises:
        BundleError: it is missing, not JSON, of another format version, or lacks a field.
    """
    file = path / CONFIG
    if not file.is_file():
        raise BundleError(f"{path}: not a bundle, it has no {CONFIG}")
    check_file(path, CONFIG, limits.CONFIG)
    try:
        description = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"{file}: cannot be read: {error}") from error
    if not isinstance(description, dict):
        raise BundleError(f"{file}: must hold one JSON object")
    known: dict[str, type] = {
        "format": int,
        "name": str,
        "source_language": str,
        "target_language": str,
        "model": dict,
        "hashes": dict,
        "training": dict,
    }
    if description.get("format") != FORMAT_VERSION or description["format"] is True:
        raise BundleError(
            f"{file}: format {description.get('format')!r} is not known; this version reads format "
            f"{FORMAT_VERSION}"
        )
    for key, kind in known.items():
        if not isinstance(description.get(key), kind):
            raise BundleError(f"{file}: the field {key!r} is missing or not of type {kind.__name__}")
    for key in description:
        if key not in known:
            raise BundleError(f"{file}: unknown field {key!r}")
    for name in (WEIGHTS, TOKENIZER):
        if name not in description["hashes"]:
            raise BundleError(f"{file}: the field 'hashes' does not name {name}")
    return description


def identity(description: Mapping[str, Any], weights: str) -> str:
    """What makes a model the one it is: SHA-256 over its weights, tokenizer and options.

    The same weights read with other options (fewer heads, no positions) are another model.

    Args:
        description: from :func:`read_description`.
        weights: name of the file of weights, one of its ``hashes``.
    """
    hashes = description["hashes"]
    parts = (hashes[weights], hashes[TOKENIZER], json.dumps(description["model"], sort_keys=True))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def load_weights(model: Model, file: Path) -> None:
    """Fill a model from a safetensors file, every key and shape checked.

    Raises:
        BundleError: the file is damaged, or a tensor is missing, unknown or of another shape.
    """
    try:
        tensors = load_file(file)
    except (OSError, SafetensorError, ValueError) as error:
        raise BundleError(f"{file}: damaged or not a safetensors file: {error}") from error
    parameters = dict(model.named_parameters())
    for name in parameters:
        if name not in tensors:
            raise BundleError(f"{file}: the tensor {name!r} is missing")
    for name, tensor in tensors.items():
        if name not in parameters:
            raise BundleError(f"{file}: unknown tensor {name!r}")
        if tensor.shape != parameters[name].shape:
            raise BundleError(
                f"{file}: {name!r} has shape {tuple(tensor.shape)}, the configuration says "
                f"{tuple(parameters[name].shape)}"
            )
        if tensor.dtype not in _READ:
            raise BundleError(f"{file}: {name!r} has the type {tensor.dtype}, which is not read")
        if not torch.stack(tensor.aminmax()).isfinite().all():  # NaN is both
            raise BundleError(f"{file}: {name!r} holds values that are not finite")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


def snapshots(path: Path) -> dict[int, Path]:
    """The weights of earlier training steps that a bundle carries, by step."""
    files = sorted((path / "snapshots").glob("step-*.safetensors"))
    steps = ((file.stem.removeprefix("step-"), file) for file in files)
    return {int(step): file for step, file in steps if step.isdecimal()}


def _read_text(file: Path) -> str:
    if not file.is_file():
        return ""
    check_file(file.parent, file.name, limits.TEXTS)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{file}: cannot be read as UTF-8 text: {error}") from error


def load_bundle(path: Path, device: torch.device | None = None, *, step: int | None = None) -> Bundle:
    """Read and verify a bundle.

    Args:
        step: take the weights of this training step, one of :func:`snapshots`, instead of the final ones.

    Raises:
        BundleError: a file is missing, damaged or foreign, sizes disagree, or the format is newer than this
            program.
    """
    path = Path(path)
    restore(path)
    if not path.is_dir():
        raise BundleError(
            f"{path}: there is no such folder; a bundle is a folder with {CONFIG}, {TOKENIZER} and {WEIGHTS}"
        )
    description = read_description(path)
    for name, expected in description["hashes"].items():
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise BundleError(f"{path / CONFIG}: the field 'hashes' names {name!r}, outside the bundle")
        check_file(path, name, limits.WEIGHTS if name.endswith(".safetensors") else limits.TEXTS)
        if _sha256(path / name) != expected:
            raise BundleError(f"{path / name}: damaged or changed, its SHA-256 is not the one in {CONFIG}")
    try:
        config = config_from_dict(description["model"])
        tokenizer = Tokenizer.load(path / TOKENIZER)
    except ConfigError as error:
        raise BundleError(f"{path / CONFIG}: {error}") from error
    except TokenizerError as error:
        raise BundleError(str(error)) from error
    if len(tokenizer) != config.vocabulary:
        raise BundleError(
            f"{path / TOKENIZER}: {len(tokenizer)} pieces, but the field 'vocabulary' of {CONFIG} "
            f"says {config.vocabulary}"
        )
    weights = path / WEIGHTS
    if step is not None:
        known = snapshots(path)
        if step not in known:
            raise BundleError(
                f"{path}: no snapshot of step {step}; there are {', '.join(map(str, known)) or 'none'}"
            )
        weights = known[step]
    stored = weights.relative_to(path).as_posix()
    if stored not in description["hashes"]:
        raise BundleError(f"{path / CONFIG}: the field 'hashes' does not name {stored}")
    check_sizes(config, path / CONFIG, weights)
    with Unfilled():
        model = build_model(config)
    load_weights(model, weights)
    model.to(device or torch.device("cpu")).eval()
    texts = {name: _read_text(path / name) for name in (HISTORY, CARD)}
    return Bundle(
        description["name"],
        description["source_language"],
        description["target_language"],
        model,
        tokenizer,
        identity(description, stored),
        texts[HISTORY],
        texts[CARD],
        description["training"],
        path,
    )
