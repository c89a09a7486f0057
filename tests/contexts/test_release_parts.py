"""The parts of a release: what it refuses, what it says of authors and pairs, and which wordings it holds."""

from __future__ import annotations

from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.contexts.wordings import history, wording
from tests.support.app import NOW

from casewise.contexts.checks import PairKind
from casewise.contexts.record import ContextRecord, DraftRecord
from casewise.contexts.release import (
    ReleaseOptions,
    WordingHistory,
    check_complete,
    check_pairs,
    pairs_of,
    pairs_table,
    period,
    rehearsal_models,
    writer_of,
    writers_of,
    written_by,
)
from casewise.contexts.review import Act, Author
from casewise.errors import BenchmarkError
from casewise.records import Query

PLAIN, CHANGED, UNSAFE = wording(), wording(recipient__type="Cashier"), wording(recipient__type="Forger, known")
DRAFT: Any = SimpleNamespace(name="my letters")
GENERATE = ("model", Act.GENERATE, PLAIN)
REVIEWED = (("ada", Act.SUBMIT, CHANGED), ("ben", Act.SUBMIT, CHANGED))
APPROVED = (
    GENERATE,
    *REVIEWED,
    ("cleo", Act.TAKE, None),
    ("cleo", Act.APPROVE, None),
    ("ada", Act.CONFIRM, None),
    ("ben", Act.CONFIRM, None),
)
QUERY = Query(text="How is a letter forged?", category="impersonation")


def record(*contexts):
    return DraftRecord((), contexts)


def with_detail(context, **detail):
    """The same history, each event with this detail."""
    steps = (
        type(step)(**vars(step) | {"event": step.event.model_copy(update={"detail": detail})}) for step in context.steps
    )
    return ContextRecord(context.query_id, context.intended_safe, tuple(steps))


def test_contexts_that_are_not_approved_are_counted_by_where_they_stand():
    contexts = history(*APPROVED), history(GENERATE), history(GENERATE), history(*APPROVED[:3])

    check_complete(DRAFT, record(contexts[0]), unreviewed=False)
    with pytest.raises(
        BenchmarkError, match=r"my letters: 3 of 4 contexts are not approved \(2 generated, 1 agreed\); a release needs"
    ):
        check_complete(DRAFT, record(*contexts), unreviewed=False)


def test_an_unreviewed_release_needs_the_text_of_a_model_for_each():
    check_complete(DRAFT, record(history(GENERATE)), unreviewed=True)
    with pytest.raises(
        BenchmarkError,
        match="1 of 2 contexts are not generated yet; generate them: casewise contexts generate 'my letters' --model",
    ):
        check_complete(DRAFT, record(history(GENERATE), history()), unreviewed=True)


@pytest.mark.parametrize("unreviewed", [True, False])
def test_a_draft_whose_queries_are_all_withdrawn_is_not_released(unreviewed):
    with pytest.raises(BenchmarkError, match="every query is withdrawn, so there is nothing to release"):
        check_complete(DRAFT, record(history(GENERATE, ("owner", Act.WITHDRAW, None))), unreviewed=unreviewed)


def pair(unsafe=UNSAFE, **options):
    safe = history(*APPROVED, query=QUERY.id)
    other = history(("model", Act.GENERATE, unsafe), query=QUERY.id, intended_safe=False)
    return pairs_of([QUERY], record(safe, other), **options)


def test_a_pair_is_of_the_words_that_are_released():
    (reviewed,), (unreviewed,) = pair(), pair(unreviewed=True)

    assert reviewed.safe == history(query=QUERY.id).id_of(CHANGED)
    assert unreviewed.safe == history(query=QUERY.id).id_of(PLAIN)
    assert reviewed.unsafe == unreviewed.unsafe
    assert reviewed.comparison.differing == ("recipient.type",)


def test_a_query_with_one_context_is_no_pair():
    assert pairs_of([QUERY], record(history(*APPROVED, query=QUERY.id))) == []
    empty = history(query=QUERY.id, intended_safe=False)
    assert pairs_of([QUERY], record(history(*APPROVED, query=QUERY.id), empty)) == []


def test_the_table_of_pairs_names_what_differs_and_what_does_not():
    head, row = pairs_table(pair(vary=["recipient"])).splitlines()
    (found,) = pair()

    assert head == "query_id,query,safe_context_id,unsafe_context_id,kind,differs_in,same_in"
    assert row.startswith(
        f"{QUERY.id},{QUERY.text},{found.safe},{found.unsafe},{PairKind.NEARLY_IDENTICAL},recipient.type,"
    )
    assert row.count("; ") == 6


def test_pairs_that_say_the_same_are_refused_with_the_first_query():
    check_pairs(DRAFT, pair())
    with pytest.raises(
        BenchmarkError,
        match="my letters: the safe and the unsafe context of 2 queries say the same, the first of 'How is a letter forged",
    ):
        check_pairs(DRAFT, [*pair(unsafe=CHANGED) * 2, *pair()])


def test_the_period_of_one_day_is_that_day():
    first, last = date(2026, 1, 2), date(2026, 2, 1)

    assert period([last, first]) == "2026-01-02 to 2026-02-01"
    assert period([first, first]) == "2026-01-02"


def test_each_writer_has_a_line_with_the_number_of_contexts_and_the_days():
    day, next_day = NOW.date(), (NOW + timedelta(days=1)).date()
    generated = with_detail(history(GENERATE), prompt="p@1", model_version="model-2026")
    same = with_detail(history(GENERATE, at=NOW + timedelta(days=1)), prompt="p@1", model_version="model-2026")
    plain = with_detail(history(("other", Act.GENERATE, PLAIN)), model_version="other")
    imported = with_detail(history(("casewise", Act.IMPORT, PLAIN)), source="a.csv", author="person")
    adopted = with_detail(history(("casewise", Act.ADOPT, PLAIN)), source="x 1")
    rewritten = history(GENERATE, ("ada", Act.GIVE_UP, None), ("ada", Act.REWRITE, CHANGED), query="r")

    assert writers_of(record(generated, same, plain, imported, adopted, rewritten)) == [
        f"imported from a.csv, author person: 1 context, {day}",
        f"imported from x 1, author unknown: 1 context, {day}",
        f"model: 1 context, {day}",
        f"model (model-2026), prompt p@1: 2 contexts, {day} to {next_day}",
        f"other: 1 context, {day}",
        f"1 person: 1 context, {day}",
    ]


def test_rehearsal_models_that_wrote_contexts_are_named():
    contexts = [history((by, Act.GENERATE, PLAIN)) for by in ("fake/contexts", "model", "fake/contexts")]

    assert rehearsal_models(record(*contexts)) == ["fake/contexts"]


@pytest.mark.parametrize(
    ("authors", "words"),
    [
        ({Author.MODEL}, "generated by a model and signed off by people"),
        ({Author.PERSON_AFTER_MODEL}, "generated by a model and signed off by people"),
        ({Author.PERSON}, "written by people and signed off by people"),
        ({Author.PERSON_AFTER_UNKNOWN}, "imported from elsewhere and signed off by people"),
        (
            {Author.UNKNOWN, Author.PERSON, Author.MODEL},
            "generated by a model or written by people or imported from elsewhere and signed off by people",
        ),
    ],
)
def test_the_description_says_who_wrote_the_contexts(authors, words):
    assert written_by(authors, ReleaseOptions(version="1")) == words
    assert written_by(authors, ReleaseOptions(version="1", unreviewed=True)) == (
        "generated by a model and not reviewed"
    )


def test_a_text_is_by_a_person_a_model_or_the_source_that_it_came_from():
    imported, generated = history(("casewise", Act.IMPORT, PLAIN)), history(GENERATE)

    assert writer_of(with_detail(imported, source="a.csv").steps[0].event) == "a.csv"
    assert writer_of(imported.steps[0].event) == "casewise"
    assert writer_of(with_detail(generated, source="a.csv").steps[0].event) == "model"


def test_the_final_context_is_revised_and_goes_back_to_the_generated_one():
    found = WordingHistory(history(*APPROVED), "canary")

    assert found.generated is not None
    assert (found.generated.origin, found.final.origin) == ("generated", "revised")
    assert found.final.lineage_id == found.generated.id
    assert found.final.id == history().id_of(CHANGED)
    assert found.author == Author.PERSON_AFTER_MODEL
    assert found.final.provenance is not None
    assert (found.final.provenance.by, found.final.provenance.detail) == (
        "review",
        {"canary": "canary", "author": "person after model"},
    )


def test_a_context_that_was_approved_unchanged_is_revised_too():
    unchanged = (GENERATE, ("ada", Act.SUBMIT, PLAIN), ("ben", Act.SUBMIT, PLAIN), *APPROVED[3:])

    assert WordingHistory(history(*unchanged), "canary").final.origin == "revised"
    assert list(WordingHistory(history(*unchanged), "canary").revisions()) == []


def test_a_context_that_was_imported_goes_back_to_its_first_words_and_was_not_generated():
    found = WordingHistory(history(("casewise", Act.IMPORT, PLAIN), *APPROVED[1:]), "canary")

    assert found.generated is None
    assert found.root is not None
    assert found.final.lineage_id == found.root.id == history().id_of(PLAIN)


def test_an_adopted_context_is_by_the_release_that_it_came_from():
    adopted = with_detail(history(("casewise", Act.ADOPT, PLAIN)), source="x 1")
    found = WordingHistory(adopted, "canary").final

    assert found.provenance is not None
    assert found.provenance.by == "x 1"


def test_every_wording_that_was_stood_for_is_a_context_once():
    found = WordingHistory(history(*APPROVED), "canary")

    assert {context.id for context in found.contexts()} == {history().id_of(words) for words in (PLAIN, CHANGED)}
    assert list(found.contexts())[-1] == found.final


def test_a_revision_is_each_submission_of_other_words_with_its_reason():
    context = history(*APPROVED)
    first, second = WordingHistory(context, "canary").revisions()

    assert (first.reviewer, second.reviewer, first.reason) == ("ada", "ben", "because")
    assert (first.before_id, first.after_id) == (context.id_of(PLAIN), context.id_of(CHANGED))
    assert first.id != second.id
    assert first.at == context.steps[1].event.at


def test_what_was_taken_back_or_came_from_a_program_is_no_revision():
    taken_back = history(
        GENERATE, ("ada", Act.SUBMIT, CHANGED), ("ada", Act.TAKE_BACK, None), ("ben", Act.SUBMIT, PLAIN)
    )
    again = history(GENERATE, ("ada", Act.GIVE_UP, None), ("model", Act.GENERATE, CHANGED))

    assert list(WordingHistory(taken_back, "canary").revisions()) == []
    assert list(WordingHistory(again, "canary").revisions()) == []
