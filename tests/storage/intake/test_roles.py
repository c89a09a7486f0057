"""The role of each column: as its owner names it, or as its own name says."""

from pathlib import Path

import pytest

from casewise.errors import ConfigurationError
from casewise.storage.intake.roles import (
    CaseColumns,
    columns_of,
    find_columns,
    names_in_objects,
    part_of,
    parts_of_objects,
    rater_columns,
)
from casewise.storage.intake.table import Table

LABELLED = ("prompt", "label")


def table(**columns):
    n = len(next(iter(columns.values()), []))
    return Table(path=Path("cases.csv"), columns=columns, lines=list(range(2, n + 2)))


def test_a_column_has_the_role_that_its_name_says_whatever_its_capitals_and_hyphens():
    found = find_columns(["Prompt", "Harm-Category", "Human Label", "notes"], CaseColumns())

    assert (found.query, found.category, found.label, found.id, found.vote) == (
        "Prompt",
        "Harm-Category",
        "Human Label",
        "",
        "",
    )


def test_a_stated_column_goes_first_and_has_one_role_only():
    found = find_columns(["query", "prompt", "label", "vote"], CaseColumns(query="prompt", context="query", label=""))

    assert (found.query, found.context, found.label, found.vote) == ("prompt", "query", "", "vote")


@pytest.mark.parametrize(
    ("columns", "stated", "problem"),
    [
        (
            LABELLED,
            CaseColumns(label="lable"),
            r"no column 'lable' \(did you mean 'label'\?\); the columns are: prompt",
        ),
        (LABELLED, CaseColumns(parameters={"role": "sender.role"}), "no column 'role'"),
        (LABELLED, CaseColumns(trait=("age",)), "no column 'age'"),
        (LABELLED, CaseColumns(raters="human_*"), r"no column is called like 'human_\*'"),
        (LABELLED, CaseColumns(raters="human"), r"--raters is 'human'; write \* once"),
        (
            ("prompt", "query", "label"),
            CaseColumns(),
            "give --query 'query' or --query 'prompt', or --query '' for none",
        ),
        (
            ("prompt", "n_safe", "safe_votes", "n_votes"),
            CaseColumns(),
            "could both be the n safe; give --n-safe 'n_safe'",
        ),
        (("label",), CaseColumns(), "no column has a name like query"),
        (("prompt", "n_safe"), CaseColumns(), "'n_safe' counts safe votes, but of how many"),
        (("prompt", "n_unsafe"), CaseColumns(), "no column holds what people decided"),
        (("prompt", "value"), CaseColumns(), "no column holds what people decided"),
        (("prompt", "label", "response"), CaseColumns(), "--judged request, or --reply 'response'"),
        (
            ("prompt", "label", "response", "answer"),
            CaseColumns(judged="reply"),
            "--reply 'response' or --reply 'answer'",
        ),
    ],
)
def test_what_cannot_be_told_is_asked_for(columns, stated, problem):
    with pytest.raises(ConfigurationError, match=problem):
        find_columns(columns, stated)


@pytest.mark.parametrize(
    "columns",
    [
        ("prompt", "n_safe", "n_votes"),
        ("prompt", "n_safe", "n_unsafe"),
        ("prompt", "vote"),
        ("prompt", "votes"),
        ("prompt", "safe_rate"),
        ("tool_call",),
    ],
)
def test_each_way_to_say_what_people_decided_is_enough(columns):
    find_columns(columns, CaseColumns())


def test_of_several_ids_the_first_usual_one_is_taken():
    assert find_columns(["id", "case_id", *LABELLED], CaseColumns()).id == "case_id"


def test_a_table_without_ratings_needs_none():
    assert find_columns(["prompt"], CaseColumns(), has_ratings=False).query == "prompt"


def test_values_are_on_a_scale_only_where_there_is_one():
    columns = ("prompt", "label", "value", "mean")
    with_scale, without = (find_columns(columns, CaseColumns(), scale=scale) for scale in (True, False))

    assert (with_scale.value, with_scale.mean) == ("value", "mean")
    assert (without.value, without.mean) == ("", "")


def test_columns_with_the_name_of_a_parameter_state_it_unless_they_are_taken():
    columns = [*LABELLED, "sender platform type", "recipient.ward", "care.role", "context.place", "scores.harm"]
    found = find_columns(columns, CaseColumns(parameters={"care.role": "recipient.type"}))

    assert found.parameters == {
        "care.role": "recipient.type",
        "sender platform type": "sender.platform_type",
        "recipient.ward": "recipient.ward",
        "context.place": "context.place",
    }
    assert find_columns(columns, CaseColumns(trait=("recipient.ward", "context.place"))).parameters == {
        "sender platform type": "sender.platform_type"
    }


@pytest.mark.parametrize(
    ("stated", "reply"),
    [
        (CaseColumns(judged="request"), ""),
        (CaseColumns(judged="action"), ""),
        (CaseColumns(judged="kind"), ""),
        (CaseColumns(judged="reply"), "response"),
        (CaseColumns(reply="response"), "response"),
        (CaseColumns(reply=""), ""),
        (CaseColumns(context="response"), ""),
    ],
)
def test_the_reply_is_what_is_judged_only_where_somebody_says_so(stated, reply):
    assert find_columns([*LABELLED, "response", "kind"], stated).reply == reply


def test_the_kind_that_is_judged_follows_from_the_columns_where_no_word_says_it():
    stated = (CaseColumns(judged="action"), CaseColumns(reply="r"), CaseColumns(tool_call="t"), CaseColumns(judged="k"))

    assert [columns.judged_word for columns in stated] == ["action", "reply", "action", None]
    assert CaseColumns(judged="reply", reply="r").named == {"reply": "r"}
    assert CaseColumns(judged="k").named == {"judged": "k"}


def test_rows_that_are_called_as_their_options_need_no_guess():
    columns = CaseColumns.from_rows(["query", "vote", "prompt"])

    assert (columns.query, columns.vote, columns.label, columns.reply) == ("query", "vote", "", "")


def test_a_pattern_names_the_person_of_each_column():
    assert rater_columns(["human_a", "human_", "other"], "human_*") == {"human_a": "a", "human_": "human_"}
    assert rater_columns(["a_vote", "b_vote"], "*_vote") == {"a_vote": "a", "b_vote": "b"}
    assert rater_columns(["a"], None) == {}
    with pytest.raises(ConfigurationError, match="write \\* once"):
        rater_columns(["a"], "*_*")


# Parts of objects.


def test_a_part_is_found_by_its_path_in_objects_and_in_lists_of_them():
    value = {"a": {"b": 1, "c.d": 2}, "x.y": 3, "each": [{"label": "safe"}, {"other": 1}, 5]}

    assert [part_of(value, path) for path in ("a.b", "a.c.d", "x.y", "each.label")] == [1, 2, 3, ["safe", None]]
    assert [part_of(value, path) for path in ("a.z", "z", "each.none", "a.b.c")] == [None] * 4


def test_a_part_of_objects_becomes_a_column_and_what_is_none_does_not():
    cases = table(prompt=["a", "b", "c"], gold=['{"label": "safe"}', {"label": "unsafe"}, None])

    assert columns_of(cases, CaseColumns(label="gold.label")).label == "gold.label"
    assert cases.columns["gold.label"] == ["safe", "unsafe", None]
    assert parts_of_objects(cases, "nowhere.label") == [None] * 3
    with pytest.raises(ConfigurationError, match=r"no column 'gold\.lable'.*named with a point: gold\.label"):
        columns_of(cases, CaseColumns(label="gold.lable"))
    assert "gold.lable" not in cases.columns


def test_a_column_that_has_a_point_in_its_name_is_taken_as_it_is():
    cases = table(**{"prompt": ["a"], "gold": [{"label": "safe"}], "gold.label": ["unsafe"]})
    columns_of(cases, CaseColumns(label="gold.label"))

    assert cases.columns["gold.label"] == ["unsafe"]


def test_a_table_without_objects_is_refused_in_the_words_of_its_columns_alone():
    with pytest.raises(ConfigurationError) as refused:
        columns_of(table(prompt=["a"]), CaseColumns())

    assert "A part of an object" not in str(refused.value)


def test_the_first_eight_parts_of_the_first_row_are_listed():
    cases = table(one=[[{"a": 1}], None], empty=[[], None], many=[{f"p{n}": n for n in range(9)}, None])

    assert names_in_objects(cases) == ["one.a", *(f"many.p{n}" for n in range(7))]
    assert names_in_objects(table(one=[])) == []
