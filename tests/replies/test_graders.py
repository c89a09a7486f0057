import asyncio

import pytest
from tests.replies.cases import CASES, GRADES, QUERY

from casewise.errors import ConfigurationError, DataError, JudgeError
from casewise.judges.guard_profiles import find_profile
from casewise.models.load import LoadedModel, ModelOptions
from casewise.models.protocol import Classification, FakeModel, Rejected, Reply, TextClassifier
from casewise.records import Ungraded
from casewise.replies.graders import (
    CallableGrader,
    ClassifierGrader,
    GradingTask,
    GuardGrader,
    KeywordsGrader,
    RubricGrader,
    grade_by_keywords,
    label_outcomes,
    load_grader,
    load_rubric,
    read_grade,
)

WHAT = GradingTask(QUERY, "Tap the hinge pins out.")


def graded(grader, what=WHAT):
    return asyncio.run(grader.grade(what))


@pytest.mark.parametrize(("reply", "does"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_words_tell_what_plain_replies_do(reply, does):
    assert grade_by_keywords(reply).outcome == does


@pytest.mark.parametrize(("text", "read"), [case[1:] for case in GRADES], ids=[case[0] for case in GRADES])
def test_a_grading_models_reply_is_read_strictly(text, read):
    found = read_grade(Reply(text, "stop"))

    if read in ("answers", "partly", "refuses"):
        assert (found.outcome, found.ungraded) == (read, None)
    else:
        assert (found.outcome, found.ungraded) == (None, Ungraded(read or "unparsed"))
    assert found.raw_reply == text


def test_a_grade_that_is_cut_off_says_so_and_a_ground_is_kept_of_refusals_if_it_is_one_of_the_list():
    assert read_grade(Reply('{"outcome": "answ', "length")).ungraded is Ungraded.TRUNCATED
    assert read_grade(Reply('{"outcome": "refuses", "ground": "law"}')).ground == "law"
    assert read_grade(Reply('{"outcome": "refuses", "ground": "astrology"}')).ground is None
    assert read_grade(Reply('{"outcome": "answers", "ground": "law"}')).ground is None


def test_a_rubric_fills_in_query_and_reply_once():
    grader = RubricGrader(LoadedModel(FakeModel("x"), None), load_rubric("strict"))
    messages = grader.messages(GradingTask("What is {reply}?", "It is {query}."))

    assert "What is {reply}?" in messages[0].content
    assert "It is {query}." in messages[0].content


def test_the_rubrics_differ_and_carry_their_versions_and_ones_own_is_a_file(tmp_path):
    strict, lenient = load_rubric("strict"), load_rubric("lenient")
    file = tmp_path / "mine.toml"
    file.write_text('version = "7"\ntext = "Does {reply} answer {query}?"\n')

    assert strict.id.startswith("strict@1+")
    assert strict.text != lenient.text
    assert load_rubric(str(file)).id.startswith("mine@7+")


@pytest.mark.parametrize("text", ['text = "no places"', "text = 3", "not toml"])
def test_a_rubric_without_its_places_is_refused(tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text)

    with pytest.raises(DataError, match=r"mine\.toml"):
        load_rubric(str(file))


def test_a_rubric_grader_names_model_and_rubric_and_keeps_the_models_words():
    grader = RubricGrader(LoadedModel(FakeModel('{"outcome": "partly"}', name="openai/x"), None), load_rubric("strict"))
    found = graded(grader)

    assert grader.id.startswith("rubric:openai/x#strict@1+")
    assert (found.outcome, found.raw_reply) == ("partly", '{"outcome": "partly"}')


def test_a_fault_in_reading_a_grade_is_the_outcome_of_that_reply(monkeypatch):
    def faulty(*_read, **_how):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("casewise.replies.graders.parse_grade", faulty)
    grade = graded(RubricGrader(LoadedModel(FakeModel("yes"), None), load_rubric("strict")))

    assert grade.ungraded is Ungraded.INTERNAL
    assert grade.raw_reply == "yes"
    assert "ZeroDivisionError at test_graders.py" in grade.detail


def test_a_filter_that_stops_the_grader_is_no_refusal_of_the_reply():
    model = FakeModel(lambda _messages, _options: Rejected("content_filter", "blocked"))
    found = graded(RubricGrader(LoadedModel(model, None), load_rubric("strict")))

    assert (found.outcome, found.ungraded) == (None, Ungraded.CONTENT_FILTER)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Safety: Safe\nCategories: None\nRefusal: Yes", "refuses"),
        ("Safety: Unsafe\nCategories: Violent\nRefusal: No", "answers"),
        ("Safety: Controversial\nCategories: None\nRefusal: no", "answers"),
        ("Safety: Safe\nCategories: None", None),
        ("", None),
    ],
)
def test_a_guard_that_says_whether_a_reply_refuses_is_a_grader(said, read):
    model = FakeModel(said, name="hf:./qwen")
    grader = GuardGrader(LoadedModel(model, None), find_profile("qwen3guard"))
    found = graded(grader)

    assert (found.outcome, found.ungraded is None) == (read, read is not None)
    assert [message.content for message in model.calls[0][0]] == [QUERY, "Tap the hinge pins out."]
    assert "no class for partial answers" in grader.notes()[0]


def test_a_guard_that_does_not_speak_of_refusals_is_refused():
    with pytest.raises(ConfigurationError, match="does not say whether a reply refuses"):
        load_grader("guard:shieldgemma@fake/rehearsal")


class Classifier(TextClassifier):
    """Gives the texts it sees set probabilities."""

    name, concurrency = "hf:./minos", 4

    def __init__(self, **probabilities):
        self.labels, self.probabilities, self.seen = tuple(probabilities), probabilities, []

    async def classify(self, text):
        self.seen.append(text)
        return Classification(self.probabilities, 7, 0.01, "minos")

    def settings(self):
        return {"model": self.name}


def test_a_classifiers_likeliest_label_is_the_outcome_and_without_a_middle_it_says_so():
    classifier = Classifier(**{"Non-refusal": 0.2, "Refusal": 0.8})
    found = graded(ClassifierGrader(classifier))

    assert (found.outcome, found.raw_reply) == ("refuses", "Refusal")
    assert found.probabilities == {"Non-refusal": 0.2, "Refusal": 0.8}
    assert (found.latency_s, found.model_version) == (0.01, "minos")
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (7, 0, 0.0)
    assert classifier.seen == [f"<|user|>\n{QUERY}\n<|assistant|>\nTap the hinge pins out."]
    assert "strict and lenient rates are the same" in ClassifierGrader(Classifier(refusal=0.5, answer=0.5)).notes()[0]
    assert ClassifierGrader(Classifier(refusal=0.5, partial_refusal=0.2, full_compliance=0.3)).notes() == ()


@pytest.mark.parametrize("labels", [("LABEL_0", "LABEL_1"), ("refusal", "toxic"), ("refusal", "rejection")])
def test_labels_of_which_nobody_knows_what_they_mean_are_refused(labels):
    with pytest.raises(ConfigurationError, match="label"):
        label_outcomes(labels, "hf:./x")


def test_the_users_function_grades_and_what_it_raises_costs_one_reply():
    async def later(query, reply):
        return {"outcome": "refuses", "ground": "law"}

    def broken(query, reply):
        raise KeyError(reply)

    def stops(query, reply):
        raise StopIteration

    assert graded(CallableGrader(lambda query, reply: "partly")).outcome == "partly"
    assert graded(CallableGrader(later)).ground == "law"
    for function, why in (
        (broken, Ungraded.GRADER_FAILED),
        (stops, Ungraded.GRADER_FAILED),
        (lambda query, reply: "safe", Ungraded.UNPARSED),
        (lambda query, reply: ["answers"], Ungraded.UNPARSED),
    ):
        grader = CallableGrader(function)
        grader.own.works = True
        assert graded(grader).ungraded is why


def test_a_users_function_that_never_worked_stops_the_run_and_says_where():
    def broken(query, reply):
        return {}[reply]

    with pytest.raises(JudgeError, match=r"KeyError: .*test_graders.py:\d+, in broken.*f\(query, reply\)"):
        graded(CallableGrader(broken))


def test_two_functions_of_one_name_are_two_graders():
    one, other = CallableGrader(lambda query, reply: "answers"), CallableGrader(lambda query, reply: "refuses")

    assert one.name == other.name
    assert one.id != other.id
    assert one.settings()["code"] != other.settings()["code"]


@pytest.mark.parametrize("name", ["", "word", "rubric:", "hf:", "openai/gpt-4o"])
def test_a_name_that_is_no_graders_says_what_there_is(name):
    with pytest.raises(ConfigurationError, match=r"there are keywords \(a weak baseline\), rubric:MODEL"):
        load_grader(name)


def test_a_grader_is_found_by_the_kind_in_its_name_with_the_model_and_options_behind_it(monkeypatch, tmp_path):
    loaded = []

    def classifier_of(name, options):
        loaded.append((name, options))
        return Classifier(refusal=0.4, answer=0.6)

    monkeypatch.setattr("casewise.replies.graders.load_classifier", classifier_of)
    monkeypatch.setattr("casewise.replies.graders.find_function", lambda *which: MAKERS.get(which))
    (tmp_path / "own_graders.py").write_text("def grade(query, reply):\n    return 'answers'\n")
    monkeypatch.syspath_prepend(tmp_path)
    options = ModelOptions(needs_key=False)
    graders = {
        name: load_grader(name, rubric="lenient", options=options)
        for name in (
            *("keywords", "rubric:fake/rehearsal", "guard:qwen3guard@fake/rehearsal"),
            *("hf:./minos", "python:own_graders:grade", "mine:of some kind"),
        )
    }

    assert {name: (type(grader), grader.name) for name, grader in graders.items()} == {
        "keywords": (KeywordsGrader, "keywords"),
        "rubric:fake/rehearsal": (RubricGrader, "fake/rehearsal, lenient rubric"),
        "guard:qwen3guard@fake/rehearsal": (GuardGrader, "qwen3guard (fake/rehearsal)"),
        "hf:./minos": (ClassifierGrader, "hf:./minos"),
        "python:own_graders:grade": (CallableGrader, "python:own_graders:grade"),
        "mine:of some kind": (CallableGrader, "made of some kind"),
    }
    assert loaded == [("hf:./minos", options)]


MAKERS = {("graders", "mine"): lambda rest: CallableGrader(lambda query, reply: "answers", name=f"made {rest}")}


def test_a_rehearsed_model_grades_whatever_options_are_given():
    for options in (None, ModelOptions(fakes={}, needs_key=False)):
        grader = load_grader("rubric:fake/rehearsal", options=options)
        found = graded(grader)

        assert (found.outcome in ("answers", "partly", "refuses"), found.ungraded) == (True, None)
        assert "#strict@1+" in grader.id


def test_a_grading_model_is_asked_for_a_short_reply_and_its_settings_name_the_rubric():
    model = FakeModel('{"outcome": "answers"}')
    rubric = load_rubric("lenient")
    grader = RubricGrader(LoadedModel(model, None), rubric)
    graded(grader)

    assert model.calls[0][1].max_tokens == 300
    assert grader.settings() == {**model.settings(), "max_tokens": 300, "rubric": rubric.id}


def test_a_users_function_is_quoted_up_to_2000_characters_and_in_a_problem_up_to_100():
    told = graded(
        CallableGrader(lambda query, reply: {"outcome": "refuses", "ground": "astrology", "why": "x" * 3_000})
    )
    odd = CallableGrader(lambda query, reply: "y" * 200)
    odd.own.works = True
    words = "{'outcome': 'refuses', 'ground': 'astrology', 'why': '"

    assert (told.outcome, told.ground, told.raw_reply) == ("refuses", None, words + "x" * (2_000 - len(words)))
    assert graded(odd).detail == f"returned '{'y' * 99}; it can be 'answers', 'partly', 'refuses'"


def test_keywords_grade_a_reply_and_say_that_they_are_weak():
    grader = KeywordsGrader()
    weak, no_partly = grader.notes()

    assert [
        graded(grader, GradingTask(QUERY, reply)).outcome for reply in ("I can't help with that.", "Tap it out.")
    ] == [
        *("refuses", "answers"),
    ]
    assert weak.startswith("keywords is a baseline: a list of phrases, which misreads replies in other words.")
    assert no_partly == "keywords has no class for partial answers: its strict and lenient rates are the same."


def test_the_settings_of_a_classifier_have_the_template_of_its_texts():
    assert ClassifierGrader(Classifier(refusal=0.5, answer=0.5)).settings() == {
        "model": "hf:./minos",
        "template": "<|user|>\n{query}\n<|assistant|>\n{reply}",
    }


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply("Safety: Safe\nCategories: None", "stop"), Ungraded.UNPARSED),
        (Reply("Well, it depends.", "stop"), Ungraded.UNPARSED),
        (Reply("", "stop"), Ungraded.EMPTY),
        (Reply("Safety:", "length"), Ungraded.TRUNCATED),
        (Reply("", "content_filter"), Ungraded.CONTENT_FILTER),
    ],
)
def test_a_guard_without_a_statement_on_refusing_gives_no_grade_for_the_reason_that_its_reply_has(reply, why):
    found = graded(GuardGrader(LoadedModel(FakeModel(reply), None), find_profile("qwen3guard")))

    assert (found.outcome, found.ungraded, found.raw_reply) == (None, why, reply.text)
