import asyncio
import json
import random
from collections.abc import Iterator

import pytest

from casewise.ask.elicitations import AskOptions
from casewise.errors import ConfigurationError, RunConflict, Unauthorised, Unavailable
from casewise.judges.llm import LLMJudge
from casewise.judges.run import Plan, Selection, Target, ablation_arms, judge_into, select
from casewise.models.endpoints import Prices
from casewise.models.protocol import FakeModel, Reply, Usage
from casewise.records import FULL, NO_CONTEXT, Arm, Judgement
from casewise.runs.limits import Limits, Watch
from casewise.storage.files import read_jsonl
from casewise.storage.load import load_benchmark

SAFE = '{"judgement": "safe"}'


@pytest.fixture(scope="module")
def benchmark():
    return load_benchmark("demo")


@pytest.fixture
def go(benchmark, tmp_path):
    def run(judge, *, limits=Limits(), watch=None, folder="run", **plan):
        target = Target(tmp_path / folder, "demo")
        made = Plan.of(benchmark, judge, **plan)
        return asyncio.run(judge_into(target, benchmark, judge, plan=made, limits=limits, watch=watch))

    return run


def log(summary):
    return list(read_jsonl(summary.run / "judgements.jsonl", Judgement))


def outcomes(summary):
    return sorted(
        (j.item_id, j.elicitation, j.arm, j.repeat, j.attempt, j.outcome.model_dump_json()) for j in log(summary)
    )


FIRST = Selection(limit=8)


def test_the_plan_is_the_product_of_all_its_parts(go):
    summary = go(LLMJudge(FakeModel()), elicitations=("binary", "score"), repeats=2, selection=FIRST)

    keys = [(j.item_id, j.elicitation, j.repeat) for j in log(summary)]
    assert len(keys) == len(set(keys)) == 8 * 2 * 2
    assert summary.n_judged == 32


def test_results_do_not_depend_on_the_order_of_completion(go):
    def late(messages, options):
        return SAFE if len(messages[0].content) % 2 else '{"judgement": "unsafe"}'

    class Slow(FakeModel):
        async def reply(self, messages, options):
            await asyncio.sleep(random.random() / 200)
            return await super().reply(messages, options)

    one = go(LLMJudge(FakeModel(late)), folder="one", selection=FIRST, limits=Limits(1))
    many = go(LLMJudge(Slow(late)), folder="many", selection=FIRST, limits=Limits(8))

    assert outcomes(one) == outcomes(many)


def test_half_a_character_in_a_reply_is_kept_as_its_escape(go):
    summary = go(LLMJudge(FakeModel("safe \ud83d")), selection=FIRST)

    assert {judgement.raw_reply for judgement in log(summary)} == {"safe \\ud83d"}


def test_what_the_log_holds_is_not_asked_again(go):
    go(LLMJudge(FakeModel()), selection=FIRST)
    model = FakeModel()
    again = go(LLMJudge(model), selection=FIRST)

    assert model.calls == []
    assert (again.resumed, again.n_calls, again.n_judged) == (8, 0, 8)


def test_a_plan_may_grow(go):
    go(LLMJudge(FakeModel()), selection=FIRST)
    grown = go(
        LLMJudge(FakeModel()), selection=Selection(limit=10), arms=(FULL, NO_CONTEXT), elicitations=("binary", "score")
    )

    assert grown.resumed == 8
    assert grown.n_judged == 10 * 2 * 2


def test_other_settings_are_another_run(go):
    go(LLMJudge(FakeModel()), selection=FIRST)
    with pytest.raises(RunConflict, match=r"setting 'temperature': it has 0\.0, now 1\.0"):
        go(LLMJudge(FakeModel(), options=AskOptions(temperature=1.0)), selection=FIRST)


def test_one_prompt_is_one_call(go):
    """Both items of a pair without their context are one prompt."""
    model = FakeModel()
    summary = go(LLMJudge(model), arms=(NO_CONTEXT,), selection=FIRST)

    assert len(model.calls) == summary.n_calls == 4
    assert summary.n_judged == 8
    by_item = {j.item_id: j for j in log(summary)}
    copies = [j for j in by_item.values() if j.shared_with]
    assert len(copies) == 4
    for copy in copies:
        assert copy.outcome == by_item[copy.shared_with].outcome
        assert copy.input_tokens is None


def test_a_call_that_the_log_holds_is_shared_with_items_that_come_later(go):
    go(LLMJudge(FakeModel()), arms=(NO_CONTEXT,), selection=Selection(limit=1))
    model = FakeModel()
    grown = go(LLMJudge(model), arms=(NO_CONTEXT,), selection=Selection(limit=2))

    assert model.calls == []
    assert (grown.resumed, grown.n_judged, grown.n_calls) == (1, 2, 0)
    assert log(grown)[1].shared_with == log(grown)[0].item_id


def test_arms_that_show_the_same_are_one_call(go):
    model = FakeModel()
    arms = (FULL, Arm.without("subject"))
    summary = go(LLMJudge(model), arms=arms, selection=FIRST)

    assert summary.n_calls == 8
    assert summary.n_judged == 16


def test_an_ablation_over_the_groups_has_eight_arms_and_shares_the_last(go):
    model = FakeModel()
    summary = go(LLMJudge(model), arms=ablation_arms("groups"), selection=FIRST)

    assert len({j.arm for j in log(summary)}) == 8
    assert summary.n_calls == 7 * 8 + 4


def test_an_ablation_over_parameters_leaves_each_out_alone():
    arms = ablation_arms("parameters")

    assert arms[0] == FULL
    assert {arm.omitted for arm in arms[1:]} == {
        ("sender.nature_of_the_interaction",),
        ("sender.platform_type",),
        ("recipient.type",),
        ("recipient.background",),
        ("transmission_principle.urgency",),
        ("transmission_principle.sender_purpose",),
        ("transmission_principle.confidentiality",),
        ("transmission_principle.source_accountability",),
    }
    with pytest.raises(ConfigurationError, match="'groups' or 'parameters'"):
        ablation_arms("everything")


def unsure_until(attempt):
    """Gives no verdict to the first `attempt` tries at each prompt."""
    tries: dict[str, int] = {}

    def answer(messages, options):
        prompt = messages[0].content
        tries[prompt] = tries.get(prompt, -1) + 1
        return SAFE if tries[prompt] >= attempt else "That depends."

    return answer


def test_an_unscored_reply_is_asked_for_again_and_every_attempt_is_kept(go):
    summary = go(LLMJudge(FakeModel(unsure_until(2))), retry_unscored=3, selection=Selection(limit=2))

    assert sorted(j.attempt for j in log(summary)) == [0, 0, 1, 1, 2, 2]
    assert (summary.n_judged, summary.n_unscored, summary.n_calls) == (2, 0, 6)


def test_unscored_replies_of_an_earlier_session_can_be_asked_for_again(go):
    answer = unsure_until(1)
    first = go(LLMJudge(FakeModel(answer)), selection=FIRST)
    assert (first.n_judged, first.n_unscored) == (0, 8)

    second = go(LLMJudge(FakeModel(answer)), selection=FIRST, retry_unscored=1)
    assert (second.n_judged, second.n_unscored, second.n_calls, second.resumed) == (8, 0, 8, 0)

    third = go(LLMJudge(FakeModel(answer)), selection=FIRST, retry_unscored=1)
    assert (third.n_calls, third.resumed, third.n_judged) == (0, 8, 8)


def test_a_retry_of_a_shared_call_is_shared(go):
    summary = go(
        LLMJudge(FakeModel(unsure_until(1))), arms=(NO_CONTEXT,), retry_unscored=2, selection=Selection(limit=2)
    )

    assert summary.n_calls == 2
    assert sorted((j.attempt, bool(j.shared_with)) for j in log(summary)) == [
        (0, False),
        (0, True),
        (1, False),
        (1, True),
    ]
    assert (summary.n_judged, summary.n_unscored) == (2, 0)


PRICED = Prices(1000.0, 1000.0)


def test_a_cost_limit_is_kept_over_all_sessions(go):
    reply = Reply(SAFE, "stop", usage=Usage(400, 20))
    judge = LLMJudge(FakeModel(reply), prices=PRICED, options=AskOptions(max_tokens=50))
    first = go(judge, selection=Selection(limit=40), limits=Limits(4, max_cost=6.0))
    second = go(judge, selection=Selection(limit=40), limits=Limits(4, max_cost=6.0))

    spent = sum(j.cost_usd or 0 for j in log(second))
    assert first.stopped == second.stopped == "the cost limit of $6"
    assert 4.0 < spent <= 6.0


def test_a_cost_limit_without_a_price_is_an_error_before_the_first_call(go):
    model = FakeModel()
    with pytest.raises(ConfigurationError, match="--price-in"):
        go(LLMJudge(model), limits=Limits(max_cost=1.0))

    assert model.calls == []


def test_a_wrong_key_stops_the_run_and_keeps_what_was_judged(go, tmp_path):
    answers: Iterator[str | Exception] = iter([SAFE, SAFE, Unauthorised("wrong key")])
    with pytest.raises(Unauthorised):
        go(LLMJudge(FakeModel(lambda messages, options: next(answers))), limits=Limits(1))

    assert len((tmp_path / "run" / "judgements.jsonl").read_text().splitlines()) == 2


def test_an_endpoint_that_stays_away_stops_the_run(go):
    model = FakeModel(lambda messages, options: Unavailable("down"))
    with pytest.raises(Unavailable, match="5 calls in a row failed"):
        go(LLMJudge(model, patience=5), limits=Limits(1))

    assert len(model.calls) == 5


def test_what_failed_because_an_endpoint_was_down_is_asked_again_by_the_next_session_without_a_flag(go):
    down: Iterator[str | Exception] = iter([Unavailable("down"), SAFE, "It depends."])
    first = go(LLMJudge(FakeModel(lambda messages, options: next(down, SAFE))), selection=FIRST, limits=Limits(1))
    model = FakeModel(SAFE)
    second = go(LLMJudge(model), selection=FIRST)

    assert (first.n_judged, first.n_unscored) == (6, 2)
    assert (second.n_judged, second.n_unscored) == (7, 1)
    assert len(model.calls) == 1


def test_progress_is_told_before_the_first_answer_and_after_every_one(go):
    told = []
    go(
        LLMJudge(FakeModel()),
        selection=FIRST,
        watch=Watch(lambda summary, total: told.append((summary.n_usable, total))),
    )

    assert told == [(n, 8) for n in range(9)]


def test_a_stop_leaves_a_run_that_goes_on(go):
    watch = Watch()
    watch.progress = lambda summary, total: watch.stop.ask("interrupted") if summary.n_usable == 3 else None
    first = go(LLMJudge(FakeModel()), selection=FIRST, limits=Limits(1), watch=watch)
    second = go(LLMJudge(FakeModel()), selection=FIRST)

    assert (first.n_judged, first.stopped) == (3, "interrupted")
    assert first.as_json()["stopped"] == "interrupted"
    assert (second.resumed, second.n_judged, second.stopped) == (3, 8, None)


def test_a_sample_keeps_queries_whole_and_depends_on_its_seed(benchmark):
    drawn = select(benchmark, Selection(sample=20, seed=1))

    assert len(drawn) == 20
    assert len({item.query_id for item in drawn}) == 10
    assert drawn == select(benchmark, Selection(sample=20, seed=1))
    assert drawn != select(benchmark, Selection(sample=20, seed=2))
    assert list(drawn) == [item for item in benchmark.items if item in drawn]


def test_a_category_is_found_by_name_and_a_wrong_one_is_named(benchmark):
    name = benchmark.queries[0].category
    kept = select(benchmark, Selection(categories=(name,)))

    assert {benchmark.query[item.query_id].category for item in kept} == {name}
    with pytest.raises(ConfigurationError, match="no category is called 'nonsense'"):
        select(benchmark, Selection(categories=("nonsense",)))
    with pytest.raises(ConfigurationError, match="no item is left"):
        select(benchmark, Selection(limit=0))


def test_the_session_says_how_it_was_done(go):
    summary = go(LLMJudge(FakeModel()), selection=FIRST, limits=Limits(3, max_tokens_total=10**9))
    session = json.loads((summary.run / "sessions.jsonl").read_text())

    assert session["options"]["concurrency"] == 3
    assert session["options"]["max_tokens_total"] == 10**9
