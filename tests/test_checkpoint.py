"""The bundle: saved whole or not at all, checked file by file, and never a pickle."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from atlas import limits
from atlas.bundles import find_bundles
from atlas.checkpoint import Bundle, BundleError, load_bundle, read_description, save_bundle, snapshots
from atlas.model import Transformer
from atlas.text.tokenizer import Tokenizer
from tests.conftest import ENGLISH, tiny_model


@pytest.fixture
def bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    path = tmp_path / "tiny"
    shutil.copytree(tiny_bundle, path)
    return path


def rewrite(path: Path, **changes: Any) -> None:
    """Change fields of ``config.json``; ``None`` removes one."""
    description = json.loads((path / "config.json").read_text())
    for key, value in changes.items():
        if value is None:
            del description[key]
        else:
            description[key] = value
    (path / "config.json").write_text(json.dumps(description))


def rehash(path: Path) -> None:
    """Make the hashes fit the files, as someone would who changes a file on purpose."""
    description = json.loads((path / "config.json").read_text())
    hashes = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in description["hashes"]}
    rewrite(path, hashes=hashes)


def refused(path: Path, **arguments: Any) -> str:
    """The one line with which a bundle is refused."""
    with pytest.raises(BundleError) as caught:
        load_bundle(path, **arguments)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 1000
    return message


def logits(model: Transformer) -> torch.Tensor:
    source = torch.tensor([[5, 9, 12, 2]])
    with torch.inference_mode():
        return model(source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[1, 7, 8]]))


def damage(file: Path, *places: int) -> None:
    content = bytearray(file.read_bytes())
    for place in places:
        content[place] ^= 0xFF
    file.write_bytes(content)


def test_what_is_saved_comes_back(tokenizer: Tokenizer, tmp_path: Path):
    model = tiny_model(tokenizer, norm="post", activation="gelu", positions="learned", tied=False)
    with torch.no_grad():  # half precision on disk moves nothing if the weights are half already
        for parameter in model.parameters():
            parameter.copy_(parameter.half())
    training = {"steps": 12, "corpus": {"name": "é"}}
    saved = Bundle("näme", "en", "fr", model, tokenizer, "", "step,loss\n1,2.0\n", "# card é\n", training)
    save_bundle(saved, tmp_path / "deep" / "one")
    found = load_bundle(tmp_path / "deep" / "one")
    assert (found.name, found.source_language, found.target_language) == ("näme", "en", "fr")
    assert (found.history, found.card, found.training) == (saved.history, saved.card, training)
    assert found.model.config == model.config and not found.model.training
    assert found.tokenizer.to_json() == tokenizer.to_json()
    assert found.folder == tmp_path / "deep" / "one" and len(found.hash) == 64
    assert torch.equal(logits(found.model), logits(model))
    save_bundle(saved, tmp_path / "two")
    assert load_bundle(tmp_path / "two").hash == found.hash, "equal models have equal names"
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_file()) == sorted(
        2 * ["card.md", "config.json", "history.csv", "model.safetensors", "tokenizer.json"]
    )


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_half_precision_moves_little(tokenizer: Tokenizer, tmp_path: Path, norm, tied, positions):
    model = tiny_model(tokenizer, norm=norm, tied=tied, positions=positions)
    save_bundle(Bundle("m", "en", "fr", model, tokenizer), tmp_path / "m")
    found = load_bundle(tmp_path / "m")
    moved = logits(found.model).log_softmax(-1) - logits(model).log_softmax(-1)
    assert 0 < moved.abs().max() < 0.02
    assert all(parameter.dtype == torch.float32 for parameter in found.model.parameters())


@pytest.mark.case("M4")
def test_tied_embeddings_are_one_tensor_on_disk_and_after_loading(tiny_bundle: Path, tokenizer: Tokenizer):
    found = load_bundle(tiny_bundle).model
    assert found.unembedding is found.source_embedding.weight is found.target_embedding.weight
    shape = (len(tokenizer), found.config.width)
    stored = load_file(tiny_bundle / "model.safetensors")
    assert [name for name, tensor in stored.items() if tensor.shape == shape] == ["unembedding"]
    with torch.no_grad():
        found.unembedding[3] += 1
    assert torch.equal(found.target_embedding(torch.tensor(3)), found.unembedding[3])
    moved = found.to(torch.float64)
    assert moved.unembedding is moved.source_embedding.weight, "moving keeps them together"


class Bomb:
    """What unpickles to a call that leaves a file behind."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (str(self.target), "w")


@pytest.mark.case("M5")
def test_a_crafted_pickle_is_never_run(bundle: Path, tmp_path: Path):
    struck = tmp_path / "struck"
    payload = pickle.dumps(Bomb(struck))
    pickle.loads(payload).close()
    assert struck.exists(), "the payload works"
    struck.unlink()

    for name in ("model.pt", "pytorch_model.bin", "weights.pkl", "optimizer.pth", "vocab.pickle"):
        (bundle / name).write_bytes(payload)
    torch.save(Bomb(struck), bundle / "checkpoint.pt")
    assert load_bundle(bundle).name == "tiny", "foreign files beside a whole bundle do nothing"

    originals = {name: (bundle / name).read_bytes() for name in ("model.safetensors", "tokenizer.json")}
    for name, original in originals.items():
        for content in (payload, (bundle / "checkpoint.pt").read_bytes()):
            (bundle / name).write_bytes(content)
            rehash(bundle)
            assert str(bundle / name) in refused(bundle)
        (bundle / name).write_bytes(original)
    rehash(bundle)
    (bundle / "config.json").write_bytes(payload)
    assert str(bundle / "config.json") in refused(bundle)
    assert not struck.exists()


@pytest.mark.case("M6")
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "history.csv"])
def test_a_changed_missing_or_cut_file_is_named(bundle: Path, name: str):
    file = bundle / name
    damage(file, len(file.read_bytes()) // 2)
    assert refused(bundle) == f"{file}: damaged or changed, its SHA-256 is not the one in config.json"
    file.write_bytes(file.read_bytes()[:-1])
    assert refused(bundle).startswith(f"{file}: damaged or changed")
    file.unlink()
    assert refused(bundle) == f"{file}: the file is missing"


@pytest.mark.case("M6")
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_damaged_weights_with_right_hashes_are_refused_in_one_line(tiny_bundle, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "tiny"
    shutil.copytree(tiny_bundle, path)
    file = path / "model.safetensors"
    content = file.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    if data.draw(st.booleans()):
        file.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    else:
        damage(file, *data.draw(st.lists(st.integers(0, header - 1), min_size=1, max_size=4, unique=True)))
    rehash(path)
    assert str(path) in refused(path)


def tampered(path: Path, **tensors: torch.Tensor | None) -> Path:
    """The weights with some tensors changed or, with ``None``, left out; the hashes fit."""
    file = path / "model.safetensors"
    weights = load_file(file)
    for name, tensor in tensors.items():
        name = name.replace("__", ".")
        if tensor is None:
            del weights[name]
        else:
            weights[name] = tensor
    save_file(weights, file)
    rehash(path)
    return file


@pytest.mark.case("M6")
def test_missing_unknown_misshapen_and_infinite_tensors_are_named(bundle: Path):
    norm = "encoder__0__self_norm__weight"
    name = "'encoder.0.self_norm.weight'"
    original = load_file(bundle / "model.safetensors")["encoder.0.self_norm.weight"]
    file = tampered(bundle, **{norm: None})
    assert refused(bundle) == f"{file}: the tensor {name} is missing"
    tampered(bundle, **{norm: torch.ones(3)})
    assert refused(bundle) == f"{file}: {name} has shape (3,), the configuration says (128,)"
    for value in (float("nan"), float("inf")):
        tampered(bundle, **{norm: torch.full((128,), value)})
        assert refused(bundle) == f"{file}: {name} holds values that are not finite"
    tampered(bundle, **{norm: original, "stranger": torch.ones(1)})
    assert refused(bundle) == f"{file}: unknown tensor 'stranger'"
    tampered(bundle, stranger=None)
    assert load_bundle(bundle).name == "tiny"


@pytest.mark.case("M6")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "format 2 is not known; this version reads format 1"),
        ({"format": "1"}, "format '1' is not known; this version reads format 1"),
        ({"format": True}, "format True is not known; this version reads format 1"),
        ({"format": 1.0}, "the field 'format' is missing or not of type int"),
        ({"format": None}, "format None is not known; this version reads format 1"),
        ({"name": None}, "the field 'name' is missing or not of type str"),
        ({"name": 7}, "the field 'name' is missing or not of type str"),
        ({"target_language": []}, "the field 'target_language' is missing or not of type str"),
        ({"model": "small"}, "the field 'model' is missing or not of type dict"),
        ({"training": None}, "the field 'training' is missing or not of type dict"),
        ({"optimiser": {}}, "unknown field 'optimiser'"),
        ({"hashes": {}}, "the field 'hashes' does not name model.safetensors"),
    ],
)
def test_a_wrong_description_names_file_and_field(bundle: Path, changes, message):
    rewrite(bundle, **changes)
    assert refused(bundle) == f"{bundle / 'config.json'}: {message}"
    with pytest.raises(BundleError, match="config.json"):
        read_description(bundle)


@pytest.mark.case("M6")
def test_a_wrong_model_description_names_file_and_field(bundle: Path):
    config = json.loads((bundle / "config.json").read_text())["model"]
    file = bundle / "config.json"
    rewrite(bundle, model=config | {"dim": 3})
    assert refused(bundle).startswith(f"{file}: unknown model option 'dim'; known are ")
    rewrite(bundle, model=config | {"norm": "mid"})
    assert refused(bundle) == f"{file}: norm must be one of post, pre, not 'mid'"
    rewrite(bundle, model={key: value for key, value in config.items() if key != "vocabulary"})
    assert refused(bundle) == f"{file}: the model option 'vocabulary' is missing"
    rewrite(bundle, model=config | {"vocabulary": 401})
    said = "400 pieces, but the field 'vocabulary' of config.json says 401"
    assert refused(bundle) == f"{bundle / 'tokenizer.json'}: {said}"
    rewrite(bundle, model=config | {"ffn": 128})
    said = "'decoder.0.feed_forward.inner.bias' has shape (256,), the configuration says (128,)"
    assert refused(bundle) == f"{bundle / 'model.safetensors'}: {said}"


@pytest.mark.case("M6")
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe{}", b"[" * 100_000, b'{"format": ' + b"1" * 5000 + b"}"],
    ids=["empty", "cut", "list", "null", "not UTF-8", "nested", "a number without end"],
)
def test_a_description_that_is_not_json_is_one_line(bundle: Path, content: bytes):
    (bundle / "config.json").write_bytes(content)
    assert refused(bundle).startswith(f"{bundle / 'config.json'}: ")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret"])
def test_a_path_outside_the_bundle_is_refused_unread(bundle: Path, name: str):
    hashes = json.loads((bundle / "config.json").read_text())["hashes"]
    rewrite(bundle, hashes=hashes | {name: "0" * 64})
    assert refused(bundle) == (
        f"{bundle / 'config.json'}: the field 'hashes' names {name!r}, outside the bundle"
    )


def test_foreign_folders_are_one_line(tmp_path: Path, bundle: Path):
    assert refused(tmp_path / "nowhere").startswith(f"{tmp_path / 'nowhere'}: there is no such folder")
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty") == f"{tmp_path / 'empty'}: not a bundle, it has no config.json"
    (bundle / "card.md").write_bytes(b"caf\xe9")
    assert refused(bundle).startswith(f"{bundle / 'card.md'}: cannot be read as UTF-8 text: ")
    (bundle / "card.md").unlink()
    assert load_bundle(bundle).card == "", "a card is not needed"


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("fails", ["save_file", "json.dumps", "whole_folder"])
def test_a_failure_while_saving_leaves_the_old_bundle(bundle: Path, tokenizer, monkeypatch, fails: str):
    before = contents(bundle)

    def broken(*arguments: Any, **options: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(
        "atlas.whole._put" if fails == "whole_folder" else f"atlas.checkpoint.{fails}", broken
    )
    with pytest.raises(OSError, match="the disk is full"):
        save_bundle(Bundle("new", "en", "fr", tiny_model(tokenizer, seed=5), tokenizer), bundle)
    monkeypatch.undo()
    assert contents(bundle) == before
    assert [path.name for path in bundle.parent.iterdir()] == ["tiny"], "nothing half-written is left"
    assert load_bundle(bundle).name == "tiny"


def test_saving_over_a_bundle_replaces_it_whole(bundle: Path, tokenizer: Tokenizer):
    (bundle / "left-over.txt").write_text("old")
    save_bundle(Bundle("new", "en", "fr", tiny_model(tokenizer, seed=5), tokenizer), bundle)
    assert load_bundle(bundle).name == "new" and not (bundle / "left-over.txt").exists()
    assert [path.name for path in bundle.parent.iterdir()] == ["tiny"]


@pytest.mark.parametrize("value", [float("nan"), 70_000.0])
def test_weights_that_could_not_be_loaded_again_are_not_saved(bundle: Path, tokenizer, value: float):
    """A diverged training must not take the place of a good bundle; 70,000 overflows float16."""
    before = contents(bundle)
    model = tiny_model(tokenizer)
    with torch.no_grad():
        model.encoder[0].self_norm.bias[3] = value
    with pytest.raises(BundleError, match="not saved, 'encoder.0.self_norm.bias' holds values that are not"):
        save_bundle(Bundle("bad", "en", "fr", model, tokenizer), bundle)
    assert contents(bundle) == before


def test_snapshots_share_a_bundle(tokenizer: Tokenizer, tmp_path: Path, tiny_bundle: Path):
    early = tiny_model(tokenizer, seed=7)
    save_bundle(Bundle("early", "en", "fr", early, tokenizer), tmp_path / "early")
    late = Bundle("late", "en", "fr", tiny_model(tokenizer), tokenizer)
    weights = tmp_path / "early" / "model.safetensors"
    save_bundle(late, tmp_path / "late", {"step-00020.safetensors": weights})
    assert snapshots(tmp_path / "late") == {20: tmp_path / "late" / "snapshots" / "step-00020.safetensors"}
    assert snapshots(tiny_bundle) == {}
    last, first = load_bundle(tmp_path / "late"), load_bundle(tmp_path / "late", step=20)
    assert first.hash != last.hash == load_bundle(tiny_bundle).hash
    assert torch.equal(logits(first.model), logits(load_bundle(tmp_path / "early").model))
    assert refused(tmp_path / "late", step=3) == f"{tmp_path / 'late'}: no snapshot of step 3; there are 20"
    shutil.copy(weights, tmp_path / "late" / "snapshots" / "step-3.safetensors")
    (tmp_path / "late" / "snapshots" / "step-last.safetensors").write_bytes(b"")
    assert refused(tmp_path / "late", step=3).endswith("'hashes' does not name snapshots/step-3.safetensors")
    damage(tmp_path / "late" / "snapshots" / "step-00020.safetensors", -1)
    assert refused(tmp_path / "late").endswith("its SHA-256 is not the one in config.json")


def test_a_half_written_bundle_is_not_offered(bundle: Path):
    shutil.copytree(bundle, bundle.parent / ".tiny-x7")
    assert list(find_bundles({"ATLAS_CHECKPOINTS": str(bundle.parent)})) == ["tiny"]


def test_a_typed_control_token_is_text_after_loading(tiny_bundle: Path, tokenizer: Tokenizer):
    found = load_bundle(tiny_bundle).tokenizer
    for text in (*ENGLISH, "</s> <s> <pad>"):
        assert found.encode(text) == tokenizer.encode(text)
        assert min(found.encode(text)) > 2


def test_the_same_weights_with_other_options_are_another_model(tiny_bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_bundle, tmp_path / "tiny")
    before = load_bundle(tmp_path / "tiny").hash
    description = json.loads((tmp_path / "tiny" / "config.json").read_text())
    description["model"]["heads"] //= 2
    (tmp_path / "tiny" / "config.json").write_text(json.dumps(description))
    assert load_bundle(tmp_path / "tiny").hash != before == load_bundle(tiny_bundle).hash


def test_a_link_that_leads_out_of_the_bundle_is_refused(bundle: Path, tmp_path: Path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for name in ("card.md", "history.csv", "tokenizer.json", "model.safetensors", "config.json"):
        kept = (bundle / name).read_bytes()
        (bundle / name).unlink()
        (bundle / name).symlink_to(secret)
        assert "leads out of the bundle" in refused(bundle)
        (bundle / name).unlink()
        (bundle / name).write_bytes(kept)
    (bundle / "card.md").rename(bundle / "real.md")
    (bundle / "card.md").symlink_to("real.md")
    (tmp_path / "linked").symlink_to(bundle)
    assert load_bundle(tmp_path / "linked").card, "a link within the bundle, or to it, is fine"
    (bundle / "card.md").unlink()
    (bundle / "card.md").symlink_to("card.md")
    assert "card" not in load_bundle(bundle).card


def test_files_over_a_limit_are_not_read(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    for setting, name in (
        ("config=10", "config.json"),
        ("texts=10", "tokenizer"),
        ("weights=10", "model.saf"),
    ):
        monkeypatch.setenv(limits.ENVIRONMENT, setting)
        message = refused(bundle)
        assert "the limit is 10 bytes" in message and name in message


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("encoder_layers", 10**9, "the limit is 256 layers"),
        ("decoder_layers", 256, "bytes are too few for the over"),
        ("width", 2**14, "bytes are too few for the over"),
        ("ffn", 10**12, "bytes are too few for the over"),
        ("max_length", 10**12, "the limit is 67,108,864 numbers"),
    ],
)
def test_a_giant_model_is_refused_before_it_is_allocated(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, option: str, value: int, expected: str
):
    from atlas import checkpoint

    monkeypatch.setattr(checkpoint, "build_model", lambda config: pytest.fail("it was built"))
    model = json.loads((bundle / "config.json").read_text())["model"]
    rewrite(bundle, model={**model, option: value})
    assert expected in refused(bundle)


def test_weights_of_another_type_are_refused(bundle: Path):
    tensors = load_file(bundle / "model.safetensors")
    name = next(iter(tensors))
    for kind in (torch.int32, torch.float8_e4m3fn, torch.bool):
        save_file({**tensors, name: tensors[name].to(kind)}, bundle / "model.safetensors")
        rehash(bundle)
        assert "which is not read" in refused(bundle)
