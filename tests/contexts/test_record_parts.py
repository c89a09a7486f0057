"""The record of a draft without a database: order, pseudonyms, lines, and what changed since a release."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.contexts.wordings import history, wording
from tests.support.app import NOW

from casewise.contexts.record import (
    ContextRecord,
    DraftAct,
    DraftEvent,
    DraftRecord,
    ReleaseChanges,
    changes_since,
    is_record,
    place_key,
    read_lines,
    record_from_lines,
)
from casewise.contexts.review import Act, Author, Phase
from casewise.contexts.store import OWNER
from casewise.records import Context

PLAIN, CHANGED = wording(), wording(recipient__type="Cashier")
GENERATE = ("model", Act.GENERATE, PLAIN)
HOUR = timedelta(hours=1)


def draft_event(seq, act, at=NOW, **detail):
    return DraftEvent(seq=seq, at=at, act=act, detail=detail)


def test_the_steps_of_all_contexts_stand_in_the_order_of_time():
    early, late = history(GENERATE, query="late", at=NOW + HOUR), history(GENERATE, query="early")
    selection, release = draft_event(1, DraftAct.SELECT), draft_event(2, DraftAct.RELEASE, NOW + 2 * HOUR)

    record = DraftRecord((selection, release), (early, late))
    assert [of for of, _ in record.in_order] == [selection, late, early, release]


def test_a_step_with_an_earlier_time_than_the_one_before_it_stays_behind_it():
    context = history(GENERATE, ("ada", Act.SUBMIT, PLAIN), ("ben", Act.SUBMIT, PLAIN))
    first, second, third = context.steps
    back = second.event.model_copy(update={"at": NOW - HOUR})
    context = ContextRecord(
        "q", intended_safe=True, steps=(first, type(second)(**vars(second) | {"event": back}), third)
    )

    assert [step and step.event.seq for _, step in DraftRecord((), (context,)).in_order] == [1, 2, 3]


def test_people_are_numbered_as_they_first_act_and_programs_and_the_owner_keep_their_names():
    one = history(GENERATE, ("zoe", Act.SUBMIT, PLAIN), ("ada", Act.SUBMIT, CHANGED), ("zoe", Act.COMMENT, None))
    other = history(("casewise", Act.IMPORT, PLAIN), (OWNER, Act.WITHDRAW, None), query="r", at=NOW + HOUR)
    named = DraftRecord((), (one, other)).with_pseudonyms()

    assert [step.event.by for context in named.contexts for step in context.steps] == [
        *("model", "person-1", "person-2", "person-1"),
        *("casewise", OWNER),
    ]
    assert named.contexts[0].state.reviewers == ("person-1", "person-2")


def test_what_was_withdrawn_does_not_stand_and_has_its_reason():
    gone = history(GENERATE, (OWNER, Act.WITHDRAW, None), query="gone", reason="too well known")
    record = DraftRecord((), (gone, history(GENERATE), history(query="empty")))

    assert record.withdrawn == {"gone": "too well known"}
    assert [context.query_id for context in record.standing] == ["q", "empty"]


def test_a_context_without_steps_is_missing_and_has_no_text_of_a_model():
    empty = history()

    assert (empty.state.phase, empty.generated_step, empty.generated, empty.source_id) == (
        Phase.MISSING,
        None,
        None,
        None,
    )
    assert (empty.key, history(intended_safe=False).key) == ("q safe", "q unsafe")


def test_the_text_of_a_model_is_the_last_that_it_wrote_and_no_import():
    again = history(GENERATE, ("ada", Act.GIVE_UP, None), ("model", Act.GENERATE, CHANGED), ("ada", Act.SUBMIT, PLAIN))
    imported = history(("casewise", Act.IMPORT, PLAIN))

    assert again.generated == CHANGED
    assert imported.generated is None


def test_the_id_of_words_is_that_of_the_context_that_states_them():
    context = Context(query_id="q", intended_safe=True, origin="revised", **PLAIN.model_dump())

    assert history().id_of(PLAIN) == context.id
    assert history().id_of(None) is None
    assert history(intended_safe=False).id_of(PLAIN) != context.id


def test_each_line_says_who_acted_on_what_with_which_words():
    context = history(GENERATE, ("ada", Act.SUBMIT, CHANGED), ("ada", Act.TAKE_BACK, None), ("ben", Act.SUBMIT, PLAIN))
    lines = DraftRecord((draft_event(1, DraftAct.SELECT, seed=3),), (context,)).lines()
    plain, changed = context.id_of(PLAIN), context.id_of(CHANGED)

    assert [line.number for line in lines] == [1, 2, 3, 4, 5]
    assert (lines[0].act, lines[0].by, lines[0].actor, lines[0].detail) == ("select", OWNER, "person", {"seed": 3})
    assert [(line.act, line.by, line.actor, line.wording_id, line.before_id, line.after_id) for line in lines[1:]] == [
        ("generate", "model", "model", plain, None, plain),
        ("submit", "ada", "person", changed, plain, plain),
        ("take back", "ada", "person", None, plain, plain),
        ("submit", "ben", "person", plain, plain, plain),
    ]
    assert [line.taken_back for line in lines] == [None, None, True, None, None]
    assert [line.author for line in lines[1:]] == [
        *(Author.MODEL, Author.PERSON_AFTER_MODEL, Author.MODEL, Author.MODEL),
    ]


@pytest.mark.parametrize(
    ("action", "actor"),
    [
        (GENERATE, "model"),
        (("casewise", Act.IMPORT, PLAIN), "program"),
        (("casewise", Act.ADOPT, PLAIN), "program"),
        (("casewise", Act.FAIL, None), "program"),
        (("model", Act.FAIL, None), "model"),
        (("ada", Act.WITHDRAW, None), "person"),
    ],
)
def test_an_actor_is_a_person_a_model_or_a_program(action, actor):
    (line,) = DraftRecord((), (history(action),)).lines()

    assert line.actor == actor


def test_the_words_of_a_withdrawn_query_and_private_details_are_not_published():
    context = history(GENERATE, (OWNER, Act.WITHDRAW, None))
    (first, *_) = context.steps
    private = first.event.model_copy(update={"detail": {"prompt": "p@1", "raw_reply": "secret", "session": {}}})
    shown = history(GENERATE)
    shown = ContextRecord("r", intended_safe=True, steps=(type(first)(**vars(shown.steps[0]) | {"event": private}),))
    lines = DraftRecord((), (context, shown)).lines()

    assert {line.query_id: line.wording for line in lines if line.act == "generate"} == {"q": None, "r": PLAIN}
    assert [line.detail for line in lines if line.query_id == "r"] == [{"prompt": "p@1"}]


def test_the_lines_of_a_record_make_the_record_again_without_what_was_withdrawn(tmp_path):
    events = (draft_event(1, DraftAct.SELECT, seed=3), draft_event(2, DraftAct.ADD, NOW + 2 * HOUR))
    kept, gone = (
        history(GENERATE, ("ada", Act.SUBMIT, PLAIN)),
        history(GENERATE, (OWNER, Act.WITHDRAW, None), query="r"),
    )
    gone = ContextRecord(
        "r", intended_safe=True,
        steps=tuple(
            type(step)(**vars(step) | {"event": step.event.model_copy(update={"to_phase": step.after.phase})})
            for step in gone.steps
        ),
    )  # fmt: skip
    (tmp_path / "events.jsonl").write_text(DraftRecord(events, (kept, gone)).as_jsonl())

    again = record_from_lines(read_lines(tmp_path / "events.jsonl"))
    assert again.events == events
    assert again.contexts == (kept,)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ('{"number": 1, "act": "x", "actor": "person"}\n', True),
        ('{"act": "x"}\n', False),
        ('{"actor": 1}', False),
        ("", False),
    ],
)
def test_the_record_of_a_release_is_told_from_other_events(tmp_path, text, is_one):
    (tmp_path / "events.jsonl").write_text(text)

    assert is_record(tmp_path / "events.jsonl") is is_one
    assert not is_record(tmp_path / "none.jsonl")


def test_changes_are_those_since_the_last_release():
    contexts = {"a safe": "1", "b safe": "2", "c safe": "3"}
    first = draft_event(1, DraftAct.SELECT, release={"title": "x 1", "contexts": {"z safe": "9"}})
    last = draft_event(2, DraftAct.RELEASE, title="x 2", contexts={"a safe": "1", "b safe": "0", "d safe": "4"})
    further = draft_event(3, DraftAct.ADD)

    assert changes_since([first, last, further], contexts) == ReleaseChanges(
        since="x 2", added=("c safe",), removed=("d safe",), changed=("b safe",), unchanged=1
    )
    assert changes_since([first], contexts).since == "x 1"  # type: ignore[union-attr]  # it has a base
    assert changes_since([further], contexts) is None


def test_the_place_of_a_context_is_its_query_and_its_intent():
    assert [place_key("q", intended_safe=intent) for intent in (True, False)] == ["q safe", "q unsafe"]
