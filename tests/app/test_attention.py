"""The Attention page on a fake engine, on a saved trace without a model, and on a real tiny bundle."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.trace import Trace, view
from atlas.ui.attention.choice import Choice, read_choice, write_choice
from atlas.ui.saved import SavedTrace
from tests.app.conftest import ROOT, OpenApp, html_of
from tests.traces import HTML_LIKE, REPEATED, make_trace
from tests.ui.fakes import FakeEngine

HEAD = ("attention.now.lines", "attention.now.heatmap")


def component(test: AppTest, key: str) -> dict[str, Any]:
    """What the component mounted under ``key`` was given."""
    found = [item.proto for item in test.get("bidi_component") if item.proto.id.endswith(f"-{key}")]
    assert len(found) == 1, (key, [item.proto.id for item in test.get("bidi_component")])
    return json.loads(found[0].json)


def figure(test: AppTest, key: str) -> dict[str, Any]:
    """The Plotly figure under ``key``."""
    found = [item.proto for item in test.get("plotly_chart") if item.proto.id.endswith(f"-{key}")]
    assert len(found) == 1, (key, [item.proto.id for item in test.get("plotly_chart")])
    return json.loads(found[0].spec)


def array(packed: dict[str, Any]) -> NDArray[Any]:
    """A typed array of a Plotly figure's JSON."""
    values = np.frombuffer(base64.b64decode(packed["bdata"]), np.dtype(packed["dtype"]))
    shape = packed.get("shape")
    return values.reshape([int(side) for side in shape.split(",")]) if shape else values


def heatmap_weights(test: AppTest, key: str = HEAD[1]) -> NDArray[Any]:
    return array(figure(test, key)["data"][0]["z"])


def open_saved(trace: Trace, **query: str) -> AppTest:
    """The page with a saved trace open, on a machine without any model."""
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    test.session_state["atlas.saved"] = SavedTrace(trace, "mine.npz")
    test.query_params.update(query)
    return test.switch_page("pages/attention.py").run()


def clean(test: AppTest) -> AppTest:
    """The page without an exception and without a notice."""
    assert not test.exception
    assert 'role="alert"' not in html_of(test)
    return test


def test_a_first_visit_shows_a_head(open_app: OpenApp) -> None:
    test = clean(open_app("attention"))
    assert test.title[0].value == "Attention"
    assert component(test, "attention.mosaic")["chosen"] == [0, 0]
    assert any("layer 1 · head 1" in item.value for item in test.subheader)
    np.testing.assert_allclose(heatmap_weights(test).sum(axis=1), 1, rtol=1e-5)
    assert test.query_params["kind"] == "encoder" and test.query_params["head"] == "1"


@pytest.mark.case("T1")
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_as_many_columns_as_tokens(no_bundles: None, kind: str) -> None:
    trace = make_trace(REPEATED, REPEATED)
    test = clean(open_saved(trace, kind=kind))
    labels = view(trace, kind).key_labels  # type: ignore[arg-type]
    assert len(set(labels)) < len(labels)
    assert figure(test, HEAD[1])["layout"]["xaxis"]["ticktext"] == [
        label.replace("<", "&lt;").replace(">", "&gt;") for label in labels
    ]
    assert component(test, HEAD[0])["keys"] == list(labels)
    assert component(test, "attention.mosaic")["shape"][3] == len(labels)


@pytest.mark.case("T2")
def test_numbers_and_dates_are_labels_as_typed(open_app: OpenApp) -> None:
    test = clean(open_app("attention", text="2019 2020 1E1 2026-01 5 or more", unit="words", special="0"))
    axis = figure(test, HEAD[1])["layout"]["xaxis"]
    assert axis["type"] == "linear"
    assert "".join(axis["ticktext"]).replace("·", "") == "201920201E12026-015ormore"
    assert axis["tickvals"] == list(range(len(axis["ticktext"])))


@pytest.mark.case("T3")
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_markup_is_text_everywhere(open_app: OpenApp, kind: str) -> None:
    words = "0.1.2"
    test = clean(open_app("attention", text=HTML_LIKE, target=HTML_LIKE, kind=kind, words=words))
    payload = component(test, HEAD[0])
    assert "<s>" in "".join(payload["queries"]), "the component gets the text itself and writes it as text"
    for key in (HEAD[1], "attention.keys", "attention.heads"):
        drawn = json.dumps(figure(test, key), ensure_ascii=False)
        for tag in ("<b>", "</b>", "<br>", "<extra></extra>"):
            drawn = drawn.replace(tag, "")
        assert "<" not in drawn, key
    for element in (*test.markdown, *test.caption, *test.subheader):
        assert "onerror" not in element.value and "<b>" not in element.value
    assert "<img" not in html_of(test) and "<script" not in html_of(test)


@pytest.mark.case("T6")
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("special", ["1", "0"])
@pytest.mark.parametrize("unit", ["pieces", "words"])
def test_one_token_draws(no_bundles: None, kind: str, special: str, unit: str) -> None:
    test = clean(open_saved(make_trace("Hi", "Salut"), kind=kind, special=special, unit=unit, words="0"))
    shape = component(test, "attention.mosaic")["shape"]
    assert min(shape) >= 1
    assert list(heatmap_weights(test).shape) == shape[2:]


def test_an_empty_translation_draws(no_bundles: None) -> None:
    for special in ("1", "0"):
        test = open_saved(make_trace("Hi", ""), kind="cross", special=special)
        assert not test.exception


@pytest.mark.case("A1")
@pytest.mark.parametrize(
    ("source", "target"), [("One two three four five.", "Un."), ("One.", "Un deux trois quatre.")]
)
def test_queries_are_of_the_target_and_keys_of_the_source(no_bundles: None, source: str, target: str) -> None:
    trace = make_trace(source, target)
    test = clean(open_saved(trace, kind="cross", layer="2", head="3"))
    path = trace.path()
    assert heatmap_weights(test).shape == (len(path.outputs), len(trace.source_tokens))
    np.testing.assert_array_equal(heatmap_weights(test), path.cross[1, 2])
    payload = component(test, HEAD[0])
    assert payload["queries"] == [token.label for token in path.outputs]
    assert payload["keys"] == [token.label for token in trace.source_tokens]


@pytest.mark.case("A5")
@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_both_row_conventions_are_offered_and_named(no_bundles: None, kind: str) -> None:
    trace = make_trace()
    read = clean(open_saved(trace, kind=kind, rows="input"))
    predicted = clean(open_saved(trace, kind=kind, rows="output"))
    titles = [figure(test, HEAD[1])["layout"]["yaxis"]["title"]["text"] for test in (read, predicted)]
    assert titles == ["query (token read)", "query (token predicted)"]
    first, second = (component(test, HEAD[0])["queries"] for test in (read, predicted))
    assert first[1:] == second[:-1] and first[0] == "<s>" and second[-1] == "</s>"
    np.testing.assert_array_equal(heatmap_weights(read), heatmap_weights(predicted))


@pytest.mark.case("A8")
@pytest.mark.parametrize(("kind", "layers"), [("encoder", 5), ("decoder", 2), ("cross", 2)])
def test_every_layer_is_drawn_when_the_depths_differ(no_bundles: None, kind: str, layers: int) -> None:
    test = clean(open_saved(make_trace(layers=(5, 2)), kind=kind, layer=str(layers), head="max"))
    payload = component(test, "attention.mosaic")
    assert payload["shape"][:2] == [layers, 4 + 2] and payload["columns"][-2:] == ["mean", "max"]
    assert payload["chosen"] == [layers - 1, 5]


def test_a_layer_or_head_too_many_gets_a_notice(no_bundles: None) -> None:
    test = open_saved(make_trace(layers=(5, 2)), kind="cross", layer="5", head="44")
    assert not test.exception
    assert html_of(test).count('role="alert"') == 2 and "a layer from 1 to 2" in html_of(test)
    assert component(test, "attention.mosaic")["chosen"] == [1, 0]


def test_words_that_are_not_there_get_a_notice(no_bundles: None) -> None:
    trace = make_trace()
    test = open_saved(trace, words="1.99")
    assert not test.exception
    assert (
        f"rows from 0 to {len(trace.source_tokens) - 1}. The default is shown instead." in html_of(test)
        and test.query_params["words"] == ""
    )


def test_masked_cells_are_exactly_zero_and_marked(no_bundles: None) -> None:
    test = clean(open_saved(make_trace(), kind="decoder"))
    weights = heatmap_weights(test)
    above = np.triu(np.ones(weights.shape, bool), 1)
    assert not weights[above].any() and (weights[~above] > 0).all()
    marked = array(figure(test, HEAD[1])["data"][1]["z"])
    assert (~np.isnan(marked) == above).all()


@pytest.mark.case("U5")
def test_the_head_is_kept_while_another_page_is_visited(open_app: OpenApp) -> None:
    test = clean(open_app("attention", head="3", layer="2", kind="cross"))
    test.switch_page("pages/positions.py").run()
    test.switch_page("pages/attention.py").run()
    clean(test)
    assert component(test, "attention.mosaic")["chosen"] == [1, 2]
    assert {name: test.query_params[name] for name in ("kind", "layer", "head")} == {
        "kind": "cross",
        "layer": "2",
        "head": "3",
    }


@pytest.mark.case("U7")
def test_identical_heads_side_by_side(no_bundles: None) -> None:
    trace = make_trace(duplicate_heads=True)
    pin = write_choice(Choice(trace.source, "", 1, (), "encoder", 1, "1"))
    test = clean(open_saved(trace, pin=pin, words="1"))
    assert figure(test, "attention.pinned.heatmap")["data"] == figure(test, HEAD[1])["data"]
    assert any("place 0% of a row" in item.value for item in test.caption)


def test_a_pinned_head_of_another_sentence_and_hypothesis(open_app: OpenApp) -> None:
    pin = write_choice(Choice("A red car.", "", 2, (), "cross", 2, "mean"))
    test = clean(open_app("attention", pin=pin, kind="cross", text="Two green cats."))
    titles = [item.value for item in test.subheader]
    assert "Pinned: layer 2 · mean over heads" in titles and "Now: layer 1 · head 1" in titles
    assert component(test, "attention.pinned.lines")["keys"] != component(test, HEAD[0])["keys"]
    assert not component(test, "attention.pinned.lines")["selectable"]
    test.button(key=next(item.key for item in test.button if item.label == "Unpin")).click().run()
    assert clean(test).query_params["pin"] == ""
    assert {item.key for item in test.get("bidi_component")} == {"atlas.link", "attention.mosaic", HEAD[0]}


def test_pin_keeps_what_is_shown(open_app: OpenApp) -> None:
    test = clean(open_app("attention", kind="cross", layer="2", head="4", hyp="2"))
    next(item for item in test.button if item.label == "Pin and compare").click().run()
    kept = read_choice(clean(test).query_params["pin"])
    assert kept == Choice(test.query_params["text"], "", 2, (), "cross", 2, "4")


def test_a_pin_that_cannot_be_shown_is_one_line(no_bundles: None) -> None:
    pin = write_choice(Choice("Another sentence.", "", 1, (), "encoder", 1, "1"))
    test = open_saved(make_trace(), pin=pin)
    assert not test.exception
    assert "What was pinned cannot be shown" in html_of(test)
    spoilt = open_saved(make_trace(), pin="layer=1")
    assert not spoilt.exception and "The address says pin=" in html_of(spoilt)


@pytest.mark.parametrize(
    "choice",
    [
        Choice("a&b=c <s> é\n", "la cible & é", 3, (12, 55, 7), "decoder", 4, "max"),
        Choice("", "", 1, (), "encoder", 1, "1"),
    ],
)
def test_a_pin_reads_back(choice: Choice) -> None:
    assert read_choice(write_choice(choice)) == choice


def test_words_are_followed_in_every_head(no_bundles: None) -> None:
    trace = make_trace()
    test = clean(open_saved(trace, words="1.3", layer="2", head="2"))
    bars = figure(test, "attention.keys")["data"]
    np.testing.assert_allclose(array(bars[0]["y"]), trace.encoder[1, 1, [1, 3]].sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(
        array(bars[1]["y"]), trace.encoder[:, :, [1, 3]].sum(axis=2).mean(axis=(0, 1)), rtol=1e-5
    )
    others, here = (array(bars["customdata"]) for bars in figure(test, "attention.heads")["data"][:2])
    sums = trace.encoder[:, :, [1, 3]].sum(axis=2)
    np.testing.assert_allclose(here[:, 0], sums[1, 1], rtol=1e-5)
    np.testing.assert_allclose(
        np.sort(np.concatenate([others, here])[:, 0]), np.sort(sums.ravel()), rtol=1e-5
    )
    assert component(test, HEAD[0])["chosen"] == [1, 3]


def test_without_a_choice_all_words_are_followed(no_bundles: None) -> None:
    trace = make_trace()
    test = clean(open_saved(trace))
    bars = array(figure(test, "attention.keys")["data"][0]["y"])
    np.testing.assert_allclose(bars, trace.encoder[0, 0].sum(axis=0), rtol=1e-5)
    assert component(test, HEAD[0])["chosen"] == []
    assert any(f"summed over all {len(trace.source_tokens)} queries" in item.value for item in test.caption)


def test_words_of_other_rows_are_given_up(open_app: OpenApp) -> None:
    test = clean(open_app("attention", words="1.3"))
    test.text_input(key="atlas.widget.attention.text").set_value("A red car.").run()
    assert clean(test).query_params["words"] == ""
    test.multiselect(key="atlas.widget.attention.words").set_value([0]).run()
    assert clean(test).query_params["words"] == "0"


def test_hidden_special_tokens_and_words_keep_rows_at_one(no_bundles: None) -> None:
    test = clean(open_saved(make_trace(), kind="cross", unit="words", special="0"))
    weights = heatmap_weights(test)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    assert "</s>" not in component(test, HEAD[0])["queries"]
    said = " ".join(item.value for item in test.caption)
    assert "averaged over its queries" in said and "Special tokens are hidden" in said


def test_the_maximum_says_that_rows_do_not_sum_to_one(no_bundles: None) -> None:
    test = clean(open_saved(make_trace(), head="max"))
    assert any("rows do not sum to 1" in item.value for item in test.caption)


@pytest.mark.parametrize("scale", ["head", "shared"])
def test_the_colour_scale_is_stated(no_bundles: None, scale: str) -> None:
    trace = make_trace()
    test = clean(open_saved(trace, scale=scale, head="2"))
    end = trace.encoder[0, 1].max() if scale == "head" else trace.encoder.max()
    assert figure(test, HEAD[1])["data"][0]["zmax"] == pytest.approx(float(end))
    stated = {"head": "own colour scale", "shared": "share one colour scale"}
    assert any(stated[scale] in item.value for item in test.caption)


def test_another_hypothesis_and_a_node_of_the_search(no_bundles: None) -> None:
    trace = make_trace()
    second = int(trace.hypotheses[1])
    test = clean(open_saved(trace, kind="cross", hyp="2"))
    np.testing.assert_array_equal(heatmap_weights(test), trace.path(second).cross[0, 0])
    pruned = int(np.flatnonzero((trace.search.fate == 2) & (trace.search.step > 2))[0])
    path = ".".join(map(str, trace.token_path(pruned)))
    test = clean(open_saved(trace, kind="cross", node=path))
    np.testing.assert_array_equal(heatmap_weights(test), trace.path(pruned).cross[0, 0])
    next(item for item in test.button if item.label == "Back to the hypotheses").click().run()
    assert clean(test).query_params["node"] == ""


def test_a_node_of_another_search_gets_a_notice(no_bundles: None) -> None:
    test = open_saved(make_trace(), kind="cross", node="4.4.4")
    assert not test.exception
    assert "a node of this search" in html_of(test) and test.query_params["node"] == ""


def test_your_own_target_is_read_by_the_model(open_app: OpenApp) -> None:
    test = clean(open_app("attention", kind="cross", unit="words", special="0"))
    test.text_input(key="atlas.widget.attention.target").set_value("Une phrase à moi").run()
    assert component(clean(test), HEAD[0])["queries"] == ["Une", "phrase", "à", "moi"]
    assert test.query_params["target"] == "Une phrase à moi"
    next(item for item in test.button if item.label == "Back to the model's own").click().run()
    assert component(clean(test), HEAD[0])["queries"][0] == "THE"


def test_a_target_that_cannot_be_traced_is_one_line(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atlas.errors import AtlasError

    plain = FakeEngine.trace

    def trace(self: FakeEngine, *args: Any, target: str | None = None, **more: Any) -> Trace:
        if target:
            raise AtlasError("the target has 900 pieces; this model reads at most 256")
        return plain(self, *args, **more)

    monkeypatch.setattr(FakeEngine, "trace", trace)
    test = open_app("attention", kind="cross", target="trop long")
    assert not test.exception
    assert "Your own target cannot be shown: the target has 900 pieces" in html_of(test)
    assert test.query_params["target"] == ""


@pytest.mark.case("T5")
@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_sentence_gets_a_hint(open_app: OpenApp, text: str) -> None:
    test = open_app("attention", text=text)
    assert not test.exception and "Write a sentence" in html_of(test)


def test_a_trace_without_scores_still_draws(no_bundles: None) -> None:
    test = clean(open_saved(make_trace(scores=False), kind="decoder"))
    assert "score" not in figure(test, HEAD[1])["data"][0]["hovertemplate"]
    assert len(figure(test, HEAD[1])["data"]) == 2, "the mask is known without scores"


def test_a_saved_trace_offers_no_target_and_every_file(no_bundles: None) -> None:
    test = clean(open_saved(make_trace(), kind="cross"))
    assert not [item for item in test.text_input if item.label == "Target sentence"]
    assert not test.get("download_button"), "a closed menu holds nothing"
    offered = files(open_menu(test))
    names = {"attention-cross-layer1-head1", "attention-cross-all-heads", "attention-now-heatmap"}
    names |= {"attention-keys", "attention-heads"}
    assert offered == {
        "attention-atlas.html",
        "trace.npz",
        *(f"{name}.{form}" for name in names for form in ("png", "svg", "csv", "json")),
    }


def test_without_kaleido_the_menu_offers_numbers_and_charts_have_a_camera(
    no_bundles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "atlas.ui.takeaway.trouble_with_pictures", lambda: "PNG and SVG need the export extra"
    )
    test = clean(open_menu(clean(open_saved(make_trace()))))
    assert any(item.value.startswith("PNG and SVG need the export extra. Your own") for item in test.caption)
    assert {name.rpartition(".")[2] for name in files(test)} == {"html", "npz", "csv", "json"}
    configs = [json.loads(item.proto.config) for item in test.get("plotly_chart")]
    assert configs and all(config["modeBarButtons"] == [["toImage"]] for config in configs)
    assert {config["toImageButtonOptions"]["format"] for config in configs} == {"png"}
    test.segmented_control(key="atlas.take.camera").set_value("svg").run()
    configs = [json.loads(item.proto.config) for item in test.get("plotly_chart")]
    assert {config["toImageButtonOptions"]["format"] for config in configs} == {"svg"}


def open_menu(test: AppTest) -> AppTest:
    test.session_state["atlas.take"] = True
    return test.run()


def files(test: AppTest) -> set[str]:
    """The names of all files that are offered; the key of each button ends with one."""
    return {item.proto.id.rpartition("atlas.take.")[2] for item in test.get("download_button")}


def test_a_real_model_draws_all_kinds(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle.parent))
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    test.query_params.update({"text": "The cat saw the dog.", "limit": "8"})
    clean(test.switch_page("pages/attention.py").run())
    for kind in ("decoder", "cross", "encoder"):
        test.segmented_control(key="atlas.widget.attention.kind").set_value(kind).run()
        np.testing.assert_allclose(heatmap_weights(clean(test)).sum(axis=1), 1, rtol=1e-4)
        assert "score before softmax" in figure(test, HEAD[1])["data"][0]["hovertemplate"]
