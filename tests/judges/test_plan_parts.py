"""The parts of a plan: its ways and sizes, what it is refused for, its estimate, and the manifest of its run."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.demo import DEMO

from casewise.errors import ConfigurationError
from casewise.judges.baselines import ConstantJudge
from casewise.judges.llm import LLMJudge
from casewise.judges.plan import (
    Bundles,
    Plan,
    RunEstimate,
    Selection,
    ablation_arms,
    estimate_run,
    manifest,
    numbered,
    pause_where_unread,
    select,
    unseen_attacks,
    unseen_note,
)
from casewise.models.endpoints import ENDPOINTS
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel
from casewise.records import (
    FULL,
    NO_CONTEXT,
    Arm,
    Group,
    Judgement,
    Parameter,
    ParameterSet,
    Scored,
    Unscored,
    UnscoredReason,
)
from casewise.runs.run import CallEstimate
from casewise.transforms.catalogue import parse_arm

JUDGE = LLMJudge(FakeModel(), prices=Prices(1e6, 1e6))


def plan_of(**more) -> Plan:
    return Plan.for_benchmark(DEMO, JUDGE, selection=Selection(limit=4), **more)


def test_a_plan_asks_each_item_in_each_arm_as_often_as_its_elicitation_says():
    plan = plan_of(elicitations=("binary", "score"), arms=(FULL, NO_CONTEXT), repeats={"binary": 1, "score": 3})

    assert plan.ways == [(0, "binary"), (0, "score"), (1, "score"), (2, "score")]
    assert plan.by_way == {"binary full": 4, "binary none": 4, "score full": 12, "score none": 12}
    assert len(plan) == 32
    assert (plan.repeats_of("score"), plan_of(repeats=2).repeats_of("binary")) == (3, 2)


def test_a_plan_takes_each_elicitation_and_arm_once_and_the_judges_own_where_none_is_given():
    twice = plan_of(elicitations=("score", "score"), arms=(NO_CONTEXT, NO_CONTEXT))
    usual = plan_of()

    assert (twice.elicitations, twice.arms) == (("score",), (NO_CONTEXT,))
    assert (usual.elicitations, usual.arms, usual.repeats, usual.retry_unscored) == (("binary",), (FULL,), 1, 0)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"repeats": 0}, "repeats is 0; it must be at least 1"),
        ({"retry_unscored": -1}, "retry_unscored is -1; it must be 0 or more"),
        (
            {"elicitations": ("scalar",)},
            "cannot be asked for 'scalar'; it gives binary, score, probability, permission",
        ),
    ],
)
def test_a_plan_that_cannot_be_asked_is_refused(more, problem):
    with pytest.raises(ConfigurationError, match=problem):
        plan_of(**more)


def test_a_bundle_has_the_items_of_one_query_in_all_arms():
    plan = plan_of(arms=(FULL, NO_CONTEXT), repeats=2)
    bundles = Bundles(plan, DEMO)

    assert len(bundles) == 4
    for bundle in bundles:
        assert len({ask.query.id for ask in bundle}) == 1
        assert [(ask.arm, ask.item.id) for ask in bundle] == [
            (arm, item.id) for arm in plan.arms for item in plan.items if item.query_id == bundle[0].query.id
        ]
    assert [bundle[0].repeat for bundle in bundles] == [0, 0, 1, 1]
    assert {ask.twin for bundle in bundles for ask in bundle} == {None}


def test_queries_are_numbered_in_the_order_of_their_first_rows():
    np.testing.assert_array_equal(numbered(pl.Series(["b", "a", "b", "c", "a"])), [0, 1, 0, 2, 1])
    assert len(numbered(pl.Series([], dtype=pl.String))) == 0


def test_a_selection_by_ids_keeps_the_order_of_the_benchmark_and_a_limit_its_first_items():
    ids = frozenset(DEMO.items[place].id for place in (5, 2, 9))

    assert [item.id for item in select(DEMO, Selection(ids=ids))] == [DEMO.items[place].id for place in (2, 5, 9)]
    assert list(select(DEMO, Selection(ids=ids, limit=1))) == [DEMO.items[2]]
    assert select(DEMO, Selection()) is DEMO.items
    assert len(select(DEMO, Selection(limit=10**6))) == len(DEMO.items)


def test_an_ablation_leaves_out_each_set_of_groups_or_each_parameter():
    own = ParameterSet(
        name="own",
        groups=(
            Group(name="sender", parameters=(Parameter(name="job"), Parameter(name="town"))),
            Group(name="recipient", parameters=(Parameter(name="age"),)),
        ),
    )

    assert [arm.name for arm in ablation_arms("groups", own)] == ["full", "without:sender", "without:recipient", "none"]
    assert [arm.name for arm in ablation_arms("parameters", own)] == [
        *("full", "without:sender.job", "without:sender.town", "without:recipient.age"),
    ]
    assert (len(ablation_arms("groups")), ablation_arms("groups")[-1]) == (8, NO_CONTEXT)
    with pytest.raises(ConfigurationError, match="--ablate is 'queries'; it is 'groups' or 'parameters'"):
        ablation_arms("queries")


# Attacks that do not reach the judge.


def test_an_attack_that_does_not_reach_a_judge_is_named():
    arms = (FULL, parse_arm("claim:test/system/safe"))
    seen, blind = (Plan.for_benchmark(DEMO, judge, arms=arms) for judge in (JUDGE, ConstantJudge("safe")))

    assert unseen_attacks(DEMO, JUDGE, seen) == ()
    assert unseen_attacks(DEMO, ConstantJudge("safe"), blind) == (arms[1].name,)


def test_attacks_that_do_not_reach_a_judge_are_counted_by_their_kind():
    note = unseen_note("j", ["claim:test/system/safe", "format:xml", "format:json"])

    assert note is not None
    assert note.startswith("j receives nothing of 3 attacks and perturbations: ")
    assert ": 1 of the kind claim, 2 of the kind format. " in note
    assert "casewise does not ask it under them, and records them as not shown" in note
    assert str(unseen_note("j", ["format:xml"])).startswith("j receives nothing of 1 attack or perturbation: ")
    assert unseen_note("j", []) is None


# Estimates.


def estimate(*, not_shown: tuple[str, ...] = (), **calls: Any) -> RunEstimate:
    values = {"n_calls": 2, "input_tokens": 3, "output_tokens": 4, "cost_usd": 5.0, "cost_at_most_usd": 6.0}
    return RunEstimate(n_items=1, n_asks=7, calls=CallEstimate(**(values | calls)), not_shown=not_shown)


def test_estimates_of_several_judges_on_the_same_items_add_up():
    both = estimate().plus(estimate(n_calls=10, cost_usd=None))

    assert (both.n_items, both.n_asks) == (1, 14)
    assert both.calls == CallEstimate(n_calls=12, input_tokens=6, output_tokens=8, cost_usd=None, cost_at_most_usd=12.0)


def test_an_estimate_leaves_out_what_there_is_not():
    assert list(estimate().as_json()) == [
        *("n_items", "n_asks", "n_calls", "input_tokens", "output_tokens", "cost_usd", "cost_at_most_usd"),
    ]
    assert estimate(not_shown=("a",)).as_json()["not_shown"] == ("a",)


def test_no_call_is_estimated_for_an_attack_that_does_not_reach_the_judge():
    blind = ConstantJudge("safe")
    plan = Plan.for_benchmark(DEMO, blind, arms=(FULL, Arm.parse("format:xml")), selection=Selection(limit=4))
    found = estimate_run(DEMO, blind, plan)

    assert (found.n_items, found.n_asks, found.calls.n_calls, found.calls.cost_usd) == (4, 8, 4, 0.0)
    asked = estimate_run(DEMO, JUDGE, plan_of())
    assert (asked.calls.n_calls, asked.n_asks) == (4, 4)
    assert 0 < (asked.calls.cost_usd or 0) < (asked.calls.cost_at_most_usd or 0)
    assert asked.calls.cost_usd == asked.calls.input_tokens + asked.calls.output_tokens


# The manifest.


def test_the_manifest_of_a_run_says_what_was_judged_by_which_words():
    written = manifest(DEMO, JUDGE, plan_of(), source="demo", seed=3)

    identity = written.identity
    assert (identity.benchmark, identity.judge, identity.seed) == (DEMO.digest, JUDGE.id, 3)
    assert identity.settings == JUDGE.settings()
    assert written.wordings == JUDGE.wordings(("binary",))
    assert (written.judge_name, written.benchmark_source, written.address) == (JUDGE.name, "demo", None)


@pytest.mark.parametrize(
    ("judged", "arms", "kinds"),
    [
        ({("request", False)}, ("full", "claim:test/system/safe"), None),
        ({("request", False)}, ("full", "turns:greeting"), ["conversation", "request"]),
        ({("request", True)}, ("full",), ["conversation"]),
        ({("request", False), ("request", True)}, ("full",), ["conversation", "request"]),
        ({("reply", True), ("action", False)}, ("full", "turns:greeting"), ["action", "reply"]),
    ],
)
def test_a_judge_is_asked_for_its_words_on_each_kind_of_item_and_on_requests_alone_where_there_are_no_others(
    judged, arms, kinds
):
    asked: list[tuple[object, ...]] = []

    class Listening(LLMJudge):
        def wordings(self, elicitations, *kinds):
            asked.append((elicitations, *kinds))
            return {}

    benchmark = replace(DEMO)
    vars(benchmark).update(judged=frozenset(judged))
    plan = plan_of(arms=tuple(map(parse_arm, arms)))
    manifest(benchmark, Listening(FakeModel()), plan, source="demo", seed=0)

    assert asked == [(("binary",), *([kinds] if kinds else []))]


def test_the_manifest_of_a_run_has_the_address_of_its_endpoint_unless_the_server_is_this_process_own():
    def address(endpoint):
        model = FakeModel()
        vars(model).update(endpoint=endpoint)
        return manifest(DEMO, LLMJudge(model), plan_of(), source="demo", seed=0).address

    server = replace(ENDPOINTS["vllm"], base_url="http://server/v1")

    assert [address(server), address(replace(server, of_this_process=True)), address(None)] == [
        *("http://server/v1", None, None),
    ]


# The pause after the first replies.


def judgement(*, read=False, reply: str | None = "?", reason=UnscoredReason.UNPARSED, **more) -> Judgement:
    outcome = Scored(value=1.0) if read else Unscored(reason=reason)
    return Judgement(
        item_id="i", judge_id="j", elicitation="binary", arm="full", outcome=outcome, raw_reply=reply, **more
    )


def told(log, judgements) -> tuple[list[str], list[str]]:
    """What a person who watches is told of these judgements, and the reasons for which the run is asked to stop."""
    said: list[str] = []
    stops: list[str] = []
    watch: Any = SimpleNamespace(say=said.append, stop=SimpleNamespace(ask=stops.append))
    count = pause_where_unread(watch, log)
    no_ask: Any = None  # it plays no part
    for each in judgements:
        count(no_ask, each)
    return said, stops


def test_a_run_pauses_at_its_fiftieth_reply_if_fewer_than_five_give_a_verdict_and_shows_three_of_the_others(tmp_path):
    log = tmp_path / "judgements.jsonl"
    log.touch()
    said, stops = told(log, [*[judgement(read=True)] * 4, *(judgement(reply=f"{n} {'é' * 200}") for n in range(46))])

    assert said == [f'a reply without a verdict: "{n} {"é" * 148}"' for n in range(3)]
    (stop,) = stops
    assert stop.startswith("4 of the first 50 replies could be read. Try --structured, ")
    assert told(log, [judgement()] * 49) == ([], [])
    assert told(log, [*[judgement()] * 45, *[judgement(read=True)] * 5]) == ([], [])
    assert len(told(log, [judgement()] * 120)[1]) == 1, "once, and not with each reply after it"
    assert told(log, [*[judgement(read=True)] * 50, *[judgement()] * 60]) == ([], []), "only the first replies count"


def test_only_replies_of_the_models_own_calls_count_towards_the_pause(tmp_path):
    log = tmp_path / "judgements.jsonl"
    log.touch()
    others = [judgement(reply=None), judgement(shared_with="i2"), judgement(reply=None, shared_with="i2")]

    for other in others:
        assert told(log, [*[judgement()] * 49, *[other] * 60]) == ([], [])
        assert len(told(log, [*[other] * 60, *[judgement()] * 50])[1]) == 1


def test_replies_of_earlier_sessions_count_towards_the_pause_but_for_those_that_are_asked_again(tmp_path):
    log = tmp_path / "judgements.jsonl"

    def stops_after(earlier, n):
        log.write_text("".join(f"{each.model_dump_json()}\n" for each in earlier))
        return len(told(log, [judgement()] * n)[1])

    failed = judgement(reply=None, reason=UnscoredReason.UNAVAILABLE)

    assert [stops_after([judgement()] * 30, n) for n in (19, 20)] == [0, 1]
    assert stops_after([*[judgement()] * 25, *[judgement(read=True)] * 5], 20) == 0, "five of these were read"
    assert stops_after([judgement()] * 50, 60) == 0, "a resumed run pauses no more"
    others = [failed, judgement(reply=None), judgement(shared_with="i2")]
    for other in others:
        assert [stops_after([*[other] * 60, *[judgement()] * 30], n) for n in (19, 20)] == [0, 1]
