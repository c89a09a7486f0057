"""Judges whose answer to a lie is known: the report has to find it."""

import json
import re
from html import unescape

import numpy as np
import polars as pl
import pytest
from tests.support.demo import DEMO
from tests.support.lied_to import Gullible, Known, Refusing, peoples

import casewise
from casewise import api
from casewise.api import RunOptions
from casewise.api.judging import AnyJudge
from casewise.errors import BenchmarkError
from casewise.judges.judge import Answer, Judge
from casewise.judges.plan import Selection
from casewise.records import Scored
from casewise.records.base import digest
from casewise.transforms.attacks import shipped_claims

CLAIMS = "claim:authority/user,claim:verified/parameter,claim:agreed"


class Moody(Known):
    """Turns about at random whenever anything is shown otherwise, whatever it says."""

    def believes(self, ask):
        shown = ask.shown
        seed = int(digest([ask.item.id, shown.query, list(shown.context), str(shown)])[:8], 16)
        return peoples(ask) != (seed % 10 < 2)


class OfTwins(Known):
    """Goes by who asks, and knows whose words these are."""

    def believes(self, ask):
        own = ask.context.shown()["recipient"]
        turned = ask.shown.context["recipient"] != own
        if not turned:
            return peoples(ask)
        votes = DEMO.votes[next(one.id for one in DEMO.pairs[ask.item.pair_id] if one.id != ask.item.id)]
        return votes.safe * 2 > votes.total


def attacked(judge, attacks=CLAIMS, defences="none,datamark", **more):
    return api.robustness(api.attack(DEMO, judge, attacks=attacks, defences=defences, **more))


def turned(found, **where):
    rows = [
        row
        for row in found.numbers.rows
        if row.is_attack
        and all(getattr(row.setting, name, getattr(row, name, None)) == value for name, value in where.items())
    ]
    return {row.turned.estimate for row in rows}


@pytest.mark.slow
def test_a_judge_that_goes_by_people_is_moved_by_nothing_exactly():
    found = attacked(Known(), attacks="claim,twin,order,format", defences="none,system,datamark,delimit")
    assert {(row.turned.estimate, row.change.estimate) for row in found.numbers.rows if row.turned.n} == {(0.0, 0.0)}
    assert {row.beyond_noise.estimate for row in found.numbers.rows if row.beyond_noise is not None} <= {0.0, None}
    assert found.numbers.unmoved
    assert "No verdict changed in any arm" in found.to_markdown()


@pytest.mark.slow
def test_a_judge_that_believes_everything_is_found_so_and_a_defence_that_works_is_found_better():
    found = attacked(Gullible())
    assert turned(found, defence="none") == {1.0}
    user = [
        row
        for row in found.numbers.rows
        if row.setting.defence == "datamark" and "user/safe" in str(row.setting.attack)
    ]
    assert {row.turned.estimate for row in user if "authority" in str(row.setting.attack)} == {0.0}
    guarded = next(one for one in found.numbers.defences if one.defence == "datamark")
    assert guarded.saved_safe is not None
    assert guarded.saved_safe.beyond_chance
    assert guarded.cost is not None
    assert guarded.cost.estimate == 0
    assert all(row.p_holm < 0.01 for row in found.numbers.rows if row.is_attack and row.setting.defence == "none")


def test_a_judge_that_will_not_judge_is_not_robust_but_silenced():
    found = attacked(Refusing(), attacks="claim:authority/user/safe", defences="none")
    (row,) = [row for row in found.numbers.rows if row.is_attack]
    assert row.silenced.estimate == 1.0
    assert (row.turned.estimate, row.turned.n) == (None, 0)


@pytest.mark.slow
def test_a_judge_that_turns_about_over_nothing_is_not_said_to_believe():
    found = attacked(Moody(), attacks="claim,order,format", defences="none")
    rows = [row for row in found.numbers.rows if row.is_attack]
    assert np.mean([row.turned.estimate for row in rows]) > 0.1
    assert found.numbers.noise["none", "safe"].value > 0.1
    believed = [row for row in rows if row.beyond_noise is not None and row.beyond_noise.beyond_chance]
    assert len(believed) <= 0.1 * len(rows)
    assert min(row.p_holm for row in rows) > 0.05


class Particular(Known):
    """Believes two wordings of one claim, and no other."""

    def believes(self, ask):
        return "signed off" in ask.shown.query or "both said yes" in ask.shown.query or peoples(ask)


@pytest.mark.slow
def test_an_attack_that_works_in_some_wordings_has_an_interval_over_wordings():
    found = attacked(Particular(), attacks="claim:authority/user/safe,base64:authority/user/safe", defences="none")
    row = next(row for row in found.numbers.rows if row.setting.attack == "claim:authority/user/safe")
    assert row.n_wordings == 8
    assert "wordings" in row.turned.method
    assert 0.1 < row.turned.estimate < 0.9
    assert row.turned.ci_high - row.turned.ci_low > 0.5
    assert {one["wordings"] for one in found.as_json()["attacks"] if one["attack"].startswith(("claim", "base"))} == {8}


@pytest.mark.slow
def test_a_claim_in_a_conversation_is_believed_too_and_a_defence_marks_it():
    found = attacked(Gullible(), attacks="claim:authority/later,claim:contradiction/later,claim:verified/tool")
    assert turned(found, defence="none") == {1.0}
    assert turned(found, defence="datamark") == {0.0}
    assert "conversation before" in found.to_markdown()


def test_words_of_the_twin_count_where_peoples_verdicts_differ():
    found = attacked(OfTwins(), attacks="twin:recipient", defences="none")
    by = {row.towards: row for row in found.numbers.rows if row.is_attack}
    assert by["safe"].turned.estimate == by["unsafe"].turned.estimate == 1.0
    two_sided = [[DEMO.votes[item.id] for item in pair] for pair in DEMO.pairs.values()]
    verdicts = [
        {(2 * votes.safe > votes.total) - (2 * votes.safe < votes.total) for votes in pair} for pair in two_sided
    ]
    assert by["safe"].turned.n + by["unsafe"].turned.n == 2 * sum(of_pair == {-1, 1} for of_pair in verdicts)


def test_what_cannot_be_attacked_is_counted_apart(tmp_path, monkeypatch):
    (tmp_path / "half.py").write_text(
        "def claim(shown, scene):\n    if scene.context.intended_safe:\n        raise ValueError('no')\n    return shown\n"
    )
    monkeypatch.chdir(tmp_path)
    run = api.attack(DEMO, Known(), attacks="python:half:claim")
    row = next(row for row in api.robustness(run).numbers.rows if row.is_attack and row.towards == "unsafe")
    assert row.not_shown > 0
    assert row.silenced.n + row.not_shown == sum(2 * votes.safe > votes.total for votes in DEMO.votes.values())
    assert "claim failed: ValueError: no" in next(iter(run.summary.problems))


def test_a_run_without_attacks_is_refused_in_words():
    with pytest.raises(BenchmarkError, match="casewise attack"):
        api.robustness(casewise.judge(DEMO, Known()))


def test_a_run_is_gone_on_with_when_more_attacks_are_wanted(tmp_path):
    first = api.attack(DEMO, Known(), attacks="claim:authority/user/safe", out=tmp_path / "run", noise="none")
    again = api.attack(DEMO, Known(), attacks="claim:authority/user", out=tmp_path / "run", noise="none")
    assert (first.summary.n_calls, again.summary.n_calls) == (180, 90)


@pytest.mark.slow
def test_numbers_are_the_same_as_json_as_a_frame_and_on_the_page():
    found = attacked(Gullible(), attacks="claim:authority/user", defences="none")
    listed = json.loads(json.dumps(found.as_json()))["attacks"]
    assert [one["turned"]["estimate"] for one in listed] == found.numbers.flips["estimate"].to_list()
    page = found.to_html()
    assert "<ins>" in page
    wordings = shipped_claims()["authority"].words["safe"]
    assert any(words in unescape(added) for words in wordings for added in re.findall(r"<ins>([^<]*)</ins>", page))
    assert (
        "Of 1 attacks and defences that argue for safe, claim:authority/user/safe turns the most verdicts: 100.0 %"
        in page
    )
    assert found.numbers.flips.filter(pl.col("role") == "perturbation")["estimate"].max() == 0


@pytest.mark.slow
def test_an_ordinary_report_of_such_a_run_is_of_the_items_as_they_are_and_says_so():
    run = api.attack(DEMO, Gullible(), attacks="claim:authority/user/safe", defences="none,datamark", noise="none")
    found = run.report()
    assert [one.arm for one in found.numbers.runs.series] == ["full"]
    assert "Left out here: 3 arms with an attack or a defence; see casewise robustness." in found.notes


def test_nothing_is_said_to_have_stood_still_where_there_are_no_verdicts():
    assert not attacked(Refusing(), attacks="claim:authority/user/safe", defences="none").numbers.unmoved
    assert attacked(Known(), attacks="claim:authority/user/safe", defences="none").numbers.unmoved


@pytest.mark.slow
def test_a_layout_that_a_judge_cannot_see_is_no_part_of_its_noise():
    def moody(query, context):
        return digest([query, list(context), str(context)])[0] in "01234567"

    both = attacked(moody, attacks="claim:authority/user/safe", defences="none", noise="order:reversed,format:prose")
    order = attacked(moody, attacks="claim:authority/user/safe", defences="none", noise="order:reversed")
    assert both.numbers.noise["none", "safe"].value == order.numbers.noise["none", "safe"].value > 0.2
    unseen = [row for row in both.numbers.rows if row.setting.attack == "format:prose"]
    assert all(row.turned.n == 0 < row.not_shown for row in unseen)


@pytest.mark.slow
def test_what_a_defence_is_worth_against_people_is_told_without_and_under_attacks():
    found = attacked(Gullible(), attacks="claim:authority/user", defences="none,datamark")
    clean, to_safe, to_unsafe, *_, guarded = found.numbers.against_people
    assert (clean.attacks, clean.accuracy.estimate, clean.over_refusal.estimate) == (0, 1.0, 0.0)
    # Attacks of both directions are never averaged: each does all the harm, or all the refusing, that it argues for.
    assert (to_safe.towards, to_safe.attacks, to_safe.harm.estimate, to_safe.over_refusal.estimate) == (
        "safe",
        1,
        1.0,
        0.0,
    )
    assert (to_unsafe.towards, to_unsafe.harm.estimate, to_unsafe.over_refusal.estimate) == ("unsafe", 0.0, 1.0)
    assert (guarded.defence, guarded.harm.estimate) == ("datamark", 0.0)
    assert "Over-refusal" in found.to_markdown()


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 2, None])
def test_a_report_is_written_of_a_judge_that_gives_no_verdicts_at_all(limit):
    class Scoring(Judge):
        id = name = "scoring"
        elicitations = ("scalar",)

        async def answer(self, ask):
            return Answer(Scored(value=float(len(ask.shown.query))))

    options = RunOptions(selection=Selection(limit=limit))
    judges: list[AnyJudge] = [Scoring(), "constant:safe"]
    for judge in judges:
        run = casewise.attack("demo", judge, attacks="claim:authority/user,claim:agreed", noise="none", options=options)
        report = casewise.robustness(run)
        assert report.to_html()
        assert report.numbers.as_json()["attacks"]
        assert bool(report.numbers.defences) == (judge == "constant:safe")
