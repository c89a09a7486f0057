"""What a judge receives of an attack, and what is recorded where that is nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.fault_server import FaultServer
from tests.support.lied_to import claimed

import casewise
from casewise import api
from casewise.api import RunOptions, plan_run
from casewise.api.attacks import AttackRun
from casewise.api.replying import PlannedReplies
from casewise.errors import ConfigurationError
from casewise.judges.guard import GuardJudge
from casewise.judges.guard_profiles import GuardPrompt, find_profile
from casewise.judges.judge import Answer
from casewise.judges.llm import LiveOptions, LLMJudge
from casewise.judges.plan import Selection, select
from casewise.models.load import ModelOptions, load_model
from casewise.models.protocol import FakeModel, Message, Reply
from casewise.records import Scored
from casewise.replies.collect import CollectOptions, chat_plan
from casewise.storage.run_folder import JUDGEMENTS, judgement_table, last_attempts
from casewise.transforms.channels import map_texts
from casewise.transforms.texts import AdaptiveAttack

EIGHT = RunOptions(selection=Selection(limit=8))

CLAIMS = "claim:authority,claim:agreed,twin:recipient"


class Spied:
    """A judge of the user's own, which is handed the whole ask."""

    name = "spied"

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def answer(self, ask: Any) -> Answer:
        self.seen.append(str(ask.shown))
        return Answer(Scored(value=0.0))


def spies() -> dict[str, tuple[Any, list[str]]]:
    """Judges that note what they are handed."""
    of_one: list[str] = []
    of_two: list[str] = []
    of_three: list[str] = []

    def one(query):
        of_one.append(query)
        return "unsafe"

    def two(query, context):
        of_two.append(f"{query}{context}")
        return "unsafe"

    def three(query, context, shown):
        of_three.append(f"{query}{context}{shown}")
        return "unsafe"

    spied = Spied()
    return {
        "one": (one, of_one),
        "two": (two, of_two),
        "three": (three, of_three),
        "object": (spied, spied.seen),
    }


def rows(run: Any) -> pl.DataFrame:
    columns = ("item_id", "judge_id", "elicitation", "arm", "repeat", "attempt", "value", "unscored_reason")
    log = last_attempts(judgement_table(Path(run.path) / JUDGEMENTS, columns=columns))
    return log.with_columns(pl.col("arm").cast(pl.String))


def shown_under(run):
    """The arms under which anything was asked, and those under which nothing was shown."""
    asked = dict(
        rows(run)
        .group_by("arm")
        .agg(n=pl.col("unscored_reason").cast(pl.String).ne_missing("not_shown").sum())
        .iter_rows()
    )
    return {arm for arm, n in asked.items() if n}, {arm for arm, n in asked.items() if not n}


@pytest.mark.parametrize("kind", ["one", "two", "three", "object"])
def test_a_judge_is_asked_under_an_attack_exactly_where_it_receives_another_thing(kind):
    judge, seen = spies()[kind]
    run = casewise.attack("demo", judge, attacks=CLAIMS, noise="format:json,order:reversed", options=EIGHT)
    by_arm = rows(run).group_by("arm").agg(asked=pl.col("value").is_not_null().sum())
    asked = dict(by_arm.iter_rows())

    assert asked["full"] == 8
    assert len(seen) == sum(asked.values())
    hidden = {arm for arm, n in asked.items() if not n}
    in_turns = {arm for arm in asked if any(f"/{place}/" in arm for place in ("system", "earlier", "later", "tool"))}
    assert in_turns
    if kind in ("one", "two"):
        assert in_turns <= hidden
        assert "format:json" in hidden
        assert ("order:reversed" in hidden) == (kind == "one")
        assert kind == "one" or len(set(seen)) == len(seen)
    else:
        assert not hidden


@pytest.mark.parametrize("name", ["openai/m", "hf:./m", "gguf:m", "inspect:openai/m"])
@pytest.mark.parametrize("guard", [False, True])
def test_a_model_is_asked_under_an_attack_exactly_where_its_messages_differ(name, guard):
    seen: list[tuple[Message, ...]] = []

    def spy(messages, _options):
        seen.append(messages)
        return Reply("unsafe" if guard else '{"verdict": "unsafe"}')

    model = FakeModel(spy, name=name)
    prompt = GuardPrompt(find_profile("llama-guard-3"), "conversation")
    judge: Any = GuardJudge(name, model, None, prompt) if guard else LLMJudge(model)
    run = casewise.attack("demo", judge, attacks=CLAIMS, noise="format:json,order:reversed", options=EIGHT)
    shown, hidden = shown_under(run)

    assert not hidden
    items = len([row for row in rows(run).iter_rows(named=True) if row["value"] is not None])
    assert len({str(messages) for messages in seen}) >= items, "each attacked item is another prompt"
    assert {"format:json", "order:reversed"} <= shown


@pytest.mark.slow
@pytest.mark.parametrize("name", ["constant:safe", "constant:intended", "linear"])
def test_a_judge_that_receives_nothing_of_an_item_is_shown_no_attack(name):
    run = casewise.attack("demo", name, attacks=CLAIMS)
    shown, hidden = shown_under(run)
    found = casewise.robustness(run)

    assert shown == {"full"}
    assert hidden
    assert {row.turned.estimate for row in found.numbers.rows} == {None}
    assert found.numbers.not_shown
    assert "This run says nothing about its resistance to them" in found.to_markdown()
    assert api.require_robustness(run, "safe=0.9").decision == "inconclusive"


@pytest.mark.slow
def test_a_recorded_judge_was_shown_the_attacks_of_its_record_and_no_other(tmp_path):
    def believes(query, context):
        return "safe"

    recorded = casewise.attack("demo", believes, attacks="claim:authority/user", noise="none", out=tmp_path / "run")
    run = casewise.attack(
        "demo", f"recorded:{recorded.path}", attacks="claim:authority/user,claim:test/user", noise="none"
    )
    shown, hidden = shown_under(run)

    assert {arm.partition("/")[0].rpartition(":")[2] for arm in shown} == {"full", "authority"}
    assert {arm.partition("/")[0].rpartition(":")[2] for arm in hidden} == {"test"}


def test_a_chatbot_is_not_asked_under_what_changes_nothing_that_it_is_sent(tmp_path):
    messages: list[str] = []

    async def go():
        async with FaultServer() as server:
            loaded = load_model("vllm/m", ModelOptions(base_url=server.url))
            demo = casewise.load("demo")
            arms = casewise.parse_attack_arms(
                demo, "claim:authority/user,claim:agreed,claim:authority/system", noise="format:list,format:json"
            )
            plan = chat_plan(select(demo, Selection(limit=4)), arms)
            planned = PlannedReplies(tmp_path, demo, loaded, plan)
            replies = await planned._perform(CollectOptions())
            messages.extend(json.dumps(body["messages"]) for body in server.bodies)
            return planned, replies

    planned, replies = asyncio.run(go())
    frame = replies.frame
    hidden = set(frame.filter(unanswered="not_shown")["arm"])

    assert hidden == {"format:list"}
    assert planned.unseen == ("format:list",)
    assert "1 of the kind format" in str(planned.unseen_note())
    assert planned.estimate().n_calls == len(messages) == len(set(messages))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["guard:llama-guard-4@vllm/m", "guard:gpt-oss-safeguard@vllm/m", "guard:moderation@vllm/m", "vllm/m"]
)
def test_what_an_endpoint_is_not_sent_is_not_shown(name):
    async def go():
        async with FaultServer() as server:
            live = LiveOptions(model=ModelOptions(base_url=server.url))
            options = RunOptions(selection=Selection(limit=4), live=live)
            planned = plan_run("demo", name, arms=casewise.parse_attack_arms("demo", CLAIMS), options=options)
            attack = AttackRun.from_plan(planned, AdaptiveAttack())
            return attack, await attack.perform()

    attack, run = asyncio.run(go())
    hidden = rows(run).filter(pl.col("unscored_reason").cast(pl.String) == "not_shown")["arm"].unique().to_list()

    assert set(attack.estimate().not_shown) == set(hidden)
    notes = " ".join(attack.notes_before())
    assert ("receives nothing of" in notes) == bool(hidden)
    assert ("gives scores and no verdicts" in notes) == (name == "guard:moderation@vllm/m")
    page = casewise.robustness(run).to_markdown()
    assert ("The judge gives scores and no verdicts" in page) == (name == "guard:moderation@vllm/m")
    assert bool(hidden) == (name == "guard:moderation@vllm/m")


@pytest.mark.slow
def test_a_report_takes_its_shares_over_what_was_shown():
    def believes(query, context):
        texts: list[str] = []
        map_texts(context, lambda text: texts.append(text) or text)  # type: ignore[func-returns-value]  # it collects
        return claimed("\n\n".join([query, *texts])) or "unsafe"

    run = casewise.attack("demo", believes, attacks="claim:authority", noise="none")
    found = casewise.robustness(run).numbers.rows

    assert {row.turned.estimate for row in found if row.setting.direction == "safe"} == {1.0, None}
    assert all((row.turned.estimate is None) == (row.not_shown > 0) for row in found if row.setting.direction == "safe")


def test_an_attacker_is_not_paid_for_claims_that_the_judge_cannot_see():
    def two(query, context):
        return "unsafe"

    with pytest.raises(ConfigurationError, match="does not receive the attacker's claims"):
        casewise.attack(
            "demo", two, attacker="fake/rehearsal", adaptive=AdaptiveAttack(channel="system"), options=EIGHT
        )
