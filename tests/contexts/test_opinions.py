import asyncio
import json
from pathlib import Path

import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import OTHER, wording
from tests.support.databases import new_database

from casewise.contexts.opinions import OpinionOptions, ask_opinions
from casewise.contexts.review import Act
from casewise.database.engine import job_lock
from casewise.errors import RunConflict, Unavailable
from casewise.models.protocol import FakeModel, Rejected
from casewise.runs.limits import Limits, RunObserver
from casewise.storage.run_folder import kind_of


@pytest.fixture
def here(tmp_path):
    store = new_database(tmp_path / "x.db")
    yield room(store, count=1, unsafe=wording(**OTHER | {"recipient__type": "Bank clerk"}))
    store.close()


def opinion(fits="yes", **quotations):
    return json.dumps({"reason": "A clerk is no teller.", "fits": fits} | (quotations or {"drift": "bank clerk"}))


def asked(here, answer, *, watch=None, folder=Path("opinions"), **options):
    model = answer if isinstance(answer, FakeModel) else FakeModel(answer, name="some/model")
    chosen = OpinionOptions(**options)
    return asyncio.run(ask_opinions(here.store, here.draft, model, folder=folder, options=chosen, watch=watch))


def test_a_finding_goes_to_the_reviewers_with_its_author_and_the_parameter_that_its_evidence_stands_in(here):
    model = FakeModel(opinion(), name="some/model")
    summary = asked(here, model)
    text, (finding,) = model.calls[0][0][0].content, here.place().findings

    told = (finding.check, finding.parameter, finding.evidence, finding.by)
    assert told == ("drift", "recipient.type", "bank clerk", "some/model")
    assert summary.findings == {"drift": 2}
    assert here.place().query.text in text
    assert "meant these circumstances to be safe" in text


def test_a_context_that_does_not_fit_its_intent_gets_the_models_reason_until_its_words_change(here):
    summary = asked(here, opinion("no", placeholder=""))

    (finding,) = here.place().findings
    told = (finding.check, finding.message, finding.parameter, finding.by)
    assert told == ("does not fit its intent", "A clerk is no teller.", None, "some/model")
    assert summary.findings == {"does not fit its intent": 2}
    for by in (here.ada, here.ben):
        here.do(here.place(), by, Act.SUBMIT, wording(recipient__background="A bank clerk for nine years"))
    assert "some/model" not in {finding.by for finding in here.place().findings}


@pytest.mark.parametrize("reply", [{"drift": "words that are not there"}, {"drift": "a"}])
def test_what_quotes_nothing_is_left_out_and_counted(here, reply):
    summary = asked(here, opinion(**reply))

    assert here.place().findings == []
    assert summary.unquoted == 2


@pytest.mark.parametrize("reply", [{"drift": ""}, {"drift": "None"}, {"boring": "bank clerk"}])
def test_a_model_that_quotes_no_words_for_a_problem_finds_none(here, reply):
    summary = asked(here, opinion(**reply))

    assert (here.place().findings, summary.unquoted, summary.n_unusable) == ([], 0, 0)


@pytest.mark.parametrize(
    "answer", ["I'd rather not.", '{"drift": "bank clerk"}', "{", Rejected("content_filter", "no"), opinion("perhaps")]
)
def test_a_reply_that_is_no_opinion_is_counted_and_finds_nothing(here, answer):
    summary = asked(here, lambda _messages, _options: answer)

    assert (summary.n_done, summary.n_unusable) == (2, 2)
    assert here.place().findings == []


def test_what_was_asked_about_is_not_asked_about_again_and_every_reply_is_kept_in_the_run_folder(here):
    asked(here, opinion())
    model = FakeModel(opinion(), name="some/model")
    again, folder = asked(here, model), Path("opinions")
    lines = [json.loads(line) for line in (folder / "opinions.jsonl").read_text().splitlines()]

    assert model.calls == []
    assert (again.resumed, again.n_calls, again.n_usable) == (2, 0, 2)
    assert len(here.place().findings) == 1
    assert kind_of(folder) == "opinions"
    assert {line["raw_reply"] for line in lines} == {opinion()}
    assert {line["findings"][0]["evidence"] for line in lines} == {"bank clerk"}
    asked(here, opinion(), folder=Path("second"))
    assert len(here.place().findings) == 1, "what the same model says in another run replaces it"


def test_a_context_with_other_words_is_asked_about_again_and_the_new_findings_replace_the_old(here):
    asked(here, opinion())
    for by in (here.ada, here.ben):
        here.do(here.place(), by, Act.SUBMIT, wording(recipient__background="A bank clerk for nine years"))
    model = FakeModel(opinion(contradiction="bank clerk"), name="some/model")
    again = asked(here, model)

    assert (len(model.calls), again.resumed) == (1, 1)
    assert sorted(one.check for place in here.places() for one in place.findings if one.by == "some/model") == [
        "contradiction",
        "drift",
    ]


def test_a_stopped_run_goes_on_with_the_rest(here):
    watch = RunObserver()
    watch.progress = lambda progress, _total: watch.stop.ask("interrupted") if progress.n_calls else None
    first = asked(here, opinion(), watch=watch, limits=Limits(1))
    second = asked(here, opinion())

    assert (first.n_calls, first.stopped) == (1, "interrupted")
    assert first.lines("some/model")[-1] == "stopped: interrupted; the same command resumes"
    assert (second.resumed, second.n_calls) == (1, 1)


def test_a_reply_that_was_no_opinion_is_asked_for_again_where_that_is_wanted(here):
    asked(here, "I'd rather not.")
    idle = asked(here, opinion())
    again = asked(here, opinion(), retries=1)

    assert (idle.n_calls, idle.n_unusable) == (0, 2)
    assert (again.n_calls, again.n_usable, again.n_unusable) == (2, 2, 0)


def test_a_context_that_got_no_answer_is_asked_about_again_by_the_same_command(here):
    first = asked(here, lambda _messages, _options: Unavailable("503"), limits=Limits(1))
    second = asked(here, opinion())

    assert (first.n_unavailable, first.as_json()["unavailable"]) == (2, 2)
    assert first.lines("m") == [
        "m was asked about 2 contexts; 0 replies contain no opinion",
        "2 contexts got no answer; the same command asks about them again",
    ]
    assert (second.n_calls, second.n_usable, second.n_unusable, second.n_unavailable) == (2, 2, 0, 0)


def test_two_at_once_do_not_pay_twice(here):
    model = FakeModel(opinion(), name="some/model")
    with job_lock(here.store, f"asking some/model about {here.draft.name}"), pytest.raises(RunConflict):
        asked(here, model)

    assert model.calls == []


def test_an_opinion_of_words_that_were_revised_meanwhile_is_not_kept(here):
    place = here.place()

    def revising(_messages, _options):
        if here.place().state.phase == "generated":
            for by in (here.ada, here.ben):
                here.do(place, by, Act.SUBMIT, wording(recipient__type="Cashier"))
        return opinion()

    asked(here, revising)

    assert here.place(0).findings == []
