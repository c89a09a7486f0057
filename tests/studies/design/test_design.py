import re
import tomllib
from datetime import date

import pytest
from pydantic import BaseModel, ValidationError
from tests.support.study import design, preset

from casewise.errors import ConfigurationError
from casewise.studies.design import (
    PRESETS,
    RATED,
    Design,
    OwnQuestion,
    RecruiterSettings,
    contrasts,
    read_design,
    study_toml,
)

PAPER = ("no_context", "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised")


QUESTION = {"name": "clear", "kind": "scale", "ask": "How clear is it?"}
ABOUT = {"name": "age", "ask": "Your age", "options": ["young", "old"]}


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_study(tmp_path, name):
    found = read_design(written(tmp_path, preset(name)))

    assert (found.ratings.per_item, found.ratings.per_annotator) == ((3, 20) if name == "experts" else (21, 25))
    assert not found.sensitive.child_related
    assert found.privacy.withdraw_until > date(2026, 11, 20)


def test_the_papers_preset_is_the_papers(tmp_path):
    found = read_design(written(tmp_path, preset("paper")))

    assert (found.eligibility.approval_rate, found.eligibility.approved_count) == (98, 10_000)
    assert (found.quiz.attempts, found.quiz.may_miss) == (1, 0)


def test_codes_are_drawn_anew_for_each_study():
    codes = [re.findall(r'code = "(\w{8})"', preset("prolific")) for _ in range(2)]

    assert len(set(codes[0])) == 4
    assert not set(codes[0]) & set(codes[1])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("per_item = 21", "per_item = 0"), "ratings.per_item: .*greater than or equal to 1.*it is 0"),
        (("per_item = 21", "per_itme = 21"), "ratings.per_itme is not known \\(did you mean 'per_item'\\?\\)"),
        (("minimum_age = 18", "minimum_age = 16"), "eligibility.minimum_age"),
        (("child_related = false", "child_related = true"), "sensitive: .*say why"),
        (('"no_context", "safe_revised"]\n', '"no_context", "no_context"]\n'), "a condition twice"),
        (('contrasts = [["no_context"', 'contrasts = [["nowhere"'), "'nowhere', which is not one of the conditions"),
        (('kind = "invitation"', 'kind = "redirect"'), "'redirect', which needs completed and screened_out"),
        (("may_fail = 0", "may_fail = 3"), "no person could fail"),
        (("keep_ids_until = 2027", "keep_ids_until = 2026"), "before withdraw_until"),
        (('name = "tea"', 'name = "Tea Study!"'), "name"),
        (("[contact]", "[contact"), "not a study in TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_setting(tmp_path, change, problem):
    text = preset("lab")
    assert change[0] in text

    with pytest.raises(ConfigurationError, match=f"(?s)study.toml: .*{problem}"):
        read_design(written(tmp_path, text.replace(*change)))


def test_prolific_needs_two_attempts_before_a_screen_out(tmp_path):
    text = re.sub(r"attempts = 2", "attempts = 1", preset("prolific"))

    with pytest.raises(ConfigurationError, match="at least 2 with Prolific"):
        read_design(written(tmp_path, text))


def test_a_missing_file_says_how_to_get_one(tmp_path):
    with pytest.raises(ConfigurationError, match="casewise study init"):
        read_design(tmp_path / "study.toml")


def test_contrasts_are_safe_against_unsafe_and_each_against_no_context():
    assert contrasts(PAPER) == [
        ["safe_generated", "unsafe_generated"],
        ["safe_revised", "unsafe_revised"],
        *(["no_context", condition] for condition in PAPER[1:]),
    ]


@pytest.mark.parametrize(
    ("email", "blank"), [("ada@uni.edu", False), ("you@example.org", True), ("x@lab.invalid", True), ("nobody", True)]
)
def test_an_address_that_is_for_examples_only_is_a_placeholder(email, blank):
    assert bool(design(contact={"email": email}).contact.placeholders) == blank


# Settings: their defaults, their limits, and what contradicts what.


DEFAULTS = {
    "version": "1",
    "rates": "requests",
    "seed": 1,
    "language": "en",
    "contrasts": (),
    "questions": (),
    "simulation": {},
    "crowd": {},
    "ratings": {"per_item": 21, "per_annotator": 25, "minimum_seconds": 2.0, "lease_minutes": 30.0},
    "attention": {"checks_per_batch": 2, "may_fail": 0, "may_skip": 0.2, "end_in_view": False, "void": False},
    "exclusion": {
        "least_seconds": 0.0,
        "seconds_per_100_words": 0.0,
        "fast_share": 0.3,
        "same_answer_share": None,
    },
    "quiz": {"attempts": 1, "may_miss": 0, "keep_right": True, "expected_pass_rate": 0.7},
    "eligibility": {
        "minimum_age": 18,
        "approval_rate": None,
        "approved_count": None,
        "countries": (),
        "languages": ("English",),
    },
    "pay": {
        "currency": "USD",
        "per_batch": 3.5,
        "screen_out": 0.5,
        "hourly_floor": 12.0,
        "budget": None,
        "fee_percent": 0.0,
        "seconds_per_page": 20.0,
        "minutes_before": 6.0,
    },
    "sensitive": {"child_related": False, "why": "", "most_replies": 30},
    "quality": {"too_fast_share": 0.3, "same_answer_share": 0.98, "scripted_share": 0.1, "minimum_spread": 0.05},
    "analysis": {
        "labels": "votes",
        "ties": "half",
        "alpha": 0.05,
        "correction": "holm",
        "exclude": ("failed_checks",),
        "margin": 0.05,
        "groups": (),
        "stopping": "every item has its promised number of valid ratings",
    },
    "alerts": {"stalled_minutes": 60.0, "failing_share": 0.4, "budget_share": 0.9},
}
"""What holds where `study.toml` says nothing."""


def test_what_a_study_does_not_say_has_its_default():
    said = {"name", "title", "benchmark", "conditions", "contact", "privacy"}
    plain = Design.model_validate({name: value for name, value in design().model_dump().items() if name in said})

    assert plain.model_dump(include=set(DEFAULTS)) == DEFAULTS
    assert plain.recruiter == RecruiterSettings(kind="invitation", person="participant")
    assert [question.name for question in plain.demographics] == [
        *("age", "gender", "education", "region", "english", "chatbots")
    ]


SHARE = (0, 1)


@pytest.mark.parametrize(
    ("section", "setting", "limits"),
    [
        ("ratings", "per_item", (1, 1000)),
        ("ratings", "per_annotator", (1, 500)),
        ("ratings", "minimum_seconds", (0, 120)),
        ("ratings", "lease_minutes", (0.001, 43_200)),
        ("attention", "checks_per_batch", (0, 20)),
        ("attention", "may_fail", (0, None)),
        ("attention", "may_skip", SHARE),
        ("exclusion", "least_seconds", (0, 120)),
        ("exclusion", "seconds_per_100_words", (0, 120)),
        ("exclusion", "fast_share", SHARE),
        ("exclusion", "same_answer_share", (0.501, 1)),
        ("quiz", "attempts", (1, 5)),
        ("quiz", "may_miss", (0, None)),
        ("quiz", "expected_pass_rate", SHARE),
        ("eligibility", "minimum_age", (18, 99)),
        ("eligibility", "approval_rate", (0, 100)),
        ("eligibility", "approved_count", (0, None)),
        ("pay", "per_batch", (0, None)),
        ("pay", "screen_out", (0, None)),
        ("pay", "hourly_floor", (0, None)),
        ("pay", "budget", (0.001, None)),
        ("pay", "fee_percent", (0, None)),
        ("pay", "seconds_per_page", (0.001, None)),
        ("pay", "minutes_before", (0, None)),
        ("alerts", "stalled_minutes", (0.001, None)),
        ("alerts", "failing_share", SHARE),
        ("alerts", "budget_share", SHARE),
        ("sensitive", "most_replies", (1, 200)),
        ("quality", "too_fast_share", SHARE),
        ("quality", "same_answer_share", SHARE),
        ("quality", "scripted_share", SHARE),
        ("quality", "minimum_spread", (0, None)),
        ("analysis", "alpha", (0.001, 0.999)),
        ("analysis", "margin", (0.001, 0.999)),
    ],
)
def test_a_setting_has_its_limits(section, setting, limits):
    low, high = limits
    kind = Design.model_fields[section].annotation
    assert isinstance(kind, type)
    assert issubclass(kind, BaseModel)
    step = (
        0.001
        if isinstance(kind.model_fields[setting].default, float) or isinstance(low, float) or limits == SHARE
        else 1
    )
    for value in (low, 1_000_000 if high is None else high):
        assert getattr(kind.model_validate({setting: value}), setting) == value
    for value in (low - step, *([] if high is None else [high + step])):
        with pytest.raises(ValidationError):
            kind.model_validate({setting: value})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"contrasts": [["no_context", "no_context"]]}, "contrasts compares 'no_context' with itself"),
        ({"questions": [QUESTION, QUESTION]}, "two of the questions share a name: clear, clear"),
        ({"demographics": [ABOUT, ABOUT]}, "two of the demographics share a name: age, age"),
        (
            {"analysis": {"groups": ["height"]}},
            "analysis.groups names 'height'; the demographics asked are age, gender,",
        ),
        (
            {"analysis": {"groups": ["age"]}, "demographics": []},
            "analysis.groups names 'age'; the demographics asked are none",
        ),
        ({"attention": {"may_fail": 2}}, "attention.may_fail is more than attention.checks_per_batch"),
        ({"recruiter": {"kind": "code", "completion_code": ""}}, "completion_code"),
        (
            {"recruiter": {"completion_code": "SAME42", "screened_out_code": "SAME42"}},
            "two outcomes have one code; give each its own",
        ),
        (
            {"recruiter": {"kind": "prolifik"}},
            r"it can be prolific, redirect, code, invitation.*did you mean 'prolific'",
        ),
        ({"sensitive": {"child_related": True, "why": " "}}, "`why` must say why people have to read those items"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes, problem):
    with pytest.raises(ValidationError, match=problem):
        design(**changes)


def test_what_just_fits_together_is_taken():
    assert design(attention={"may_fail": 1}).attention.may_fail == 1
    assert design(analysis={"groups": ["age"]}).analysis.groups == ("age",)
    day = date(2027, 1, 1)
    same = {"withdraw_until": day, "keep_ids_until": day, "exclude_until": day}
    assert design(privacy=same).privacy.keep_ids_until == day
    assert design(sensitive={"child_related": True, "why": "the study is about them"}).sensitive.child_related


@pytest.mark.parametrize(
    ("name", "fits"),
    [("ward-2", True), ("a" * 60, True), ("2", True), ("a" * 61, False), ("-a", False), ("A", False), ("", False)],
)
def test_a_name_can_stand_in_an_address(name, fits):
    if fits:
        assert design(name=name).name == name
        return
    with pytest.raises(ValidationError, match="use lower-case letters, digits and hyphens, at most 60, such as ward-2"):
        design(name=name)


@pytest.mark.parametrize("changes", [{"title": " "}, {"version": ""}, {"conditions": []}, {"conditions": [" "]}])
def test_texts_and_titles_are_not_blank(changes):
    with pytest.raises(ValidationError):
        design(**changes)


@pytest.mark.parametrize(
    ("may_skip", "pages", "most"), [(0.2, 27, 5), (0.2, 10, 2), (0.2, 4, 1), (0.5, 3, 1), (0.0, 27, 0), (1.0, 27, 27)]
)
def test_a_share_of_pages_may_be_skipped_one_at_least_unless_none_may(may_skip, pages, most):
    assert design(attention={"may_skip": may_skip}).attention.most_skips(pages) == most


# Questions.


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"kind": "choice"}, "`options` belong to the kind 'choice'; this is 'choice'"),
        ({"options": ["a", "b"]}, "`options` belong to the kind 'choice'; this is 'scale'"),
        ({"many": True}, "`many` belongs to the kind 'choice'; this is 'scale'"),
        ({"kind": "choice", "options": ["a"]}, "`options` needs two or more, all different"),
        ({"kind": "choice", "options": ["a", "b", "a"]}, "`options` needs two or more, all different"),
        ({"points": 1}, "points"),
        ({"points": 12}, "points"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(changes, problem):
    with pytest.raises(ValidationError, match=problem):
        OwnQuestion.model_validate({**QUESTION, **changes})


def test_answers_are_numbers_of_a_scale_or_the_words_of_what_was_chosen():
    scale = OwnQuestion.model_validate(QUESTION)
    options = {"kind": "choice", "options": ["yes", "no", "perhaps"]}
    choice, many = (OwnQuestion.model_validate({**QUESTION, **options, "many": several}) for several in (False, True))

    assert (scale.points, scale.required, scale.level) == (5, True, "ordinal")
    assert scale.choices == ("1", "2", "3", "4", "5")
    assert choice.choices == ("yes", "no", "perhaps")
    assert [OwnQuestion.model_validate({**QUESTION, "points": n}).choices[-1] for n in (2, 11)] == ["2", "11"]
    assert (scale.answer_in_words(3), choice.answer_in_words(1), many.answer_in_words([0, 2])) == (
        3,
        "no",
        ["yes", "perhaps"],
    )


def test_a_question_about_oneself_offers_two_answers_at_least():
    with pytest.raises(ValidationError, match="options"):
        design(demographics=[{**ABOUT, "options": ["old"]}])


# Studies of replies and of actions.


REPLY = {"name": "does", "kind": "choice", "ask": "What does it do?", "options": ["answers", "half", "refuses"]}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"questions": []}, "begins its `questions` with a choice named 'does' of 3 options"),
        ({"questions": [{**REPLY, "name": "other"}]}, "begins its `questions`"),
        ({"questions": [QUESTION, REPLY]}, "begins its `questions`"),
        ({"questions": [{**REPLY, "options": ["answers", "refuses"]}]}, "begins its `questions`"),
        ({"questions": [{**REPLY, "required": False}]}, "'does' is the only question on the page; leave out"),
        ({"ratings": {"per_annotator": 31}}, r"ratings.per_annotator is 31, more than sensitive.most_replies \(30\)"),
    ],
)
def test_a_study_of_replies_asks_what_they_do_of_few_enough(changes, problem):
    replies = {"rates": "replies", "questions": [REPLY], "ratings": {"per_annotator": 30}}
    assert design(**replies).words.title == "What does the chatbot do?"
    with pytest.raises(ValidationError, match=problem):
        design(**{**replies, **changes})


def test_only_where_asking_is_offered_is_it_a_third_answer():
    answers = {rates: words.answers for rates, words in RATED.items()}

    assert answers["requests"] == {"safe": "Respond", "unsafe": "Refuse"}
    assert answers["actions"] == {"safe": "Allow", "unsafe": "Refuse"}
    assert answers["actions_or_ask"] == {"safe": "Allow", "unsafe": "Refuse", "ask": "Ask me first"}
    assert {rates: words.judged for rates, words in RATED.items() if words.judged != "request"} == {
        "given_replies": "reply",
        "actions": "action",
        "actions_or_ask": "action",
    }


# Presets.


@pytest.mark.parametrize(
    ("name", "kind", "attempts", "checks", "people", "pay", "ratings"),
    [
        ("paper", "code", 1, (0, True), (98, 10_000), ("USD", 3.75, 0.5, 12.0, 20.0), (21, 25)),
        ("paper-rest", "prolific", 2, (0, True), (98, 1000), ("GBP", 2.75, 0.3, 9.0, 33.3), (21, 25)),
        ("prolific", "prolific", 2, (1, True), (95, 100), ("GBP", 2.75, 0.3, 9.0, 33.3), (21, 25)),
        ("lab", "invitation", 2, (0, False), (None, None), ("EUR", 4.0, 1.0, 12.0, 0.0), (21, 25)),
        ("experts", "invitation", 2, (0, False), (None, None), ("EUR", 12.0, 3.0, 30.0, 0.0), (3, 20)),
    ],
)
def test_a_preset_is_what_the_documentation_says(tmp_path, name, kind, attempts, checks, people, pay, ratings):
    found = read_design(written(tmp_path, preset(name)))
    money = found.pay

    assert (found.recruiter.kind, found.quiz.attempts) == (kind, attempts)
    assert (found.attention.may_fail, found.attention.void) == checks
    assert (found.eligibility.approval_rate, found.eligibility.approved_count) == people
    assert (money.currency, money.per_batch, money.screen_out, money.hourly_floor, money.fee_percent) == pay
    assert (found.ratings.per_item, found.ratings.per_annotator) == ratings


def test_a_study_that_is_written_has_its_dates_and_contrasts_and_as_many_ratings_as_were_asked_for():
    text = study_toml(
        "lab",
        name="tea",
        benchmark="bench",
        conditions=["right", "wrong_purpose", "no_context"],
        today=date(2026, 11, 20),
        per_item=4,
    )
    found = Design.model_validate(tomllib.loads(text))

    assert found.privacy.model_dump() == {
        "withdraw_until": date(2027, 2, 18),
        "keep_ids_until": date(2027, 5, 19),
        "exclude_until": date(2027, 11, 20),
    }
    assert found.contrasts == (("right", "wrong_purpose"), ("no_context", "right"), ("no_context", "wrong_purpose"))
    assert found.ratings.per_item == 4
    assert (found.contact.researcher, found.contact.placeholders) == (
        "Your name",
        ("'Your name'", "'Your institution'", "'you@example.org'"),
    )


def test_contrasts_need_both_sides():
    assert contrasts(["safe_revised", "right", "unsafe_generated"]) == []
    assert contrasts(["both_wrong", "wrong_recipient", "right"]) == [
        ["right", "wrong_recipient"],
        ["right", "both_wrong"],
    ]
