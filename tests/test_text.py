"""A text keeps its references until a document is rendered."""

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.evaluate.judged_runs import series_name
from casewise.records import FULL, Arm
from casewise.reports.document import IntervalHead, MarkedText
from casewise.text import (
    Form,
    Noun,
    ReferenceLost,
    RefusalNote,
    Text,
    capitalised,
    count_of,
    first_few,
    join,
    path_text,
    paths_in_command,
    plural,
    reference,
    render,
    shortest_names,
    text,
)

REPLIES = Form(noun=Noun("reply", "replies"))
ACTIONS = Form(noun=Noun("action", "actions"))


@pytest.mark.parametrize(
    ("template", "values", "query", "action"),
    [
        ("Intervals over {queries}.", {}, "Intervals over queries.", "Intervals over actions."),
        ("Pairs of {a_query}'s contexts", {}, "Pairs of a query's contexts", "Pairs of an action's contexts"),
        ("{Queries} and {Query}", {}, "Queries and Query", "Actions and Action"),
        ("{n:query} of {m:item}", {"n": 1, "m": 1200}, "1 query of 1,200 items", "1 action of 1,200 items"),
        ("{n:query}, {p:person}", {"n": 2.5, "p": 2}, "2.5 queries, 2 people", "2.5 actions, 2 people"),
        ("{share:.1f} % {name!r}", {"share": 62.24, "name": "a"}, "62.2 % 'a'", "62.2 % 'a'"),
    ],
)
def test_a_template_follows_the_noun_for_what_is_judged(template, values, query, action):
    sentence = text(template, **values)

    assert str(sentence) == query
    assert render(sentence, ACTIONS) == action


def test_a_value_is_never_read_as_a_template():
    assert text("{judge} judges", judge="{query} {") == "{query} { judges"


def test_a_field_without_a_value_is_an_error():
    with pytest.raises(KeyError, match="judge"):
        text("{judge} judges {queries}")


def test_an_f_string_would_lose_references():
    lossy = "f'{words} of {plain}'"
    names = {"words": text("{queries}"), "plain": text("plain")}
    with pytest.warns(ReferenceLost, match="an f-string loses"):
        assert eval(lossy, names | {"__name__": "casewise.reports.page"}) == "queries of plain"
    assert eval(lossy, names | {"__name__": "a_users_script"}) == "queries of plain"


@pytest.mark.parametrize(
    "made",
    [
        text("a {queries}") + " b",
        "a " + text("{queries} b"),
        join(" ", ["a", text("{queries}"), "b"]),
        text("a {of} b", of=text("{queries}")),
        pickle.loads(pickle.dumps(text("a {queries} b"))),
        copy.deepcopy(text("a {queries} b")),
    ],
)
def test_references_survive_what_texts_are_put_through(made):
    assert render(made, REPLIES) in ("a replies b", "a replies")
    assert isinstance(str(made), str)
    assert type(str(made)) is str


def test_a_capital_goes_to_a_noun_as_well():
    assert render(capitalised(text("{queries} of a kind")), REPLIES) == "Replies of a kind"
    assert capitalised("words") == "Words"


def test_a_path_is_written_for_the_readers_of_an_output():
    sources = join(" ", map(path_text, (Path("runs/a"), Path())))

    assert render(sources, Form(path=lambda path: path.resolve().name and "here")) == "here here"
    assert str(sources) == "runs/a ."


def test_words_that_look_like_a_reference_are_left_alone():
    words = "the judge query-1 (binary) of runs/query"

    assert render(text("{judge} on {queries}", judge=words), REPLIES) == f"{words} on replies"


@pytest.mark.parametrize(
    ("judge", "elicitation", "arm", "short"),
    [
        ("recorded:claude-3", "score", "without:sender", "claude-3 (score) −sender"),
        ("m", "binary", "without:recipient.role", "m (binary) −role"),
        ("m", "stars", "full", "m (stars)"),
        ("m", "binary", "none", "m (binary, none)"),
        ("m", "binary", "toml:data/set.jsonl#story/user/safe@0da55ad1", "m (binary, set.jsonl#story/user/safe)"),
        (
            "m",
            "binary",
            "twin:all+verified@2:data/facts.jsonl@0da55ad1@2026-06-01",
            "m (binary, twin:all+verified:facts.jsonl)",
        ),
    ],
)
def test_a_series_has_a_short_name(judge, elicitation, arm, short):
    name = series_name(judge, elicitation, Arm.parse(arm))

    assert list(shortest_names([name]).values()) == [short]


def test_two_arms_that_omit_parameters_of_one_name_keep_apart():
    arms = [series_name("m", "binary", Arm.without(f"{group}.role")) for group in ("sender", "recipient")]

    assert list(shortest_names([*arms, series_name("m", "binary", FULL)]).values()) == [
        "m (binary) −sender.role",
        "m (binary) −recipient.role",
        "m (binary)",
    ]


FORMS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)


@given(st.lists(FORMS, unique_by=lambda forms: forms[-1]))
def test_no_two_series_share_a_name(forms):
    names = shortest_names([reference(*of) for of in forms])

    assert len(set(names.values())) == len(forms)
    assert all(name in series.forms for series, name in names.items())


KEEPING = (
    text("{judge} is in.", judge=reference("a", "recorded:a")),
    RefusalNote("tiny takes no temperature", "temperature"),
    IntervalHead("Cost"),
    MarkedText("a nurse of the ward, at night", "a nurse on duty at night"),
)
"""A text of each kind that keeps more than its characters."""


@pytest.mark.parametrize("original", KEEPING, ids=lambda each: type(each).__name__)
def test_a_copy_of_a_text_keeps_what_the_text_keeps(original):
    kept = type(original).__slots__
    for made in (copy.copy(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
        assert (type(made), made) == (type(original), original)
        assert [getattr(made, name) for name in kept] == [getattr(original, name) for name in kept]


def test_each_kind_of_text_that_keeps_more_than_its_characters_is_copied_above():
    kinds = {
        kind for kind in str.__subclasses__() if kind.__module__.startswith("casewise.") and vars(kind).get("__slots__")
    }

    assert kinds == set(map(type, KEEPING))


def test_plurals_are_regular_but_for_a_few():
    assert [plural(word) for word in ("day", "category", "judge")] == ["days", "categories", "judges"]
    assert Text() == ""


def test_a_noun_follows_its_number_and_its_first_letter():
    assert [count_of(n, "item is") for n in (0, 1, 1.0, 1200, 2.5, 1234.56)] == [
        *("0 items are", "1 item is", "1 item is"),
        *("1,200 items are", "2.5 items are", "1,234.6 items are"),
    ]
    assert [Noun(word, "").article for word in ("item", "query", "hour")] == ["an", "a", "a"]
    assert [plural(words) for words in ("batch", "key", "person has", "match was")] == [
        *("batches", "keys", "people have", "matches were"),
    ]


CLUSTERS = Form(noun=Noun("reply", "replies"), cluster=Noun("annotator", "annotators"))


@pytest.mark.parametrize(
    ("template", "plain", "clustered"),
    [
        ("{clusters}", "queries", "annotators"),
        ("{cluster}", "query", "annotator"),
        ("{a_cluster}", "a query", "an annotator"),
        ("{A_query}", "A query", "A reply"),
        ("{queries}", "queries", "replies"),
    ],
)
def test_what_intervals_are_over_has_a_noun_of_its_own_where_the_document_says_so(template, plain, clustered):
    assert (str(text(template)), render(text(template), CLUSTERS)) == (plain, clustered)
    capital = capitalised(text(template + " count."))
    assert render(capital, CLUSTERS) == clustered[:1].upper() + clustered[1:] + " count."


@pytest.mark.parametrize(
    ("template", "value", "written"),
    [
        ("{x}", 0.5, "0.5"),
        ("{x!s:>4}", "a", "   a"),
        ("{x!r}", "a", "'a'"),
        ("{x:d}", 7, "7"),
        ("{x:>3}", "a", "  a"),
        ("{x:item was}", 1, "1 item was"),
        ("{{{x}}}", 1, "{1}"),
    ],
)
def test_a_field_is_formatted_as_its_author_says(template, value, written):
    assert text(template, x=value) == written


def test_a_text_is_its_parts_without_empty_ones():
    made = text("{a}{b} {queries}{a}", a="", b=text("x {query}"))

    assert [part if isinstance(part, str) else type(part).__name__ for part in made.parts] == [
        "x ",
        "NounRef",
        " ",
        "NounRef",
    ]
    assert join(", ", []) == ""
    assert render("plain", REPLIES) == "plain"


@pytest.mark.parametrize(
    ("names", "row"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_names_stand_in_a_row_with_a_word_before_the_last(names, row):
    assert first_few(names) == row
    assert first_few([str(n) for n in range(1005)], most=1, last="or") == "0 or 1,004 more"
    assert first_few(["a", "b", "c"], sep="; ") == "a; b and c"


def test_a_path_in_a_command_is_quoted_for_the_shell_whatever_its_form():
    paths = paths_in_command(Path("a b"), Path("c"))

    assert str(paths) == "'a b' c"
    assert render(paths, Form(path=lambda path: f"/x y/{path}")) == "'/x y/a b' '/x y/c'"
    assert render(path_text(Path("a b")), Form()) == "a b"


def test_series_are_met_once_each_in_their_order():
    first, second = reference("a", "long a"), reference("b")

    assert [series.full for series in shortest_names([second + first, "x", first])] == ["b", "long a"]
    assert render(first, Form()) == "long a"
    assert render(first, Form(names=shortest_names([first]))) == "a"
