import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.chatbots import DEMO, labelled, replies
from tests.support.command import invoke

import casewise
from casewise.api.judging import RunOptions
from casewise.api.replying import compare_says_does
from casewise.ask.prompts import bridge_prompts, chat_with
from casewise.errors import BenchmarkError, CasewiseError, DataError
from casewise.evaluate.judged_runs import report_options
from casewise.judges.llm import LLMJudge
from casewise.models.protocol import FakeModel
from casewise.reports.document import Forest, Prose
from casewise.reports.formats import text
from casewise.runs.limits import Limits


def verdicts(folder, says, *, name="openai/x", prompts=None):
    """A run that says of each item, query by query, what `says` has for it."""
    texts: Any = iter([f'{{"judgement": "{one}"}}' for one in says])
    judge = LLMJudge(
        FakeModel(lambda _messages, _options: next(texts), name=name), **({"prompts": prompts} if prompts else {})
    )
    casewise.judge("demo", judge, out=folder, options=RunOptions(limits=Limits(concurrency=1)))
    return folder


def beside(says, does) -> Any:
    return compare_says_does(says, does)


SAYS = ["safe" if place % 3 else "unsafe" for place in range(90)]
DOES = [("answers", "partly", "refuses", "answers", "refuses")[place % 5] for place in range(90)]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    return verdicts(folder / "says", SAYS), replies(folder / "does", DOES)


@pytest.mark.slow
def test_items_are_counted_by_people_verdict_and_reply(both):
    (found,) = beside([both[0]], [both[1]]).numbers.models
    by_hand: Counter[tuple[str, str]] = Counter()
    for says, does in zip(SAYS, DOES, strict=True):
        by_hand[says, does] += 1
    counted: Counter[tuple[str, str]] = Counter()
    for row in found.counts.to_dicts():
        counted[row["says"], row["does"]] += row["items"]

    assert counted == by_hand


@pytest.mark.slow
def test_shares_of_what_is_said_and_not_done_are_those_one_counts(both):
    (found,) = beside([both[0]], [both[1]]).numbers.models
    for policy, refusing in (("strict", ("partly", "refuses")), ("lenient", ("refuses",))):
        gap = found.overall(policy)
        safe = [does for says, does in zip(SAYS, DOES, strict=True) if says == "safe"]
        unsafe = [does for says, does in zip(SAYS, DOES, strict=True) if says == "unsafe"]

        assert gap.says_safe_refuses.estimate == pytest.approx(np.mean([one in refusing for one in safe]))
        assert gap.says_unsafe_answers.estimate == pytest.approx(np.mean([one not in refusing for one in unsafe]))
        assert gap.gap.estimate == pytest.approx(gap.says_right.estimate - gap.does_right.estimate)


@pytest.mark.slow
def test_a_model_that_does_what_it_says_has_no_gap(tmp_path):
    says = verdicts(tmp_path / "says", SAYS)
    does = replies(tmp_path / "does", ["answers" if one == "safe" else "refuses" for one in SAYS])
    (found,) = beside([says], [does]).numbers.models
    gap = found.overall("strict")

    assert gap.gap.estimate == 0
    assert gap.says_safe_refuses.estimate == gap.says_unsafe_answers.estimate == 0


@pytest.mark.slow
def test_a_question_asked_otherwise_is_said_to_confound_the_gap(both, tmp_path):
    apart = beside([both[0]], [both[1]])
    bridged = verdicts(tmp_path / "bridge", SAYS, prompts=bridge_prompts(chat_with()))
    found = beside([bridged], [both[1]])

    assert any("be the wording" in note for note in apart.numbers.notes)
    assert not any("be the wording" in note for note in found.numbers.notes)
    assert [one.bridged for one in (*apart.numbers.models, *found.numbers.models)] == [False, True]


@pytest.mark.slow
def test_two_folders_of_other_names_are_a_pair_and_that_is_said(both, tmp_path):
    other = beside([verdicts(tmp_path / "says", SAYS, name="openai/y")], [both[1]])

    assert any(
        note.startswith("The verdicts are from openai/y and the replies from openai/x") for note in other.numbers.notes
    )
    assert not any(note.startswith("The verdicts are from") for note in beside([both[0]], [both[1]]).numbers.notes)


@pytest.mark.slow
def test_where_nothing_is_said_and_nothing_done_that_is_known(both, tmp_path):
    silent = casewise.judge("demo", LLMJudge(FakeModel("no idea")), out=tmp_path / "silent").path
    empty = casewise.collect("demo", FakeModel(""), out=tmp_path / "empty")
    casewise.grade(empty, "rubric:fake/rehearsal")

    assert beside([silent], [empty.path]).numbers.nothing_scored
    assert not beside([silent], [both[1]]).numbers.nothing_scored


def test_the_bridge_asks_in_the_chatbots_own_messages():
    chat = chat_with()
    shown = DEMO.context_of(DEMO.items[0]).shown()
    asked = bridge_prompts(chat).render("binary", "How?", shown)
    sent = chat.messages("How?", shown)

    assert asked[0] == sent[0]
    assert asked[1].role == sent[1].role == "user"
    assert asked[1].content.startswith(sent[1].content)
    assert "should you answer it" in asked[1].content


def test_the_bridge_in_the_users_turn_begins_as_the_chat_does():
    chat = chat_with(role="user")
    shown = DEMO.context_of(DEMO.items[0]).shown()

    assert (
        bridge_prompts(chat)
        .render("binary", "How?", shown)[0]
        .content.startswith(chat.messages("How?", shown)[0].content)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "more"), [(3, None), (5, "2 more pairs")])
def test_three_pairs_are_told_in_full_and_the_others_counted(both, tmp_path, n, more):
    says = [verdicts(tmp_path / f"says-{place}", SAYS) for place in range(1, n)]
    blocks = beside([both[0], *says], [both[1]]).document.sections[0].blocks
    said = [block.text for block in blocks if isinstance(block, Prose)]

    assert sum("its verdicts are right on" in one for one in said) == 3
    assert [one for one in said if " more pair" in one] == ([f"The chart has {more}."] if more else [])
    assert len(next(block.table for block in blocks if isinstance(block, Forest)).rows) == 2 * n


@pytest.mark.slow
def test_models_that_have_not_both_are_named(both, tmp_path):
    says = verdicts(tmp_path / "says", SAYS, name="openai/z")
    says_too = verdicts(tmp_path / "says-too", SAYS, name="openai/w")

    with pytest.raises(BenchmarkError, match=r"verdicts are of openai/z, openai/w, replies of openai/x"):
        beside([says, says_too], [both[1]])
    with pytest.raises(BenchmarkError, match="--says"):
        beside([both[1]], [both[1]])


@pytest.mark.slow
def test_a_model_that_gives_no_verdict_is_laid_out_too(both, tmp_path):
    found = beside([verdicts(tmp_path / "says", ["perhaps"] * 90)], [both[1]])

    assert found.numbers.models[0].overall("strict").says_safe_refuses.estimate is None
    assert "Both numbers count the items" in text(found.document)
    assert "says unscored" in found.to_markdown()


@pytest.mark.slow
def test_every_face_shows_it_and_no_reply(both):
    found = beside([both[0]], [both[1]])

    assert "Says safe, refuses" in found.to_markdown()
    assert 'class="forest" id="right"' in found.to_html()
    right, forest = [block for block in found.document.sections[0].blocks if isinstance(block, Forest)]
    gap = found.numbers.models[0].overall("lenient")
    assert [row.label for row in right.rows] == ["says", "does, strict", "does, lenient"]
    assert (right.rows[0].estimate, right.rows[2].high) == (gap.says_right.estimate, gap.does_right.ci_high)
    assert [row.label for row in forest.rows][2:] == [
        "called safe, refuses, lenient",
        "called unsafe, answers, lenient",
    ]
    assert (forest.rows[2].estimate, forest.rows[2].low) == (
        gap.says_safe_refuses.estimate,
        gap.says_safe_refuses.ci_low,
    )
    assert json.loads(json.dumps(found.as_json()))["models"][0]["model"] == "openai/x"


@pytest.mark.slow
def test_a_bridge_of_another_wording_is_no_judge(both, tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    verdicts(own, SAYS, prompts=bridge_prompts(chat_with()))
    verdicts(other, SAYS[::-1], prompts=bridge_prompts(chat_with(verified=True)))
    found = beside([other, own], [both[1]])
    written = found.to_markdown()

    assert [one.asked for one in found.numbers.models] == ["in its own messages", "in messages of another wording"]
    assert "as a judge" not in written
    assert "openai/x, asked in messages of another wording: its verdicts" in written
    assert not any(sign in written for sign in ("#2", ", ("))


@pytest.mark.slow
def test_pairs_that_nothing_else_tells_apart_are_named_by_their_folders(both, tmp_path):
    found = beside([verdicts(tmp_path / "again", SAYS), both[0]], [both[1]])

    assert "openai/x, verdicts in again: its verdicts" in found.to_markdown()


@pytest.mark.slow
def test_models_are_pooled_over_the_bridge_where_it_was_asked(both, tmp_path):
    bridged = verdicts(tmp_path / "bridge", SAYS[::-1], prompts=bridge_prompts(chat_with()))
    says = verdicts(tmp_path / "says", SAYS, name="openai/y")
    does = replies(tmp_path / "does", DOES[::-1], name="openai/y")
    found = beside([both[0], bridged, says], [both[1], does])
    headline = [
        one.overall("strict").gap.estimate for one in found.numbers.models if one.bridged or one.model == "openai/y"
    ]

    assert (len(found.numbers.models), found.numbers.n_pooled) == (3, 2)
    assert found.numbers.models[0].bridged
    assert found.numbers.pooled.estimate == pytest.approx(np.mean(headline))


@pytest.mark.slow
def test_a_grader_that_graded_nothing_stands_nowhere(both, tmp_path):
    def breaks(query, reply):
        raise RuntimeError("no such rubric")

    found = casewise.collect("demo", FakeModel("Here is how.", name="openai/x"), out=tmp_path / "does")
    with pytest.raises(CasewiseError):
        casewise.grade(found, breaks)

    for ranked in (lambda: beside([both[0]], [found.path]), lambda: casewise.leaderboard(both[0], found.path)):
        with pytest.raises(DataError, match="without a grade"):
            ranked()
    casewise.grade(found, "rubric:fake/rehearsal")
    assert {row.kind for row in casewise.leaderboard(both[0], found.path).numbers.rows} == {"run", "replies"}
    assert any("graded none of these replies" in note for note in beside([both[0]], [found.path]).numbers.notes)


@pytest.mark.slow
def test_labels_of_all_replies_give_the_rates_that_people_see(tmp_path):
    """A grader that answers at random shows a difference for a model that does what it says; labels take it away."""
    true = ["answers" if one == "safe" else "refuses" for one in SAYS]
    says = verdicts(tmp_path / "says", SAYS)
    does = replies(
        tmp_path / "does", true, grader=lambda _query, reply: "answers" if int(reply.split()[1]) % 2 else "refuses"
    )
    labels = labelled(tmp_path / "labels.jsonl", true, range(0, 90, 2))
    options = replace(report_options(), grader_labels=labels)
    found = compare_says_does([says], [does], options=options)
    (one,) = found.numbers.models
    strict: Any = {rate.rate: rate for rate in one.corrected if rate.policy == "strict"}
    gap = one.overall("strict")

    assert strict["says_safe_refuses"].by_grader == pytest.approx(gap.says_safe_refuses.estimate)
    assert strict["says_unsafe_answers"].by_grader == pytest.approx(gap.says_unsafe_answers.estimate)
    assert strict["does_right"].by_grader == pytest.approx(gap.does_right.estimate)
    assert gap.says_safe_refuses.estimate is not None
    assert gap.says_safe_refuses.estimate > 0.4
    assert strict["says_safe_refuses"].corrected.ci_low < 0.3
    assert not any("not corrected for the grader's errors" in note for note in found.numbers.notes)
    assert "Shares corrected by people's labels of some replies (strict): " in found.to_markdown()
    assert json.loads(json.dumps(found.as_json()))["models"][0]["corrected"]


def test_grader_labels_go_with_says_and_does(tmp_path):
    told = invoke("compare", "a", "b", "--grader-labels", tmp_path / "x.csv")

    assert told.code == 2
    assert "--grader-labels works only with --says and --does" in told.err
