"""Measurements kept in a bundle: back as they were, refused when damaged or of other weights."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from atlas import measurements
from atlas.checkpoint import load_bundle, snapshots
from atlas.measurements import Measurement, MeasurementError, load_measurement, save_measurement

SAMPLE = Measurement(
    "units",
    "abc",
    "atlas measure units here",
    {"sentences": 3, "é": [1.5]},
    {"top": np.arange(6).reshape(2, 3)},
)


def test_back_as_it_was(tmp_path: Path) -> None:
    file = save_measurement(tmp_path, SAMPLE)
    assert [path.name for path in file.parent.iterdir()] == ["units.npz"]
    found = load_measurement(tmp_path, "units", "abc")
    assert found is not None
    assert (found.command, found.facts) == (SAMPLE.command, SAMPLE.facts)
    np.testing.assert_array_equal(found.arrays["top"], SAMPLE.arrays["top"])


def test_none_where_there_is_none(tmp_path: Path) -> None:
    assert load_measurement(tmp_path, "units") is None
    assert load_measurement(None, "units") is None


def test_other_weights_are_refused_with_the_way_out(tmp_path: Path) -> None:
    save_measurement(tmp_path, SAMPLE)
    with pytest.raises(MeasurementError, match="other weights.*atlas measure units here"):
        load_measurement(tmp_path, "units", "abd")
    assert load_measurement(tmp_path, "units") is not None


@pytest.mark.parametrize("damage", ["cut", "text", "no header", "format", "name", "list"])
def test_a_damaged_file_gets_one_line_that_names_it(tmp_path: Path, damage: str) -> None:
    file = save_measurement(tmp_path, SAMPLE)
    header = {"format": 1, "name": "units", "model_hash": "abc", "command": "c", "facts": {}}
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-40])
    elif damage == "text":
        file.write_text("units", encoding="utf-8")
    elif damage == "no header":
        np.savez(file, top=np.zeros(2))
    else:
        changed = {"format": {**header, "format": 2}, "name": {**header, "name": "x"}, "list": [1]}[damage]
        np.savez(file, header=np.frombuffer(json.dumps(changed).encode(), np.uint8))
    with pytest.raises(MeasurementError, match=r"units\.npz") as caught:
        load_measurement(tmp_path, "units", "abc")
    assert "\n" not in str(caught.value)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = save_measurement(tmp_path, SAMPLE)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", bytes(10**6))
    monkeypatch.setattr(measurements, "LARGEST", 10**5)
    with pytest.raises(MeasurementError, match="at most 100,000"):
        load_measurement(tmp_path, "units")


def test_objects_are_not_stored(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="'x' cannot be stored"):
        save_measurement(tmp_path, Measurement("units", "abc", "c", {}, {"x": np.array([{}])}))
    assert load_measurement(tmp_path, "units") is None


def test_what_bundles_of_this_repository_carry_belongs_to_them() -> None:
    folder = Path(__file__).resolve().parents[1] / "checkpoints"
    files = sorted(folder.glob(f"*/{measurements.FOLDER}/*.npz"))
    assert {file.stem for file in files} >= {"calibration", "leak", "lengths", "pronouns", "units"}
    for file in files:
        bundle = file.parents[1]
        weights = [None, *snapshots(bundle)]
        found = load_measurement(bundle, file.stem)
        assert found is not None
        assert found.model_hash in {load_bundle(bundle, step=step).hash for step in weights}, file
        assert found.command.startswith(("atlas measure ", "atlas heads "))
