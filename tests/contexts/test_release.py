import contextlib
import hashlib
import json

import numpy as np
import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import wording
from tests.support.app import NOW
from tests.support.databases import new_database

from casewise.contexts.release import ReleaseOptions, release
from casewise.contexts.review import NEED_WORDING, Act, NotAllowed, possible_acts
from casewise.contexts.store import events_of, steps_of
from casewise.errors import BenchmarkError, ChecksumMismatch, ConfigurationError
from casewise.storage.benchmark_folder import read_benchmark
from casewise.storage.load import load

CHANGED = wording(recipient__type="Cashier")
UNSAFE = wording(transmission_principle__sender_purpose="To sell forged letters")


@pytest.fixture
def here(tmp_path):
    store = new_database(tmp_path / "x.db")
    yield room(store, unsafe=UNSAFE)
    store.close()


@pytest.fixture
def approved(here):
    for place in here.places():
        here.approve(place, CHANGED if place.position == 0 else place.state.wording)
    return here


def released(here, folder, **options):
    with here.store.read() as connection:
        return release(connection, here.draft, folder, options=ReleaseOptions(version="1.0.0", **options), now=NOW)


def test_nothing_is_released_while_anything_is_unsigned(here, tmp_path):
    here.approve(here.place(), CHANGED)

    with pytest.raises(BenchmarkError, match="3 of 4 contexts are not approved"):
        released(here, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_release_is_a_benchmark_with_its_revisions(approved, tmp_path):
    benchmark = load(released(approved, tmp_path / "out"))

    assert benchmark.counts.items == 4
    assert {item.condition for item in benchmark.items} == {"safe_revised", "unsafe_revised"}
    shown = [benchmark.context_of(item) for item in benchmark.items]
    assert [context.shown()["recipient"]["type"] for context in shown if context] == ["Cashier", *["Bank clerk"] * 3]
    assert len(benchmark.revisions) == 2
    assert {revision.reviewer for revision in benchmark.revisions} == {"person-1", "person-2"}
    assert {revision.before_id for revision in benchmark.revisions} <= set(benchmark.context)
    assert shown[0] is not None
    assert {revision.after_id for revision in benchmark.revisions} == {shown[0].id}
    assert shown[0].lineage_id == benchmark.revisions[0].before_id


def in_random_order(here, place, rng, *, steps):
    """Let people take random steps on a context, each time with one of three wordings; return its text after each."""
    people, words = (
        [here.ada, here.ben, here.cleo],
        [wording(recipient__type=name) for name in ("Cashier", "Clerk", "Guard")],
    )
    texts = []
    for _ in range(steps):
        now = here.find(place)
        open_acts = [(by, one) for by in people for one in possible_acts(now.state, by.id)]
        by, chosen = open_acts[rng.integers(len(open_acts))]
        with contextlib.suppress(NotAllowed):  # by what others have typed or could review
            here.do(now, by, chosen, words[rng.integers(3)] if chosen in NEED_WORDING else None, "because")
            texts.append((now.state.wording, here.find(place).state.wording))
    return texts


@pytest.mark.slow
def test_the_text_before_and_after_each_step_of_a_random_history_is_what_the_database_held(here):
    rng = np.random.default_rng(1)
    for place in here.places():
        texts = in_random_order(here, place, rng, steps=60)
        with here.store.read() as connection:
            steps = steps_of(events_of(connection, place.id))[1:]

        assert [(one.before.wording, one.after.wording) for one in steps] == texts
        assert steps[-1].after == here.find(place).state


def test_a_revision_replaces_the_text_that_was_accepted_before(here, tmp_path):
    first, second, third = (wording(recipient__type=name) for name in ("Cashier", "Clerk", "Guard"))
    place = here.place()
    for by, act, words, reason in [
        (here.ada, Act.SUBMIT, first, None),
        (here.ben, Act.SUBMIT, second, None),
        (here.ada, Act.ACCEPT, None, None),
        (here.cleo, Act.TAKE, None, None),
        (here.cleo, Act.RETURN, None, "Who is it?"),
        (here.ada, Act.OFFER, third, None),
        (here.ben, Act.ACCEPT, None, None),
    ]:
        here.do(place, by, act, words, reason)
    for by, act in [(here.cleo, Act.TAKE), (here.cleo, Act.APPROVE), (here.ada, Act.CONFIRM), (here.ben, Act.CONFIRM)]:
        here.do(place, by, act)
    for other in here.places()[1:]:
        here.approve(other, other.state.wording)

    benchmark = load(released(here, tmp_path / "out"))

    types = {key: context.shown()["recipient"]["type"] for key, context in benchmark.context.items()}
    changes = [(types[revision.before_id], types[revision.after_id]) for revision in benchmark.revisions]
    assert changes == [("Bank clerk", "Cashier"), ("Bank clerk", "Clerk"), ("Clerk", "Guard")]


def test_a_review_that_was_taken_back_is_no_revision(here, tmp_path):
    here.do(here.place(), here.ada, Act.SUBMIT, CHANGED)
    here.do(here.place(), here.ada, Act.TAKE_BACK)
    for place in here.places():
        here.approve(place, place.state.wording)

    assert not load(released(here, tmp_path / "out")).revisions


def test_contexts_of_people_are_not_called_generated(here, tmp_path):
    by_hand, revised, *others = here.places()
    here.do(by_hand, here.ada, Act.GIVE_UP, reason="It asks for something else")
    here.do(by_hand, here.ada, Act.REWRITE, wording(recipient__type="Guard"))
    here.approve(by_hand, wording(recipient__type="Guard"))
    here.approve(revised, wording(recipient__type="Forger"))
    for place in others:
        here.approve(place, place.state.wording)

    folder = released(here, tmp_path / "out")

    benchmark, statistics = load(folder), json.loads((folder / "statistics.json").read_text())
    lines = (json.loads(line) for line in (folder / "contexts.jsonl").read_text().splitlines())
    written = {line["id"]: line["provenance"]["detail"]["author"] for line in lines if "id" in line}
    authors = [written[item.context_id or ""] for item in benchmark.items]
    assert authors == ["person", "person after model", "model", "model"]
    assert statistics["authors"] == {"model": 2, "person": 1, "person after model": 1}
    assert (statistics["changed"]["count"], statistics["changed"]["of"]) == (1, 3)
    card = (folder / "DATA_CARD.md").read_text()
    assert "- a person: 1\n" in card
    assert "\n- 1 person: 1 context, 2026-" in card
    assert "generated by a model or written by people and signed off by people" in (benchmark.about.description or "")


def test_it_is_gated_with_terms_a_card_statistics_a_canary_in_every_context_and_no_name_of_a_person(approved, tmp_path):
    folder = released(approved, tmp_path / "out", licence="CC-BY-4.0")
    about = load(folder).about

    assert about.gated
    assert about.canary is not None
    lines = (folder / "contexts.jsonl").read_text().splitlines()
    assert all(about.canary in line for line in lines)
    card = (folder / "DATA_CARD.md").read_text()
    assert about.canary in card
    assert "CC-BY-4.0" in card
    assert "misused" in (folder / "TERMS.md").read_text()
    statistics = json.loads((folder / "statistics.json").read_text())
    assert statistics["changed"]["value"] == 0.25
    assert "work" not in statistics
    everything = "".join(path.read_text() for path in folder.iterdir())
    for person in (approved.ada, approved.ben, approved.cleo):
        assert person.id not in everything
        assert person.email not in everything


@pytest.mark.parametrize("unreviewed", [True, False])
def test_a_release_whose_two_contexts_of_a_query_say_the_same_is_refused(tmp_path, unreviewed):
    store = new_database(tmp_path / "pairs.db")
    here = room(store, unsafe=wording(recipient__type="bank clerk."))
    for place in here.places():
        here.approve(place, place.state.wording)

    with pytest.raises(BenchmarkError, match="the safe and the unsafe context of 2 queries say the same"):
        released(here, tmp_path / "out", unreviewed=unreviewed)
    assert not (tmp_path / "out").exists()
    store.close()


@pytest.mark.slow
def test_every_file_is_checksummed_and_a_changed_one_noticed_and_nothing_is_overwritten(approved, tmp_path):
    folder = released(approved, tmp_path / "out")
    with pytest.raises(ConfigurationError, match="never overwritten"):
        released(approved, tmp_path / "out")

    lines = (folder / "SHA256SUMS").read_text().splitlines()

    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert set(sums) == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in sums.items())
    with (folder / "contexts.jsonl").open("a") as file:
        file.write(" ")

    with pytest.raises(ChecksumMismatch):
        read_benchmark(folder)


def test_all_five_conditions_where_they_are_wanted(approved, tmp_path):
    benchmark = load(released(approved, tmp_path / "out", with_no_context=True, with_generated=True))

    conditions = [item.condition for item in benchmark.items]
    assert conditions.count("no_context") == 2
    assert conditions.count("safe_generated") == conditions.count("unsafe_generated") == 2
    assert conditions.count("safe_revised") == conditions.count("unsafe_revised") == 2


def test_contexts_that_nobody_reviewed_are_released_as_such_in_the_generated_conditions(here, tmp_path):
    folder = released(here, tmp_path / "out", unreviewed=True, with_no_context=True)
    found = load(folder)

    assert {item.condition for item in found.items} == {"no_context", "safe_generated", "unsafe_generated"}
    assert {context.origin for context in found.contexts} == {"generated"}
    assert not found.revisions
    assert "neither reviewed nor changed" in (folder / "DATA_CARD.md").read_text()
    assert "Two reviewers" not in (folder / "DATA_CARD.md").read_text()
    assert "\n- model: 4 contexts, 2026-" in (folder / "DATA_CARD.md").read_text()
