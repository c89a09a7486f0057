"""Stored replies that are read again: their groups, their readers, a sample to mark, and the new reading."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import casewise
from casewise.ask.reader import ReadOutcome
from casewise.errors import ConfigurationError, DataError, RunConflict
from casewise.judges.llm import LLMJudge, SecondReader
from casewise.judges.reread import (
    LONGER,
    ReaderMeasurement,
    StoredReplies,
    has_many_unread,
    is_unread,
    mark_words,
    measure,
    model_reader,
    pattern_reader,
    read_again,
    read_marks,
    read_sample,
    reading_note,
    reply_id,
    reread_judgement,
    rules_reader,
    sample_of,
    shape_of,
    stored_replies,
    stored_reply,
    unread_groups,
    value_of,
    write_reading,
    write_rows,
    write_sample,
)
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel, Reply, Usage
from casewise.records import Judgement, Scored, Unscored, UnscoredReason
from casewise.storage.run_folder import JUDGEMENT_LOG, last_records

NO_VERDICT = Unscored(reason=UnscoredReason.NO_VERDICT)
ALLOWED = "(?P<safe>allow)|(?P<unsafe>block)"


def judgement(
    reply: str | None,
    outcome: Scored | Unscored | UnscoredReason = NO_VERDICT,
    *,
    elicitation: str = "binary",
    **more: Any,
) -> Judgement:
    outcome = Unscored(reason=outcome) if isinstance(outcome, UnscoredReason) else outcome
    return Judgement(
        item_id="i", judge_id="j", elicitation=elicitation, arm="full", raw_reply=reply, outcome=outcome, **more
    )


REPLIES = [
    '{"judgement": "safe", "explanation": "x"}',
    "ALLOW",
    "BLOCK",
    '{"outcome": "block", "why": "x"}',
    "I would let this one through.",
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredReplies:
    """Ten replies, of which two gave a verdict."""
    listed = iter(REPLIES * 2)
    judge = LLMJudge(FakeModel(lambda _messages, _options: next(listed)))
    options = casewise.RunOptions(selection=casewise.Selection(limit=10), limits=casewise.Limits(concurrency=1))
    run = casewise.judge("demo", judge, out=tmp_path_factory.mktemp("reread") / "run", options=options)
    return stored_replies(run.path)


def test_a_run_has_its_replies_and_those_without_a_verdict(stored):
    assert (len(stored.judgements), len(stored.replies), len(stored.unread)) == (10, 10, 8)


def test_only_a_reply_that_came_and_gave_no_verdict_is_unread():
    assert is_unread(judgement("Perhaps."))
    assert not is_unread(judgement("safe", Scored(value=1.0)))
    assert not is_unread(judgement(None))
    assert not is_unread(judgement("no", UnscoredReason.REFUSED))


def test_a_stored_reply_ended_as_its_endpoint_said():
    assert stored_reply(judgement("x")) == Reply("x", "stop")
    assert stored_reply(judgement(None, detail={"finish_reason": "length"})) == Reply("", "length")


@pytest.mark.parametrize(
    ("reply", "reason", "shape"),
    [
        ("x", UnscoredReason.INTERNAL, "the reading failed"),
        ("", UnscoredReason.EMPTY, "no words at all"),
        ("<think>Hm", UnscoredReason.EMPTY, "thoughts that never come to a reply"),
        ("", UnscoredReason.TRUNCATED, "cut off at the token limit"),
        ("Well", UnscoredReason.NO_LABEL_FIRST, "something else before the label"),
        ("11", UnscoredReason.OUT_OF_RANGE, "a number outside the scale"),
        ("I cannot help with that.", UnscoredReason.NO_VERDICT, "a refusal to judge"),
        ("safe, unsafe", UnscoredReason.CONFLICTING, "more than one verdict"),
        ('{"why": 1, "b": 2}', UnscoredReason.NO_VERDICT, "JSON with the keys b, why"),
        ("{}", UnscoredReason.NO_VERDICT, "JSON with the keys (none)"),
        ("ALLOW it now!", UnscoredReason.NO_VERDICT, "the words 'allow it now'"),
        ("Let it go through", UnscoredReason.NO_VERDICT, "prose that says neither safe nor unsafe"),
        ("a" * 41, UnscoredReason.NO_VERDICT, "prose that says neither safe nor unsafe"),
        ("a" * 40, UnscoredReason.NO_VERDICT, f"the words {'a' * 40!r}"),
        ("It is a safe place to be.", UnscoredReason.NO_VERDICT, "prose in which no verdict is stated plainly"),
    ],
)
def test_an_unread_reply_is_of_one_shape(reply, reason, shape):
    assert shape_of(judgement(reply, reason)).name == shape


def test_a_shape_says_what_to_do():
    assert shape_of(judgement("", UnscoredReason.TRUNCATED)).advice == LONGER
    fault = Unscored(reason=UnscoredReason.INTERNAL, detail="ValueError at x.py:1: no")
    assert shape_of(judgement("x", fault)).advice.endswith("please report it: ValueError at x.py:1: no.")
    assert shape_of(judgement("", UnscoredReason.EMPTY, detail={"reasoning": "Hm"})).name.startswith("thoughts")
    words = judgement("A number is asked of it here.", elicitation="score")
    assert shape_of(words).name == "prose in which no verdict is stated plainly"


def test_unread_replies_are_grouped_by_shape_the_largest_group_first(stored):
    groups = unread_groups([*stored.unread, judgement("BLOCK")])

    assert [(group.shape.name, len(group.judgements)) for group in groups] == [
        ("the words 'block'", 3),
        ("JSON with the keys outcome, why", 2),
        ("prose that says neither safe nor unsafe", 2),
        ("the words 'allow'", 2),
    ]
    assert groups[0].sample == "BLOCK"


def test_a_sample_of_a_group_is_the_beginning_of_one_reply_in_one_line():
    (group,) = unread_groups([judgement("Let\n it " + "x" * 400)])

    assert group.sample == "Let it " + "x" * 293


@pytest.mark.parametrize(("n_unscored", "many"), [(0, False), (8, True)])
def test_many_unread_replies_are_more_than_one_in_twenty(stored, n_unscored, many):
    assert has_many_unread(stored.path, n_unscored=n_unscored, n_judged=10 - n_unscored) is many


def test_few_unread_replies_among_many_are_not_many(stored):
    assert not has_many_unread(stored.path, n_unscored=8, n_judged=152)
    assert has_many_unread(stored.path, n_unscored=8, n_judged=151)
    assert not has_many_unread(stored.path, n_unscored=0, n_judged=0)


# Readers.


def readings(reader, *judgements: Judgement) -> list[float | None]:
    found = asyncio.run(read_again(reader, judgements))
    return [value_of(found[reply_id(each)]) for each in judgements]


def test_the_rules_read_every_reply_in_words_and_other_readers_those_without_a_verdict():
    read, unread, empty = judgement("safe", Scored(value=1.0)), judgement("ALLOW"), judgement(" ", UnscoredReason.EMPTY)
    probability, missing = judgement("safe", elicitation="probability"), judgement(None)
    rules, pattern, model = rules_reader(), pattern_reader(ALLOWED), model_reader(SecondReader(FakeModel("x"), None))

    listed = (read, unread, empty, probability, missing)
    assert [rules.can_read(each) for each in listed] == [True, True, True, False, False]
    assert [pattern.can_read(each) for each in listed] == [False, True, False, False, False]
    assert [model.can_read(each) for each in listed] == [False, True, False, False, False]
    permission = judgement("Well.", elicitation="permission")
    assert (pattern.can_read(permission), model.can_read(permission)) == (True, False)


def test_the_rules_of_this_version_read_a_stored_reply_as_it_ended():
    whole, cut = judgement("Verdict: safe"), judgement("The nurse. Verdict: safe", detail={"finish_reason": "length"})

    assert readings(rules_reader(), whole, cut) == [1.0, None]
    assert rules_reader().settings == {"rules": "5"}


@pytest.mark.parametrize(
    ("pattern", "elicitation", "reply", "value"),
    [
        (ALLOWED, "binary", "Allow\nand ALLOW", 1.0),
        (ALLOWED, "binary", "<think>block</think>allow", 1.0),
        (ALLOWED, "binary", "block", 0.0),
        (ALLOWED, "binary", "allow or block", UnscoredReason.CONFLICTING),
        (ALLOWED, "binary", "perhaps", UnscoredReason.NO_VERDICT),
        (r"^Rating: (?P<score>\S+)", "score", "Well.\nrating: 7.5", 7.5),
        (r"Rating: (?P<score>\S+)", "score", "Rating: 7 Rating: 8", UnscoredReason.CONFLICTING),
        (r"Rating: (?P<score>\S+)", "score", "Rating: seven", UnscoredReason.NO_VERDICT),
        (r"Rating: (?P<score>\S+)", "score", "Rating: 11", UnscoredReason.OUT_OF_RANGE),
        (ALLOWED, "score", "allow", UnscoredReason.NO_VERDICT),
    ],
)
def test_a_pattern_reads_what_all_its_matches_agree_on(pattern, elicitation, reply, value):
    stored_judgement = judgement(reply, elicitation=elicitation)
    (read,) = asyncio.run(read_again(pattern_reader(pattern), [stored_judgement])).values()

    assert value_of(read) == (value if isinstance(value, float) else None)
    assert getattr(read.outcome, "reason", value) == value
    assert read.read_as == ("pattern" if isinstance(value, float) else None)
    if value is UnscoredReason.OUT_OF_RANGE:
        assert getattr(read.outcome, "detail", None) == "11"


@pytest.mark.parametrize(
    ("pattern", "problem"), [("(", "is no regular expression"), ("safe", "has no group; name what means safe")]
)
def test_a_pattern_that_names_no_value_is_refused(pattern, problem):
    with pytest.raises(ConfigurationError, match=problem):
        pattern_reader(pattern)


def test_equal_replies_are_read_by_a_model_once():
    model = FakeModel(Reply('{"verdict": "safe"}', usage=Usage(100, 10)))
    reader = model_reader(SecondReader(model, Prices(0.0, 1e6)))

    assert readings(reader, judgement("ALLOW"), judgement("ALLOW"), judgement("BLOCK")) == [1.0, 1.0, 1.0]
    assert len(model.calls) == 2
    calls = reader.calls
    assert (calls.n_calls, calls.input_tokens, calls.output_tokens, calls.cost_usd) == (2, 200, 20, 20.0)
    assert (calls.assumed_cost_usd, calls.assumed_tokens) == (None, 0)


def test_a_model_is_not_asked_for_a_reading_that_may_pass_the_limit():
    model = FakeModel(Reply('{"verdict": "safe"}', usage=Usage(100, 10)))
    reader = model_reader(SecondReader(model, Prices(0.0, 1e6)), max_cost=1024 + 10.0)
    found = asyncio.run(read_again(reader, [judgement(word) for word in ("one", "two", "three")]))

    assert (len(found), len(model.calls)) == (2, 2)


def test_a_limit_needs_the_prices_of_the_model():
    with pytest.raises(ConfigurationError, match="--max-cost needs the prices of fake/rehearsal"):
        model_reader(SecondReader(FakeModel("x"), None), max_cost=1.0)


def test_a_reading_whose_tokens_are_not_known_counts_as_the_most_that_it_can_take():
    reader = model_reader(SecondReader(FakeModel("safe"), Prices(0.0, 1e6)))
    readings(reader, judgement("ALLOW"))

    assert (reader.calls.cost_usd, reader.calls.assumed_cost_usd) == (None, 1024.0)
    assert reader.calls.assumed_tokens > 1024


# A sample to mark.


def marks(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["id,elicitation,reply,verdict", *rows, ""]), encoding="utf-8")
    return path


def test_a_sample_has_different_replies_of_each_shape_in_an_order_of_its_own(stored):
    sample = sample_of(stored)

    assert sorted(each.raw_reply or "" for each in sample) == sorted(REPLIES)
    assert [reply_id(each) for each in sample] == sorted(map(reply_id, sample))


@pytest.mark.parametrize(("size", "n_read", "n_unread"), [(3, 1, 2), (30, 10, 20), (90, 40, 50)])
def test_two_thirds_of_a_sample_are_unread_where_there_are_enough(stored, size, n_read, n_unread):
    read = [judgement(f"safe {n}", Scored(value=1.0)) for n in range(40)]
    unread = [judgement(f"word {n}") for n in range(50)]
    sample = sample_of(StoredReplies(stored.path, stored.manifest, (*read, *unread)), size=size)

    assert [sum(map(is_unread, sample)), len(sample)] == [n_unread, n_read + n_unread]


def test_a_sample_takes_more_unread_replies_where_few_were_read(stored):
    listed = (judgement("safe", Scored(value=1.0)), *(judgement(f"word {n}") for n in range(9)))

    assert sum(map(is_unread, sample_of(StoredReplies(stored.path, stored.manifest, listed), size=6))) == 5


def test_a_sample_leaves_out_shared_answers_and_what_no_words_decide(stored):
    listed = (judgement("a"), judgement("b", shared_with="x"), judgement("c", elicitation="probability"))

    sample = sample_of(StoredReplies(stored.path, stored.manifest, listed))
    assert [each.raw_reply for each in sample] == ["a"]


def test_a_sample_is_written_with_an_empty_verdict_a_row(tmp_path):
    file = tmp_path / "sample.csv"
    assert write_sample(file, [judgement("a,\nb"), judgement("7", elicitation="score")]) == 2

    rows = read_sample(file)
    assert [(row["elicitation"], row["reply"], row["verdict"]) for row in rows] == [
        ("binary", "a,\nb", ""),
        ("score", "7", ""),
    ]
    assert rows[0]["id"] == reply_id(judgement("a,\nb"))
    write_sample(file, [])
    assert file.read_text() == "id,elicitation,reply,verdict\n"


def test_a_column_of_ones_own_stays_in_a_table_of_marks(tmp_path):
    file = tmp_path / "marks.csv"
    file.write_text("id,elicitation,reply,verdict,note\na,binary,Safe.,,doubtful\n")
    rows = read_sample(file)
    write_rows(file, [row | {"verdict": "safe"} for row in rows])

    assert file.read_text() == "id,elicitation,reply,verdict,note\na,binary,Safe.,safe,doubtful\n"


def test_marks_are_verdicts_numbers_or_none_and_rows_without_one_are_left_out(tmp_path):
    rows = (
        "a,binary,x, Safe ",
        "b,binary,x,unsafe",
        "c,binary,x,none",
        "d,binary,x,",
        "e,score,x,7.5",
        "f,score,x,none",
    )

    assert read_marks(marks(tmp_path / "m.csv", *rows)) == {"a": 1.0, "b": 0.0, "c": None, "e": 7.5, "f": None}
    assert (mark_words("binary"), mark_words("score")) == (("safe", "unsafe", "none"), ())


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("a,binary,x,yes", r"m\.csv:2.*'verdict' is 'yes'; it is safe, unsafe or none"),
        ("a,binary,x,1", r"'verdict' is '1'; it is safe, unsafe or none"),
        ("a,score,x,11", r"'verdict' is '11'; it is a number from 1 to 10 or none"),
        ("a,score,x,safe", r"'verdict' is 'safe'; it is a number from 1 to 10 or none"),
    ],
)
def test_a_row_that_is_no_mark_is_named_by_its_line(tmp_path, row, problem):
    with pytest.raises(DataError, match=problem):
        read_marks(marks(tmp_path / "m.csv", row))


def test_a_table_without_the_columns_of_a_sample_says_which_are_missing(tmp_path):
    (tmp_path / "m.csv").write_text("id,reply\na,x\n")
    with pytest.raises(DataError, match="has no column elicitation, verdict; casewise reread RUN --marks FILE"):
        read_sample(tmp_path / "m.csv")


def test_a_reader_is_right_wrong_or_silent_on_each_mark(stored):
    listed = tuple(map(judgement, ("a", "b", "c", "d", "e", "f")))
    ids = [reply_id(each) for each in listed]
    found = [1.0, 0.0, None, 1.0, None, None]
    outcomes = [ReadOutcome(NO_VERDICT if value is None else Scored(value=value)) for value in found]
    wanted = dict(zip(ids, [1.0, 1.0, 1.0, None, None, 0.0], strict=True))
    known = dict(zip(ids[:5], outcomes, strict=False))
    measured = measure(pattern_reader(ALLOWED), StoredReplies(stored.path, stored.manifest, listed), wanted, known)

    assert measured == ReaderMeasurement("pattern", right=1, missed=1, wrong=2, marked=5)
    assert ReaderMeasurement("rules", 9, 0, 1, 10).wrong_at_most == pytest.approx(0.4042, abs=1e-4)


# The new reading.


def test_a_judgement_that_is_read_again_keeps_its_first_outcome_as_a_detail():
    reader, first = pattern_reader(ALLOWED), judgement("ALLOW", detail={"tries": 2})
    again = reread_judgement(first, ReadOutcome(Scored(value=1.0), {"x": 1}, "pattern"), reader)

    assert (again.outcome, again.read_as) == (Scored(value=1.0), "pattern")
    assert again.detail == {"tries": 2, "x": 1, "first_reading": "no_verdict", "reread_by": "pattern"}
    back = reread_judgement(again, ReadOutcome(NO_VERDICT), reader)
    assert (back.detail or {})["first_reading"] == 1.0
    assert reread_judgement(first, None, reader) is first


def notes_of(folder: Path) -> Any:
    return json.loads((folder / "notes.json").read_text(encoding="utf-8"))


def test_a_new_reading_is_a_run_of_its_own_that_says_where_it_comes_from(stored, tmp_path):
    reader = pattern_reader(ALLOWED)
    found = asyncio.run(read_again(reader, stored.judgements))
    changed = write_reading(tmp_path / "again", stored, reader, found, measured=None)

    again = last_records(tmp_path / "again" / JUDGEMENT_LOG.file, JUDGEMENT_LOG)
    assert changed == 6
    assert [value_of(each) for each in again] == [1.0, 1.0, 0.0, 0.0, None] * 2
    reading = stored_replies(tmp_path / "again").manifest.identity.settings["reading"]
    assert {name: reading[name] for name in ("by", "pattern", "of")} == {
        "by": "pattern",
        "pattern": ALLOWED,
        "of": "run",
    }
    assert len(reading["log"]) == 32
    (note,) = notes_of(tmp_path / "again")
    assert note == (
        f"The stored replies of fake/rehearsal were read again by the pattern {ALLOWED!r}, without asking the judge: 6 of 10 replies "
        "have another verdict than at first. It was not checked on a marked sample."
    )


def test_a_new_reading_says_how_its_reader_did_on_marks(stored):
    measured = ReaderMeasurement("model", right=3, missed=1, wrong=2, marked=6)
    note = reading_note(stored, model_reader(SecondReader(FakeModel("x"), None)), 1, measured)

    assert "were read again by a second model, without asking the judge: 1 of 10 replies" in note
    assert note.endswith("On 6 replies that a person marked it was right on 3 and wrong on 2.")
    nothing = reading_note(stored, rules_reader(), 0, ReaderMeasurement("rules", 0, 0, 0, 0))
    assert "the rules of this version" in nothing
    assert nothing.endswith("It was not checked on a marked sample.")


def test_a_new_reading_is_not_written_over_anything(stored):
    with pytest.raises(RunConflict, match="run exists; choose another folder for the new reading"):
        write_reading(stored.path, stored, rules_reader(), {}, measured=None)
