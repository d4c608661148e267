"""Bundles from strangers: a whole one is opened, any other is refused in one line before it costs."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import resource
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.bundles import find_bundles
from atlas.checkpoint import Bundle, BundleError, load_bundle
from tests.fuzz.conftest import FUZZ

CANARY = Path("/tmp/atlas-was-here")
HASHED = ("model.safetensors", "tokenizer.json", "history.csv")


class Bomb:
    """A pickle that would write a file."""

    def __reduce__(self) -> Any:
        return (Path.touch, (CANARY,))


@pytest.fixture(scope="module")
def whole(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that is damaged and put right again."""
    path = tmp_path_factory.mktemp("fuzz") / "tiny"
    shutil.copytree(tiny_bundle, path)
    return path


def opened(path: Path) -> Bundle | None:
    """The bundle, or None after one clear line."""
    try:
        return load_bundle(path)
    except BundleError as error:
        assert len(str(error).splitlines()) == 1 and len(str(error)) < 2_001
        return None


def with_file(path: Path, name: str, content: bytes) -> Bundle | None:
    """The bundle with one file replaced on purpose: its hash fits."""
    kept = {file: (path / file).read_bytes() for file in (name, "config.json")}
    try:
        (path / name).write_bytes(content)
        if name in HASHED:
            description = json.loads(kept["config.json"])
            description["hashes"][name] = hashlib.sha256(content).hexdigest()
            (path / "config.json").write_text(json.dumps(description))
        return opened(path)
    finally:
        for file, before in kept.items():
            (path / file).write_bytes(before)


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3),
    max_leaves=5,
)


@given(st.data())
@FUZZ
def test_any_value_in_the_description(whole: Path, data: st.DataObject) -> None:
    description = json.loads((whole / "config.json").read_text())
    inside = data.draw(st.sampled_from([description, description["model"], description["hashes"]]))
    inside[data.draw(st.sampled_from(sorted(inside)))] = data.draw(ODD)
    found = with_file(whole, "config.json", json.dumps(description).encode())
    assert found is None or found.model.config.vocabulary == len(found.tokenizer)


@given(name=st.sampled_from(["config.json", *HASHED, "card.md"]), content=st.binary(max_size=200))
@FUZZ
def test_any_bytes_for_any_file(whole: Path, name: str, content: bytes) -> None:
    found = with_file(whole, name, content)
    assert found is None or name in ("history.csv", "card.md")


@given(name=st.sampled_from(["model.safetensors", "tokenizer.json"]), data=st.data())
@FUZZ
def test_flipped_bytes_with_a_hash_that_fits(whole: Path, name: str, data: st.DataObject) -> None:
    content = bytearray((whole / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.one_of(st.integers(0, 400), st.integers(0, len(content) - 1)))
        content[place] ^= data.draw(st.integers(1, 255))
    found = with_file(whole, name, bytes(content))
    assert found is None or all(weight.isfinite().all() for weight in found.model.parameters())


def tensors(header: object, size: int | None = None, data: bytes = b"") -> bytes:
    """A safetensors file with any header, which says that it is as long as ``size``."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def tensor(shape: list[int], end: int, dtype: str = "F16") -> dict[str, Any]:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}}


def vocabulary(size: int) -> bytes:
    return json.dumps(
        {"model": {"type": "BPE", "vocab": {f"t{n}": n for n in range(size)}, "merges": []}}
    ).encode()


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a header of 2^60 bytes": ("model.safetensors", lambda: tensors({}, 2**60)),
    "a header that is not JSON": ("model.safetensors", lambda: tensors(b"[" * 100_000)),
    "a tensor of 2^60 bytes": ("model.safetensors", lambda: tensors(tensor([2**59], 2**60))),
    "sizes that overflow": ("model.safetensors", lambda: tensors(tensor([2**32, 2**32], 0))),
    "fifty thousand empty tensors": (
        "model.safetensors",
        lambda: tensors(
            {f"w{n}": {"dtype": "F16", "shape": [0], "data_offsets": [0, 0]} for n in range(50_000)}
        ),
    ),
    "overlapping tensors": (
        "model.safetensors",
        lambda: tensors({**tensor([2], 4), "v": tensor([2], 4)["w"]}, None, b"abcd"),
    ),
    "an unknown type": ("model.safetensors", lambda: tensors(tensor([1], 2, "F99"), None, b"ab")),
    "a pickle for weights": ("model.safetensors", lambda: pickle.dumps(Bomb())),
    "a pickle for a tokenizer": ("tokenizer.json", lambda: pickle.dumps(Bomb())),
    "a tokenizer of deep lists": ("tokenizer.json", lambda: b"[" * 1_000_000),
    "a tokenizer of a million pieces": ("tokenizer.json", lambda: vocabulary(600_000)),
    "a tokenizer of another kind": ("tokenizer.json", lambda: b'{"model": {"type": "Unigram", "vocab": []}}'),
    "a description of deep lists": ("config.json", lambda: b"[" * 500_000),
    "a description of digits": ("config.json", lambda: b'{"format": ' + b"9" * 100_000 + b"}"),
    "a description over the limit": ("config.json", lambda: b" " * (2**20 + 1)),
}


@pytest.mark.parametrize("what", BOMBS)
def test_bombs(whole: Path, what: str) -> None:
    name, make = BOMBS[what]
    data = make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert with_file(whole, name, data) is None
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 700 * 2**20
    assert not CANARY.exists()


def test_pickles_beside_a_whole_bundle_are_not_opened(whole: Path) -> None:
    for name in ("pytorch_model.bin", "model.pt", "tokenizer.pkl", "training_args.bin"):
        (whole / name).write_bytes(pickle.dumps(Bomb()))
    try:
        assert opened(whole) is not None
        assert not CANARY.exists()
    finally:
        for name in ("pytorch_model.bin", "model.pt", "tokenizer.pkl", "training_args.bin"):
            (whole / name).unlink()


def test_what_is_no_file_is_not_waited_for(whole: Path) -> None:
    """Reading a named pipe would wait for ever; a link to a device would never end."""
    for name in ("card.md", "history.csv", "tokenizer.json", "config.json"):
        kept = (whole / name).read_bytes()
        for make in (os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")):
            (whole / name).unlink()
            make(whole / name)
            try:
                assert opened(whole) is None or name == "card.md"
            finally:
                (whole / name).rmdir() if (whole / name).is_dir() else (whole / name).unlink()
                (whole / name).write_bytes(kept)


def test_a_folder_of_odd_folders(whole: Path, tmp_path: Path) -> None:
    for name in ("<b>x", "a\nb", "é🦊", " ", "-rf", "$(x)", "a" * 200):
        shutil.copytree(whole, tmp_path / name)
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    found = find_bundles({"ATLAS_CHECKPOINTS": str(tmp_path)})
    assert len(found) == 7
    assert all(load_bundle(path).name == "tiny" for path in found.values())
