"""The ``atlas`` command, as a person and as a program uses it."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import inspect
import io
import json
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.cli import app
from atlas.commands import evaluate as evaluate_command
from atlas.commands import options
from atlas.commands import trace as trace_command
from atlas.commands import translate as translate_command
from atlas.decoding import SearchOptions
from atlas.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ("app", "translate", "trace", "train", "evaluate", "data", "info", "heads", "bench")


def atlas(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def succeed(*arguments: object, stdin: str | bytes | None = None) -> str:
    result = atlas(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments: object, stdin: str | bytes | None = None) -> dict[str, Any]:
    return json.loads(succeed(*arguments, "--json", stdin=stdin))


def refused(*arguments: object, stdin: str | bytes | None = None) -> str:
    """The one line that wrong input gets."""
    result = atlas(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("atlas: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def short(tiny_bundle: Path) -> list[str]:
    """Options for a quick translation by random weights."""
    return ["--checkpoint", str(tiny_bundle), "--max-length", "6", "--beam", "2"]


# Help and wrong input


def test_help_names_every_command():
    text = succeed("--help")
    assert all(f" {command} " in text for command in COMMANDS)
    assert succeed() == text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command):
    text = succeed(command, "--help")
    assert "Usage:" in text
    assert succeed(command, "-h") == text


def test_help_imports_nothing_heavy():
    heavy = ("torch", "streamlit", "plotly", "tokenizers", "pandas", "numpy", "sacrebleu")
    code = f"import sys, atlas.cli; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["translate", "--bem", "3"], "No such option: --bem"),
        (["translate", "--beam", "0", "x"], "greater than or equal to 1"),
        (["translate", "--beam", "two", "x"], "--beam"),
        (["translate", "x", "--file", "y"], "not both"),
        (["translate", "--file", "/no/such/file"], "/no/such/file: No such file"),
        (["translate", "x", "--out", "x.pdf"], "a table's name ends in .csv"),
        (["translate", "x", "--checkpoint", "/no/such/bundle"], "no such folder"),
        (["trace", "x"], "Missing option '--out'"),
        (["trace", "x", "-o", "/no/such/folder/t.npz"], "the folder /no/such/folder does not exist"),
        (["trace", "x", "-o", "t.npz", "--target", "y", "--prefix", "z"], "not both"),
        (["train", "nothing.toml"], "nothing.toml: no such file"),
        (["evaluate", "nothing", "--test", "tatoeba"], "no such folder"),
        (["evaluate", "x", "--test", "wmt"], "--test"),
        (["data", "wmt"], "wmt: no such corpus or file"),
        (["data", "tatoeba", "--from", "/no/such/folder"], "fra-eng.zip is not in /no/such/folder"),
        (["data", "tatoeba", "--from", "a", "--out", "b"], "not both"),
        (["info", "/no/such/bundle"], "no such folder"),
        (["app", "--port", "99999"], "--port"),
        (["app", "--checkpoint", "/no/such/folder"], "there is no such folder"),
    ],
)
def test_wrong_input_gets_one_line_and_exit_code_2(arguments, words):
    assert words in refused(*arguments)


def test_a_damaged_bundle_is_one_line_naming_the_file(tiny_bundle, tmp_path):
    for file in tiny_bundle.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    for command in (["info", tmp_path], ["translate", "x", "--checkpoint", tmp_path]):
        assert "model.safetensors: damaged" in refused(*command)


@pytest.mark.parametrize("command", [translate_command.run, trace_command.run, evaluate_command.run])
def test_defaults_are_those_of_the_library(command):
    fields = {field.name for field in dataclasses.fields(SearchOptions)}
    parameters = inspect.signature(command).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items() if name in fields}
    assert len(defaults) >= 6
    assert options.search_options(**defaults) == SearchOptions()


# translate


def test_one_line_out_for_each_line_in(short):
    text = succeed("translate", "It rains.\n\nI love you.", *short)
    lines = text.split("\n")
    assert len(lines) == 4
    assert lines[1] == lines[3] == ""
    assert lines[0]
    assert lines[0] == succeed("translate", "It rains.", *short).rstrip("\n")


def test_file_standard_input_and_argument_say_the_same(short, tmp_path):
    file = tmp_path / "sentences.txt"
    file.write_bytes("\ufeffIt rains.\r\nI love you.\r\n".encode())
    expected = succeed("translate", "It rains.\nI love you.", *short)
    assert succeed("translate", "--file", file, *short) == expected
    assert succeed("translate", file, *short) == expected
    assert succeed("translate", *short, stdin="It rains.\nI love you.\n") == expected
    assert succeed("translate", "--file", "-", *short, stdin="It rains.\nI love you.\n") == expected


def test_another_encoding_is_detected_and_said(short):
    result = atlas("translate", "--json", *short, stdin="Two cafés.\n".encode("cp1252"))
    assert json.loads(result.stdout)["translations"][0]["source"] == "Two cafés."
    assert "Windows-1252" in result.stderr


def test_damaged_lines_are_marked_and_the_rest_translated(short):
    data = "Café one.\nCafé two.\nbroken ".encode() + b"\xff\xfe\n"
    result = as_json("translate", *short, stdin=data)
    assert [bool(item["text"]) for item in result["translations"]] == [True, True, False]
    assert "undecodable bytes" in result["translations"][2]["note"]


def test_json_holds_every_hypothesis(short):
    result = as_json("translate", "It rains.", "--nbest", 2, *short)
    assert result["model"] == "tiny"
    assert result["settings"]["n_best"] == 2
    (translation,) = result["translations"]
    first, second = translation["hypotheses"]
    assert first["text"] == translation["text"]
    assert first["score"] >= second["score"]
    assert sum(first["logprobs"]) == pytest.approx(first["logprob"])
    assert len(first["ids"]) == len(first["logprobs"])


def test_nothing_to_translate_is_an_empty_result(short):
    result = as_json("translate", "   ", *short)
    (translation,) = result["translations"]
    assert (translation["text"], translation["score"], translation["hypotheses"]) == ("", None, [])
    assert "empty" in translation["note"]


def test_n_best_is_a_ranked_list(short):
    lines = succeed("translate", "It rains.", "--nbest", 2, *short).splitlines()
    assert lines[0] == "It rains."
    assert [line.split()[0] for line in lines[1:]] == ["1", "2"]


def test_sampling_is_seeded(short):
    def sample(seed: int) -> str:
        return succeed("translate", "It rains.", "--sample", "--seed", seed, *short)

    assert sample(1) == sample(1)
    assert len({sample(seed) for seed in range(4)}) > 1


def test_a_prefix_is_kept(short):
    assert succeed("translate", "It rains.", "--prefix", "Il", *short).startswith("Il")


def test_tables_in_and_out(short, tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("id,English\n1,It rains.\n2,I love you.\n", encoding="utf-8")
    out = tmp_path / "out.csv"
    assert succeed("translate", table, "--out", out, *short) == ""
    rows = list(csv.DictReader(io.StringIO(out.read_text("utf-8-sig"))))
    assert [row["original"] for row in rows] == ["It rains.", "I love you."]
    assert all(row["translation"].strip() for row in rows)
    assert "no column 'French'" in refused("translate", table, "--column", "French", *short)
    by_name = as_json("translate", table, "--column", "id", *short)
    assert [item["source"] for item in by_name["translations"]] == ["1", "2"]


def test_as_a_process_standard_output_is_one_json_object(tiny_bundle):
    command = [sys.executable, "-m", "atlas.cli", "translate", "--json", "--checkpoint", str(tiny_bundle)]
    done = subprocess.run(
        [*command, "--max-length", "4"],
        cwd=ROOT,
        input="It rains.\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 1
    assert json.loads(done.stdout)["translations"][0]["source"] == "It rains."


# trace, info


def test_a_trace_file_opens_without_the_model(short, tmp_path):
    out = tmp_path / "t.npz"
    result = as_json("trace", "It rains.", "-o", out, "--record", "scores", "--record", "logits", *short)
    trace = Trace.load(out)
    assert result["bytes"] == out.stat().st_size
    assert (result["source"], result["translation"]) == (trace.source, trace.text(int(trace.hypotheses[0])))
    assert {"logits", "cross.scores"} <= set(result["extras"]) == set(trace.extras)
    assert result["nodes"] == len(trace.search.parent)


def test_a_trace_follows_a_translation_of_ones_own(tiny_bundle, tmp_path):
    out = tmp_path / "t.npz"
    assert "Il pleut." in succeed(
        "trace", "It rains.", "-o", out, "--target", "Il pleut.", "--checkpoint", tiny_bundle
    )
    assert Trace.load(out).text(int(Trace.load(out).hypotheses[0])) == "Il pleut."


def test_nothing_to_trace_is_refused_and_no_file_is_left(short, tmp_path):
    assert "empty" in refused("trace", "  ", "-o", tmp_path / "t.npz", *short)
    assert "cannot record" in refused("trace", "x", "-o", tmp_path / "t.npz", "--record", "dreams", *short)
    assert list(tmp_path.iterdir()) == []


def test_info_says_what_a_bundle_is(tiny_bundle):
    result = as_json("info", tiny_bundle)
    bundle = load_bundle(tiny_bundle)
    assert result["parameters"] == sum(parameter.numel() for parameter in bundle.model.parameters())
    assert result["model"] == bundle.model.config.to_dict()
    assert result["hash"] == bundle.hash
    assert set(result["files"]) == {
        "card.md",
        "config.json",
        "history.csv",
        "model.safetensors",
        "tokenizer.json",
    }
    text = succeed("info", tiny_bundle)
    assert "tiny: en to fr" in text
    assert "# tiny" in text


def test_bundles_go_by_name(tiny_bundle, monkeypatch):
    monkeypatch.setenv("ATLAS_CHECKPOINTS", str(tiny_bundle.parent))
    assert as_json("info", "tiny")["name"] == as_json("info")["name"] == "tiny"


# data, evaluate


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Small files in the shape of the public corpora."""
    rows = [f"Number {i} rains.\tLe nombre {i} pleut." for i in range(400)] + [
        "Number 1 rains.\tIl pleut un."
    ]
    (tmp_path / "tatoeba").mkdir()
    with zipfile.ZipFile(tmp_path / "tatoeba" / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "\n".join(rows) + "\n")
    folder = tmp_path / "multi30k"
    folder.mkdir()
    texts = {
        "en": "A dog.\nTwo cats.\n", "fr": "Un chien.\nDeux chats.\n", "de": "Ein Hund.\nZwei Katzen.\n",
        "lc.norm.tok.fr": "un chien .\ndeux chats .\n",
    }  # fmt: skip
    for stem in ("train", "val", "test_2016_flickr"):
        for ending, text in texts.items():
            (folder / f"{stem}.{ending}.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_data_counts_and_checks(corpora):
    result = as_json("data", "tatoeba", "--from", corpora)
    (counts,) = result["corpora"]
    assert counts["train"] + counts["development"] + counts["test"] == counts["lines"] == 401
    assert [(file["known"], file["fetched"]) for file in result["files"]] == [(False, False)]
    assert "401 lines, 401 pairs" in succeed("data", "tatoeba", "--from", corpora)
    names = [item["name"] for item in as_json("data", "multi30k", "--from", corpora)["corpora"]]
    assert names == ["multi30k-en-fr", "multi30k-en-de"]


def test_data_reads_a_file_of_ones_own_and_says_what_was_skipped(tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text("One.\tUn.\n\nno tab\nTwo.\tDeux.\n", encoding="utf-8")
    (counts,) = as_json("data", file)["corpora"]
    assert (counts["lines"], counts["skipped_empty"], counts["skipped_broken"]) == (4, 1, 1)


def test_evaluate_tatoeba(tiny_bundle, corpora):
    result = as_json(
        "evaluate", tiny_bundle, "--test", "tatoeba", "--from", corpora, "--max-length", 4, "--beam", 2
    )
    assert {"bleu", "chrf", "signature", "sentences", "seconds"} <= set(result)
    assert "bleu_lc_tok" not in result
    assert result["sentences"] == as_json("data", "tatoeba", "--from", corpora)["corpora"][0]["test"]
    assert "BLEU nrefs:" in result["signature"]
    assert "chrF nrefs:" in result["signature"]


def test_evaluate_multi30k_has_both_metrics_and_writes_the_translations(tiny_bundle, corpora, tmp_path):
    out = tmp_path / "hypotheses.txt"
    quick = ["--max-length", 4, "--beam", 1]
    result = as_json("evaluate", tiny_bundle, "--test", "multi30k-2016", "--from", corpora, "-o", out, *quick)
    assert result["sentences"] == 2
    assert 0 <= result["bleu_lc_tok"] <= 100
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2
    text = succeed(
        "evaluate", tiny_bundle, "--test", "multi30k-2016", "--from", corpora, "--limit", 1, *quick
    )
    assert "1 sentences" in text
    assert "lowercased tokenised BLEU" in text


def test_scores_go_into_the_card_once(tiny_bundle, corpora, tmp_path):
    bundle = tmp_path / "scored"
    save_bundle(load_bundle(tiny_bundle), bundle)
    evaluate = [
        "evaluate",
        bundle,
        "--test",
        "multi30k-2016",
        "--from",
        corpora,
        "--max-length",
        4,
        "--beam",
        1,
    ]
    for _ in range(2):
        result = as_json(*evaluate, "--card")
    card = load_bundle(bundle).card
    assert card.startswith("# tiny")
    assert card.count(result["signature"]) == 1
    assert "atlas evaluate tiny --test multi30k-2016 --beam 1 --max-length 4" in card
    assert "leave out --limit or --card" in refused(*evaluate, "--card", "--limit", 1)


def test_a_model_of_other_languages_is_not_scored(tiny_bundle, corpora, tmp_path):
    bundle = load_bundle(tiny_bundle)
    other = Bundle("other", "en", "de", bundle.model, bundle.tokenizer)
    save_bundle(other, tmp_path / "other")
    said = refused("evaluate", tmp_path / "other", "--test", "tatoeba", "--from", corpora)
    assert "other translates en to de; tatoeba is from en to fr" in said


# train, app


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch, tiny_bundle: Path) -> list[dict[str, Any]]:
    """What ``atlas train`` asks of the library, which here trains nothing."""
    from atlas.training import run

    calls: list[dict[str, Any]] = []

    def record(config: Any, **arguments: Any) -> Path:
        calls.append({"config": config, **arguments})
        return tiny_bundle

    monkeypatch.setattr(run, "train_from_config", record)
    return calls


def test_train_hands_on_what_it_was_told(trained, tmp_path):
    config = tmp_path / "mine.toml"
    config.write_text('name = "mine"\ncorpus = "pairs.tsv"\n', encoding="utf-8")
    given = ("--out", tmp_path / "b", "--from", tmp_path, "--max-minutes", 2, "--init", "old")
    succeed("train", config, *given)
    succeed("train", config, *given, "--restart")
    call, again = trained
    assert again == {**call, "restart": True} and call["restart"] is False
    assert call["config"].name == "mine"
    assert (call["out"], call["run"]) == (tmp_path / "b", Path("runs/mine"))
    assert (call["source"], call["init"], call["max_minutes"]) == (tmp_path, Path("old"), 2.0)


def test_train_knows_the_shipped_configurations_and_prints_json(trained, tiny_bundle):
    assert as_json("train", "en-fr")["bundle"] == str(tiny_bundle)
    assert trained[0]["config"].name == "en-fr"
    assert trained[0]["out"] == Path("checkpoints/en-fr")


def test_only_the_process_that_wrote_the_bundle_prints_it(monkeypatch):
    from atlas.training import run

    monkeypatch.setattr(run, "train_from_config", lambda config, **arguments: None)
    assert succeed("train", "en-fr", "--json") == ""


def test_a_wrong_configuration_is_one_line(tmp_path):
    config = tmp_path / "bad.toml"
    config.write_text('name = "x"\ncorpus = "y"\nlearning_rat = 1\n', encoding="utf-8")
    assert "unknown option 'learning_rat'" in refused("train", config)


def test_app_serves_the_application(monkeypatch, tiny_bundle):
    import streamlit.web.cli

    seen: list[list[str]] = []
    monkeypatch.setattr(streamlit.web.cli, "main", lambda arguments, **_: seen.append(arguments))
    monkeypatch.setenv("ATLAS_CHECKPOINTS", "elsewhere")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    succeed("app", "--checkpoint", tiny_bundle, "--port", port, "--headless")
    ((command, script, *flags),) = seen
    assert (command, Path(script).name) == ("run", "app.py")
    assert Path(script).is_file()
    assert {f"--server.port={port}", "--server.headless=true", "--browser.gatherUsageStats=false"} <= set(
        flags
    )
    assert os.environ["ATLAS_CHECKPOINTS"] == str(tiny_bundle.resolve())


def test_a_wrong_setting_of_the_server_is_one_line(monkeypatch):
    assert "cannot embed the app" in refused("app", "--headless", "--embed-in", "example.org")
    monkeypatch.setenv("ATLAS_EMBED_IN", "*")
    assert "'*' cannot embed the app" in refused("app", "--headless")
    monkeypatch.delenv("ATLAS_EMBED_IN")
    monkeypatch.setenv("ATLAS_LIMITS", "rows=many")
    assert "ATLAS_LIMITS: 'rows=many' is not NAME=NUMBER" in refused("app", "--headless")


def test_a_taken_port_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "choose another --port" in refused("app", "--port", taken.getsockname()[1], "--headless")
