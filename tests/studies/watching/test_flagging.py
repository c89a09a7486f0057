"""Flags that need everybody's answers are found, kept beside the others, exported, and void nobody."""

from dataclasses import replace

from sqlalchemy import select
from tests.studies.test_store import VAULT, begun, pages_of
from tests.support.study import START, design, opened

from casewise.database.tables import study as tables
from casewise.records import Verdict
from casewise.studies.answers import Given, next_page, take_answer
from casewise.studies.export import annotator_lines
from casewise.studies.monitor import FalseAlarms, FlagCount, FoundFlags, assess, find_flags, keep_flags
from casewise.studies.owner import forget
from casewise.studies.quality import Flag

PLAN = design(
    conditions=["no_context"], ratings={"per_item": 4, "per_annotator": 12}, attention={"checks_per_batch": 0}
)


def rated(store, study, name, says, *, seconds=9.0, sight=None):
    """Somebody who answers every page as `says` has it for the item."""
    who = begun(store, study, name)
    while True:
        with store.write() as connection:
            page = next_page(connection, study, who)
            if page is None:
                return who
            item = next(one.item_id for one in pages_of(store, who) if one.position == page.position)
            given = Given(page.position, page.revision, says(item), seconds=seconds, sight=sight)
            take_answer(connection, study, who, given, now=START)


def number(item):
    return int(item.rpartition("_")[2])


def test_an_echo_and_a_program_are_flagged_with_evidence_and_the_false_alarms_beside_it(store):
    study = opened(store, PLAN, queries=12)
    judge: dict[str, Verdict] = {f"i_no_context_{n}": "safe" if n % 2 else "unsafe" for n in range(12)}
    halves = [rated(store, study, f"p{n}", lambda item: "respond" if number(item) < 6 else "refuse") for n in range(3)]
    echo = rated(
        store,
        study,
        "echo",
        lambda item: "respond" if judge[item] == "safe" else "refuse",
        seconds=1.1,
        sight={"request_s": 0.5},
    )
    with store.read() as connection:
        found = find_flags(connection, study, {"gpt": judge})
    with store.write() as connection:
        keep_flags(connection, study, found)
        keep_flags(connection, study, found)
        assess(connection, study, echo, now=START)
        assess(connection, study, halves[0], now=START)
    with store.read() as connection:
        flags = connection.execute(select(tables.flags).where(tables.flags.c.annotator_id == echo)).all()
        lines = {line["annotator_id"]: line for line in annotator_lines(connection, study)}

    kinds = {flag.kind: flag.evidence for flag in flags}
    assert {"llm_echo", "time_to_sight"} <= set(kinds)
    assert "follows gpt" in kinds["llm_echo"]
    assert "% of simulated people would be flagged" in kinds["llm_echo"]
    assert {flag["kind"] for flag in lines[echo]["flags"]} == set(kinds), "none twice, and exported"
    assert not any(flag["kind"] == "llm_echo" for flag in lines[halves[0]]["flags"])
    assert not lines[echo]["voided"]
    counts = {count.kind: count for count in found.counts}
    assert (counts["llm_echo"].raised, counts["llm_echo"].of, counts["llm_echo"].judge) == (1, 4, "gpt")
    assert counts["time_to_sight"].of == 1, "of the others no sight was measured"


def test_without_a_judge_an_echo_stays_and_who_withdrew_gets_no_flag_back(store):
    study = opened(store, PLAN, queries=12)
    who, gone = (rated(store, study, name, lambda _: "respond", seconds=1.1) for name in ("a", "b"))
    count = FlagCount("llm_echo", "gpt", 2, 2, 0.5, FalseAlarms(0.01, 0.1))
    flag = Flag("llm_echo", 0.9, 0.5, "follows gpt")
    with store.write() as connection:
        forget(connection, study, gone, vault=VAULT, by="owner", now=START)
        keep_flags(connection, study, FoundFlags([count], {(who, "llm_echo"): flag, (gone, "llm_echo"): flag}))
        keep_flags(connection, study, FoundFlags([replace(count, kind="time_to_sight")], {}))
        assert connection.execute(select(tables.flags.c.annotator_id, tables.flags.c.kind)).all() == [(who, "llm_echo")]
