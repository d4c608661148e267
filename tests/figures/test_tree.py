"""The tree of a search: its layout, its sentences, its Plotly figure and the payload of its component."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from atlas.figures import style
from atlas.figures.alternatives import Alternatives, alternatives_figure, compared, next_tokens
from atlas.figures.fates import FateTeller, last_alive, last_step, number, percent, summarise_steps
from atlas.figures.tree import search_tree
from atlas.figures.tree_layout import RADIUS, lay_out, radii
from atlas.figures.tree_payload import tree_payload
from atlas.trace import FATES, Fate, Trace, TraceError
from tests.traces import END, HTML_LIKE, make_trace

LONG_TARGET = " ".join(["le petit chat traverse la grande rue"] * 8) + "."


@pytest.fixture(scope="module")
def trace() -> Trace:
    return make_trace(beam=5, n_best=5)


@pytest.fixture(scope="module")
def wide() -> Trace:
    return make_trace("A long sentence.", LONG_TARGET, beam=10, n_best=10, layers=(1, 1), heads=1)


def changed(trace: Trace, **arrays: object) -> Trace:
    return replace(trace, search=replace(trace.search, **arrays))


def some(trace: Trace, fate: Fate) -> int:
    """A node of that fate, not forced and not the root."""
    found = np.flatnonzero((trace.search.fate == fate) & (np.arange(len(trace.search)) > 0))
    assert len(found), f"the synthetic search has no {fate.name} node"
    return int(found[-1])


class TestLayout:
    def test_one_column_a_step_and_rank_down(self, trace: Trace) -> None:
        layout = lay_out(trace)
        assert np.array_equal(layout.column, trace.search.step)
        for step in range(1, layout.steps + 1):
            nodes = np.flatnonzero(trace.search.step == step)
            by_row = nodes[np.argsort(layout.row[nodes])]
            assert np.array_equal(layout.row[by_row], np.arange(len(nodes)))
            assert np.all(np.diff(trace.search.rank[by_row]) >= 0)

    def test_no_two_nodes_share_a_place(self, wide: Trace) -> None:
        layout = lay_out(wide)
        places = {
            (column, row) for column, row in zip(layout.column.tolist(), layout.row.tolist(), strict=True)
        }
        assert len(places) == len(wide.search) > 500

    def test_equal_ranks_still_get_places_of_their_own(self, trace: Trace) -> None:
        layout = lay_out(changed(trace, rank=np.zeros_like(trace.search.rank)))
        assert layout.rows == lay_out(trace).rows

    def test_area_above_the_minimum_grows_with_probability(self) -> None:
        low, high = RADIUS
        probabilities = np.array([0.0, 0.25, 1.0])
        with np.errstate(divide="ignore"):
            found = radii(np.log(probabilities))
        assert np.allclose(found, [low, low + (high - low) / 2, high])

    def test_the_best_path_is_that_of_the_first_hypothesis(self, trace: Trace) -> None:
        layout = lay_out(trace)
        assert np.flatnonzero(layout.best).tolist() == trace.ancestors(int(trace.hypotheses[0]))

    def test_a_search_without_hypotheses_has_no_best_path(self, trace: Trace) -> None:
        assert not lay_out(replace(trace, hypotheses=np.array([], np.int32))).best.any()

    def test_a_layout_that_hides_a_node_is_refused(self, trace: Trace) -> None:
        layout = lay_out(trace)
        with pytest.raises(ValueError, match="lie on top of others"):
            replace(layout, row=np.zeros_like(layout.row))
        with pytest.raises(ValueError, match="TreeLayout.labels has 1 entries"):
            replace(layout, labels=("a",))


class TestFates:
    def test_every_candidate_is_counted_once(self, trace: Trace) -> None:
        summaries = summarise_steps(trace)
        assert len(summaries) == last_step(trace)
        assert sum(summary.candidates for summary in summaries) == len(trace.search) - 1
        assert all(sum(summary.counts) == summary.candidates for summary in summaries)

    def test_a_node_is_in_play_as_long_as_a_hypothesis_goes_through_it(self, trace: Trace) -> None:
        alive, search = last_alive(trace), trace.search
        assert np.all(alive >= search.step)
        assert np.all(alive[search.fate == Fate.PRUNED] == search.step[search.fate == Fate.PRUNED])
        for end in trace.hypotheses.tolist():
            assert np.all(alive[trace.ancestors(end)] == last_step(trace))

    def test_pruned_says_rank_total_and_what_it_lost_against(self, trace: Trace) -> None:
        search = trace.search
        node = next(
            int(node)
            for node in np.flatnonzero(search.fate == Fate.PRUNED)
            if search.token[node] != END and search.step[node] == 4
        )
        at_step = np.flatnonzero(search.step == 4)
        kept = at_step[search.fate[at_step] == Fate.KEPT]
        why = FateTeller(trace).why(node)
        assert why.startswith(
            f"pruned: rank {search.rank[node] + 1} of {len(at_step)} at step 4, "
            f"total {number(search.cumulative[node])}; the beam kept {len(kept)}, "
            f"the worst kept {number(search.cumulative[kept].min())}"
        )

    def test_an_end_mark_above_the_worst_kept_says_the_rule_that_pruned_it(self, trace: Trace) -> None:
        node = some(trace, Fate.PRUNED)
        token, total = trace.search.token.copy(), trace.search.cumulative.copy()
        token[node], total[node] = END, 0.0
        why = FateTeller(changed(trace, token=token, cumulative=total)).why(node)
        assert "an end mark finishes only among the best 5 candidates" in why

    def test_finished_and_cut_say_what_became_of_them(self, trace: Trace) -> None:
        teller = FateTeller(trace)
        best = int(trace.hypotheses[0])
        assert teller.why(best).startswith("finished: rank 1 of")
        assert teller.why(best).endswith(f"hypothesis 1 of {len(trace.hypotheses)}")
        assert teller.why(some(trace, Fate.CUT)).startswith("cut at the length limit: rank")
        alone = FateTeller(replace(trace, hypotheses=trace.hypotheses[:1]))
        assert alone.why(int(trace.hypotheses[1])).endswith("not among the hypotheses returned")

    def test_kept_says_what_came_of_it(self, trace: Trace) -> None:
        teller, search = FateTeller(trace), trace.search
        first = trace.ancestors(int(trace.hypotheses[0]))[1]
        assert "it led to hypothes" in teller.why(first)
        dead = next(
            node
            for node in np.flatnonzero(search.fate == Fate.KEPT)
            if node and 0 < last_alive(trace)[node] == search.step[node] < last_step(trace)
        )
        assert teller.why(int(dead)).endswith(
            f"all its continuations were pruned at step {search.step[dead] + 1}"
        )

    def test_a_forced_beginning_says_so(self) -> None:
        trace = make_trace(beam=3, forced=3)
        teller = FateTeller(trace)
        node = int(np.flatnonzero(trace.search.forced)[0])
        assert teller.why(node).startswith("forced: ")

    def test_captions_cover_every_step(self, trace: Trace) -> None:
        teller = FateTeller(trace)
        assert teller.caption(0).startswith("step 0:")
        assert teller.leader(0) == ""
        assert teller.caption(3) == "step 3: 10 candidates: 5 kept, 0 finished, 5 pruned"
        assert trace.text(int(trace.hypotheses[0])) in teller.leader(last_step(trace))

    def test_a_finished_hypothesis_leads_until_a_better_one_is_found(self, trace: Trace) -> None:
        search = trace.search
        for summary in summarise_steps(trace):
            ended = search.score[(search.fate == Fate.FINISHED) & (search.step <= summary.step)]
            assert summary.leader is not None
            assert search.score[summary.leader] >= ended.max(initial=-np.inf)

    @pytest.mark.parametrize(
        ("value", "shown"), [(-7.314, "−7.31"), (-0.001, "0.00"), (0.0, "0.00"), (12.0, "12.00")]
    )
    def test_numbers_have_a_real_minus_and_no_negative_zero(self, value: float, shown: str) -> None:
        assert number(value) == shown

    @pytest.mark.parametrize(
        ("probability", "shown"),
        [(1.0, "100 %"), (0.37, "37 %"), (0.0123, "1.2 %"), (0.0004, "0.04 %"), (1e-9, "< 0.01 %")],
    )
    def test_probabilities_are_readable_at_both_ends(self, probability: float, shown: str) -> None:
        assert percent(float(np.log(probability))) == shown


class TestFigure:
    def test_nodes_are_grouped_by_fate_with_their_colour_and_size(self, trace: Trace) -> None:
        figure = search_tree(trace)
        layout = lay_out(trace)
        met = {mark.name: mark for mark in figure.data if mark.mode == "markers"}
        for fate, name in enumerate(FATES):
            nodes = np.flatnonzero(trace.search.fate == fate)
            mark = met[style.MEANINGS[name]]
            assert sorted(np.asarray(mark.customdata).tolist()) == nodes.tolist()
            assert mark.marker.color == style.COLOURS[name]
            assert np.allclose(mark.marker.size, 2 * layout.radius[np.asarray(mark.customdata)])

    def test_edges_join_each_node_to_its_parent(self, trace: Trace) -> None:
        layout, search = lay_out(trace), trace.search
        drawn = set()
        for mark in search_tree(trace).data:
            if mark.mode == "lines":
                x, y = np.asarray(mark.x).reshape(-1, 3), np.asarray(mark.y).reshape(-1, 3)
                assert np.isnan(x[:, 2]).all()
                drawn |= {
                    tuple(ends)
                    for ends in np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], 1).astype(int).tolist()
                }
        expected = {
            (int(layout.column[p]), int(layout.row[p]), int(layout.column[n]), int(layout.row[n]))
            for n, p in enumerate(search.parent.tolist())
            if p >= 0
        }
        assert drawn == expected

    def test_a_frame_shows_exactly_what_exists_after_its_step(self, trace: Trace) -> None:
        figure = search_tree(trace)
        assert [frame.name for frame in figure.frames] == [str(step) for step in range(last_step(trace) + 1)]
        for frame in figure.frames:
            shown = sum(
                len(part.x)
                for part, mark in zip(frame.data, figure.data, strict=True)
                if mark.mode == "markers"
            )
            assert shown == int((trace.search.step <= int(frame.name)).sum())

    def test_the_first_picture_can_stop_at_a_step_and_ring_a_node(self, trace: Trace) -> None:
        node = some(trace, Fate.PRUNED)
        figure = search_tree(trace, node=node, step=2, replay=False)
        layout = lay_out(trace)
        assert not figure.frames
        assert (figure.data[-1].x[0], figure.data[-1].y[0]) == (layout.column[node], layout.row[node])
        assert max(max(mark.x) for mark in figure.data[:-1] if mark.mode == "markers" and len(mark.x)) == 2

    def test_the_tokens_of_the_best_path_stand_on_its_nodes(self, trace: Trace) -> None:
        names = next(mark for mark in search_tree(trace).data if mark.mode == "markers+text")
        best = trace.ancestors(int(trace.hypotheses[0]))
        assert list(names.text) == [style.escape(trace.labels[node]) for node in best]

    @pytest.mark.parametrize(("what", "value"), [("step", -1), ("step", 999), ("node", -1), ("node", 10**6)])
    def test_what_is_outside_the_search_is_refused(self, trace: Trace, what: str, value: int) -> None:
        with pytest.raises(ValueError, match=f"{what} {value} is outside the search"):
            search_tree(trace, **{what: value})

    @pytest.mark.case("T3")
    def test_html_like_tokens_are_escaped_everywhere(self) -> None:
        trace = make_trace(HTML_LIKE, HTML_LIKE, beam=3)
        figure = search_tree(trace)
        texts = [
            text
            for mark in figure.data
            for field in (mark.text, mark.hovertext)
            if field is not None
            for text in field
        ]
        assert any("&lt;s&gt;" in text for text in texts)
        stripped = [text.replace("<br>", "") for text in texts]
        assert not any("<" in text or ">" in text or "$" in text for text in stripped)

    @pytest.mark.case("T6")
    def test_a_translation_of_one_token_draws(self) -> None:
        trace = make_trace("Hi", "", beam=1)
        assert last_step(trace) == 1
        assert isinstance(search_tree(trace), go.Figure)
        assert tree_payload(trace)["steps"] == 1


class TestPayload:
    def test_it_is_json_and_has_an_entry_for_each_node(self, trace: Trace) -> None:
        payload = json.loads(json.dumps(tree_payload(trace)))
        for name in ("column", "row", "radius", "parent", "token", "fate", "alive", "label", "hover"):
            assert len(payload[name]) == len(trace.search), name
        assert len(payload["captions"]) == len(payload["leaders"]) == payload["steps"] + 1
        assert payload["best"] == trace.ancestors(int(trace.hypotheses[0]))
        assert set(payload["colours"]) == set(payload["meanings"]) == set(FATES)

    def test_a_hover_tells_token_three_numbers_and_why(self, trace: Trace) -> None:
        node = some(trace, Fate.PRUNED)
        search = trace.search
        token, logprob, sums, why = tree_payload(trace)["hover"][node].split("\n")
        assert token == trace.labels[node]
        assert number(search.logprob[node], 3) in logprob
        assert number(search.cumulative[node], 3) in sums
        assert number(search.score[node], 3) in sums
        assert why.startswith("pruned: rank")

    def test_the_identity_follows_the_search_and_nothing_else(self, trace: Trace) -> None:
        same = make_trace(beam=5, n_best=5)
        other = changed(trace, cumulative=trace.search.cumulative - 1)
        assert tree_payload(trace)["identity"] == tree_payload(same)["identity"]
        assert tree_payload(trace)["identity"] != tree_payload(other)["identity"]

    def test_five_hundred_nodes_stay_small(self, wide: Trace) -> None:
        assert len(wide.search) > 500
        assert len(json.dumps(tree_payload(wide))) < 400 * len(wide.search)

    @pytest.mark.case("T3")
    def test_text_is_literal_not_escaped(self) -> None:
        trace = make_trace(HTML_LIKE, HTML_LIKE, beam=3)
        assert tree_payload(trace)["label"] == list(trace.labels)
        assert any("<" in label for label in trace.labels)


class TestAlternatives:
    def test_they_are_what_the_pass_said_with_the_fate_that_each_met(self, trace: Trace) -> None:
        found = next_tokens(trace, 0)
        row = trace.search.expanded[0]
        assert list(found.ids) == trace.search.top_ids[row].tolist()
        for token, node, fate in zip(found.ids, found.nodes, found.fates, strict=True):
            if node >= 0:
                assert trace.search.parent[node] == 0
                assert trace.search.token[node] == token
                assert fate == FATES[trace.search.fate[node]]
            else:
                assert fate == ""

    def test_siblings_share_the_pass_of_their_parent(self, trace: Trace) -> None:
        node = some(trace, Fate.PRUNED)
        found = next_tokens(trace, int(trace.search.parent[node]))
        assert node in found.nodes

    def test_a_node_that_was_never_read_says_so(self, trace: Trace) -> None:
        with pytest.raises(TraceError, match="never read node"):
            next_tokens(trace, some(trace, Fate.PRUNED))

    def test_rows_that_were_not_kept_say_so(self, trace: Trace) -> None:
        small = trace.with_n_best_rows_only()
        lost = np.flatnonzero((trace.search.expanded >= 0) & (small.search.expanded < 0))
        with pytest.raises(TraceError, match="was not kept"):
            next_tokens(small, int(lost[0]))

    def test_the_figure_shows_every_probability_and_marks_the_chosen_one(self, trace: Trace) -> None:
        found = next_tokens(trace, 0)
        bars = alternatives_figure(found, chosen=found.ids[2]).data[0]
        assert np.allclose(bars.x, np.exp(found.logprobs), rtol=1e-6)
        assert [width > 0 for width in bars.marker.line.width] == [
            index == 2 for index in range(len(found.ids))
        ]
        assert bars.marker.color[0] == style.COLOURS[found.fates[0]]

    def test_what_another_trace_says_is_compared_with_this_search(self, trace: Trace) -> None:
        found = next_tokens(trace, 0)
        bare = replace(found, nodes=(-1,) * len(found.ids), fates=("",) * len(found.ids))
        again = compared(trace, 0, bare)
        assert (again.nodes, again.fates) == (found.nodes, found.fates)

    def test_disorder_and_gaps_are_refused(self) -> None:
        with pytest.raises(ValueError, match="not in order"):
            Alternatives((1, 2), ("a", "b"), np.array([-2.0, -1.0]), (-1, -1), ("", ""))
        with pytest.raises(ValueError, match="different lengths"):
            Alternatives((1, 2), ("a",), np.array([-1.0, -2.0]), (-1, -1), ("", ""))

    @pytest.mark.case("T3")
    def test_labels_are_escaped(self) -> None:
        found = Alternatives((1, 2), ("<s>", "$x$"), np.array([-1.0, -2.0]), (-1, -1), ("", ""))
        figure = alternatives_figure(found)
        assert list(figure.layout.yaxis.ticktext) == ["&lt;s&gt;", "&#36;x&#36;"]
        assert "&lt;s&gt;" in figure.data[0].hovertext[0]
