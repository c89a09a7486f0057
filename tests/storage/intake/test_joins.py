"""Ratings and traits in tables of their own, joined to the cases."""

from pathlib import Path
from typing import Any

import pytest

from casewise.errors import ConfigurationError, DataError
from casewise.records import RatingScale
from casewise.storage.intake.joins import RatingTable, split_rows
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.intake.table import RejectedRow, Table
from casewise.storage.words import VerdictWords

SCALE = RatingScale(low=1, high=5, cut=3)


def cases(**columns):
    columns = columns or {"case_id": ["a", "b"], "prompt": ["Who?", "Why?"]}
    n = len(next(iter(columns.values())))
    return Table(path=Path("cases.csv"), columns=columns, lines=list(range(2, n + 2)), format="CSV", notes=["Read."])


def written(name, text):
    Path(name).write_text(text)
    return Path(name)


def joined(table, given, stated=CaseColumns(), *, scale=None, words=VerdictWords()):
    return given.joined(table, stated, scale=scale, words=words)


SEVERAL: dict[str, list[Any]] = {
    "prompt": ["Who?", "Why?"],
    "id": ["q1", 2.0],
    "ctx, good": ["a nurse", "a clerk"],
    "ctx=bad": ["a thief", None],
    "label_a": ["safe", "safe"],
    "label_b": ["unsafe", None],
    "role_a": ["nurse", "clerk"],
    "role_b": ["thief", None],
    "j_a": ["safe", "unsafe"],
    "j_b": ["safe", None],
}


def test_a_row_with_several_cases_becomes_a_row_for_each_that_it_has():
    stated = CaseColumns(
        case=(
            "context=ctx, good,label=label_a,intended=safe,recipient.type=role_a,judge=j_a",
            "context=ctx=bad, label=label_b,intended=unsafe,recipient.type=role_b,judge=j_b",
        )
    )
    table, columns, judge = split_rows(cases(**SEVERAL), stated)

    assert table.columns == {
        "id": ["q1/ctx, good", "q1/ctx=bad", "2/ctx, good"],
        "prompt": ["Who?", "Who?", "Why?"],
        "ctx, good | ctx=bad": ["a nurse", "a thief", "a clerk"],
        "label_a | label_b": ["safe", "unsafe", "safe"],
        "safe | unsafe": ["safe", "unsafe", "safe"],
        "role_a | role_b": ["nurse", "thief", "clerk"],
        "j_a | j_b": ["safe", "safe", "unsafe"],
        "the row": ["row 1", "row 1", "row 2"],
    }
    assert (list(table.lines), judge, table.left_out) == ([2, 2, 3], "j_a | j_b", {"the row has no such case": 1})
    assert columns.named == {
        "context": "ctx, good | ctx=bad",
        "label": "label_a | label_b",
        "intended": "safe | unsafe",
        "pair": "the row",
    }
    assert columns.parameters == {"role_a | role_b": "recipient.type"}


TWO = ("context=role_a,label=label_a", "context=role_b,label=label_b")


def test_the_note_says_how_many_rows_the_cases_became():
    assert split_rows(cases(**SEVERAL), CaseColumns(case=TWO)).table.notes == [
        "Read.",
        "A row holds 2 cases; they became 4 rows.",
    ]


@pytest.mark.parametrize(
    ("stated", "pair"),
    [
        (CaseColumns(case=TWO), "the row"),
        (CaseColumns(case=TWO, pair=""), ""),
        (CaseColumns(case=TWO, pair="prompt"), "prompt"),
        (CaseColumns(case=("query=role_a,label=label_a", "query=role_b,label=label_b")), None),
        (CaseColumns(case=("pair=j_a,label=label_a", "pair=j_b,label=label_b")), "j_a | j_b"),
    ],
)
def test_the_cases_of_a_row_are_a_pair_unless_another_is_named_or_they_differ_in_the_query(stated, pair):
    found = split_rows(cases(**SEVERAL), stated)

    assert found.columns.pair == pair
    assert ("the row" in found.table.columns) == (pair == "the row")


def test_a_column_that_is_called_as_a_pair_is_the_pair():
    table, columns, _ = split_rows(cases(**SEVERAL, **{"Pair ID": ["x", "y"]}), CaseColumns(case=TWO))

    assert columns.pair is None
    assert table.columns["Pair ID"] == ["x", "x", "y"]


@pytest.mark.parametrize(
    ("more", "key", "ids"),
    [
        ({}, None, ["q1/role_a", "q1/role_b", "2/role_a"]),
        ({"id": ""}, None, ["q1", "q1", 2.0]),
        ({"id": "prompt"}, "prompt", ["Who?/role_a", "Who?/role_b", "Why?/role_a"]),
    ],
)
def test_each_case_has_the_id_of_its_row_with_its_first_column(more, key, ids):
    table = split_rows(cases(**SEVERAL), CaseColumns(case=TWO, **more)).table

    assert table.columns[key or "id"] == ids


def test_cases_may_have_ids_of_their_own_and_rows_none():
    own = CaseColumns(case=("id=j_a,label=label_a", "id=j_b,label=label_b"))
    without = {name: cells for name, cells in SEVERAL.items() if name != "id"}

    assert split_rows(cases(**SEVERAL), own).table.columns["j_a | j_b"] == ["safe", "safe", "unsafe"]
    assert "id" not in split_rows(cases(**without), CaseColumns(case=TWO)).table.columns


def test_rows_without_an_id_stay_without_one():
    several = {**SEVERAL, "id": [None, "q2"]}

    assert split_rows(cases(**several), CaseColumns(case=TWO)).table.columns["id"] == [None, None, "q2/role_a"]


def test_a_case_is_there_if_any_of_its_cells_says_something():
    several = {**SEVERAL, "role_b": ["thief", "guest"]}

    assert split_rows(cases(**several), CaseColumns(case=TWO)).table.columns["label_a | label_b"] == [
        *("safe", "unsafe", "safe", None),
    ]


def test_what_was_left_out_before_is_counted_besides():
    first = cases(**SEVERAL)
    first.left_out["a header"] = 2
    whole = cases(**{name: cells[:1] for name, cells in SEVERAL.items()})

    assert split_rows(first, CaseColumns(case=TWO)).table.left_out == {"a header": 2, "the row has no such case": 1}
    assert split_rows(whole, CaseColumns(case=TWO)).table.left_out == {}


def test_a_stated_word_is_that_of_the_file_where_one_is_declared():
    stated = CaseColumns(case=("context=role_a,label=safe", "context=role_b,label=unsafe"))
    table = split_rows(cases(**SEVERAL), stated, VerdictWords(safe_word=("pass",))).table

    assert table.columns["safe | unsafe"] == ["pass", "unsafe", "pass"]


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (("context=label_a", "context=label_b,label=role_b"), "with the same parts for each case"),
        (("context", "context"), "write PART=COLUMN"),
        (("context=label_a,label=", "context=label_b,label="), "write PART=COLUMN"),
        (("setting=label_a", "setting=label_b"), "write PART=COLUMN"),
        (("context=lable_a", "context=label_b"), "no column 'lable_a' \\(did you mean 'label_a'"),
        (("context=safe", "context=unsafe"), "no column 'safe'"),
    ],
)
def test_cases_that_do_not_fit_the_table_are_refused(case, problem):
    with pytest.raises(ConfigurationError, match=problem):
        split_rows(cases(**SEVERAL), CaseColumns(case=case))


@pytest.mark.parametrize(
    ("case", "key", "problem"),
    [
        ("query=prompt,label=label_a", "no such", "there is no column 'no such'"),
        ("query=prompt,label=label_a", "prompt", "'prompt' is a part of a case in --case and no id of the row"),
    ],
)
def test_an_id_of_the_row_is_a_column_of_its_own(case, key, problem):
    with pytest.raises(ConfigurationError, match=problem):
        split_rows(cases(**SEVERAL), CaseColumns(case=(case,), id=key))


def test_a_query_in_a_column_that_is_called_as_an_id_stays_as_it_is():
    table, _, _ = split_rows(cases(id=["Who?"], label=["safe"]), CaseColumns(case=("query=id,label=label",)))

    assert table.columns["id"] == ["Who?"]


def test_without_further_tables_everything_stays_as_it_is():
    table, columns = cases(), CaseColumns(vote="v")

    assert joined(table, RatingTable(), columns) == (table, columns)
    assert split_rows(table, columns) == (table, columns, None)


@pytest.mark.parametrize("key", ["case_id", "Item-ID", "instance_id"])
def test_each_rating_is_a_row_with_what_its_case_says_behind_the_cases(key):
    ratings = written("ratings.csv", f"{key},annotator,vote\nb,x,safe\na,x,unsafe\nb,y,unsafe\n")
    table, columns = joined(cases(), RatingTable(ratings))

    assert table.columns == {
        "case_id": ["a", "b", "b", "a", "b"],
        "prompt": ["Who?", "Why?", "Why?", "Who?", "Why?"],
        "annotator": [None, None, "x", "x", "y"],
        "vote": [None, None, "safe", "unsafe", "unsafe"],
    }
    assert list(table.lines) == [2, 3, 2, 3, 4]
    assert columns.id == "case_id"
    assert (table.format, table.path.name, table.notes[0]) == ("CSV with ratings in CSV", "ratings.csv", "Read.")


def test_an_id_of_the_rating_itself_is_none_of_the_case():
    ratings = written("ratings.csv", "id,item_id,vote\nr1,b,safe\n")
    table, _ = joined(cases(), RatingTable(ratings))

    assert (table.columns["prompt"], table.columns["id"]) == (["Who?", "Why?", "Why?"], [None, None, "r1"])


def test_what_either_file_left_out_or_rejected_is_kept():
    first = cases()
    first.rejected.append(RejectedRow(9, "has too many cells", "x"))
    first.left_out["a header"] = 2
    table, _ = joined(first, RatingTable(written("ratings.csv", "case_id,vote\na,safe\n")))

    assert ([each.line for each in table.rejected], table.left_out) == ([9], {"a header": 2})


def test_a_text_that_an_annotation_tool_repeats_is_that_of_the_cases():
    first = cases(case_id=["a"], text=["Who?"], prompt=["Who?"])
    table, _ = joined(first, RatingTable(written("ratings.csv", "case_id,text,vote\na,Who,safe\n")))

    assert table.columns["text"] == ["Who?", "Who?"]


@pytest.mark.parametrize(
    ("first", "ratings", "error", "problem"),
    [
        ({"prompt": ["Who?"]}, "id,vote\na,safe\n", ConfigurationError, "ratings need the case's id; name its column"),
        ({}, "place,vote\na,safe\n", ConfigurationError, "ratings.csv has no column 'case_id' with the case's id"),
        ({}, "case_id,prompt\na,Who?\n", ConfigurationError, "both files have a column 'prompt'"),
        (
            {"case_id": ["a", "b", "a"], "prompt": ["1", "2", "3"]},
            "case_id,vote\na,safe\n",
            DataError,
            "cases.csv:4: 'case_id' is .*, as on line 2",
        ),
        (
            {},
            "case_id,vote\na,safe\nz,safe\n",
            DataError,
            "ratings.csv:3: .* no case has this id; cases.csv has a, b, …",
        ),
    ],
)
def test_ratings_that_do_not_fit_the_cases_are_refused_with_the_place(first, ratings, error, problem):
    with pytest.raises(error, match=problem):
        joined(cases(**first), RatingTable(written("ratings.csv", ratings)))


# One row a person.


WIDE = {"who": ["x", "y"], "age": [30, 40], "R_a": ["safe", "unsafe"], "R_b": ["unsafe", None]}


def test_a_wide_table_is_a_row_for_each_person_and_case_with_the_persons_other_cells():
    table, columns = joined(cases(**WIDE), RatingTable(wide="R_*"), CaseColumns(annotator="who"))

    assert table.columns == {
        "who": ["x", "x", "y", "y"],
        "age": [30, 30, 40, 40],
        "query": ["a", "b", "a", "b"],
        "rating": ["safe", "unsafe", "unsafe", None],
    }
    assert list(table.lines) == [2, 2, 3, 3]
    assert (columns.query, columns.vote, columns.value) == ("query", "rating", None)
    assert table.notes[-1] == "2 rows of people with 2 cases each became 4 rows."


def test_the_cells_of_a_wide_table_are_values_where_there_is_a_scale():
    _, columns = joined(
        cases(**WIDE), RatingTable(wide="R_*"), CaseColumns(annotator="who", query="prompt"), scale=SCALE
    )

    assert (columns.query, columns.vote, columns.value) == ("prompt", None, "rating")


def test_a_wide_table_beside_the_cases_is_joined_by_their_ids():
    ratings = written("ratings.csv", "who,R_a,R_b\nx,safe,unsafe\n")
    table, columns = joined(cases(), RatingTable(ratings, wide="R_*"), CaseColumns(annotator="who"))

    assert table.columns["case_id"] == ["a", "b", "a", "b"]
    assert table.columns["rating"] == [None, None, "safe", "unsafe"]
    assert (columns.vote, columns.id) == ("rating", "case_id")


@pytest.mark.parametrize(
    ("wide", "annotator", "problem"),
    [
        ("R_", "who", r"--wide is 'R_'; write \* once"),
        ("*_*", "who", r"--wide is '\*_\*'; write \* once"),
        ("Rating_*", "who", r"no column is called like 'Rating_\*'"),
        ("R_*", None, "name the column that identifies the person with --annotator"),
    ],
)
def test_a_wide_table_that_does_not_say_whose_or_of_what_a_cell_is_is_refused(wide, annotator, problem):
    with pytest.raises(ConfigurationError, match=problem):
        joined(cases(**WIDE), RatingTable(wide=wide), CaseColumns(annotator=annotator))


@pytest.mark.parametrize(("header", "annotator"), [("case_id", "case_id"), ("who,rating", "who"), ("rating", "rating")])
def test_a_wide_table_with_a_column_that_its_cells_would_replace_is_refused(header, annotator):
    ratings = written("ratings.csv", f"{header},R_a,R_b\n{','.join('x' for _ in header.split(','))},safe,unsafe\n")
    with pytest.raises(ConfigurationError, match="and --wide makes another of that name; rename it in the file"):
        joined(cases(), RatingTable(ratings, wide="R_*"), CaseColumns(annotator=annotator))


# People.


def rated():
    return cases(prompt=["Who?"] * 3, annotator=["x", "y", None], vote=["safe"] * 3)


@pytest.mark.parametrize("key", ["annotator", "Participant ID", "id"])
def test_traits_stand_beside_each_rating_of_their_person(key):
    people = written("people.csv", f"{key},age\ny,40\nz,50\n")
    table, columns = joined(rated(), RatingTable(people=people))

    assert table.columns["trait.age"] == [None, "40", None]
    assert list(table.columns) == ["prompt", "annotator", "vote", "trait.age"]
    assert columns.annotator == "annotator"
    assert (
        table.notes[-1]
        == "1 of 2 annotators have traits in people.csv; 1 of its rows belong to no annotator of these ratings."
    )


def test_traits_are_joined_though_no_column_is_called_as_a_query_or_a_label():
    people = written("people.csv", "annotator,age\ny,40\n")
    table, _ = joined(cases(ask=["Who?"], annotator=["y"], outcome=["safe"]), RatingTable(people=people))

    assert table.columns["trait.age"] == ["40"]


def test_a_trait_that_is_missing_in_the_words_of_the_file_is_none():
    people = written("people.csv", "annotator,age,home\nx,revoked,N/A\ny,,Bath\n")
    table, _ = joined(rated(), RatingTable(people=people), words=VerdictWords(missing_word=("revoked",)))

    assert (table.columns["trait.age"], table.columns["trait.home"]) == ([None] * 3, [None, "Bath", None])


@pytest.mark.parametrize(
    ("table", "people", "error", "problem"),
    [
        ({"prompt": ["Who?"], "vote": ["safe"]}, "id,age\nx,3\n", ConfigurationError, "--people needs the annotator"),
        (
            {"prompt": ["Who?"], "votes": [["safe"]], "annotator": [["x"]]},
            "id,age\nx,3\n",
            ConfigurationError,
            "--people needs a row for each rating, and 'votes' holds several ratings",
        ),
        (
            {"prompt": ["Who?"], "vote": ["safe"], "annotator": ["x"], "trait.age": ["4"]},
            "id,age\nx,3\n",
            ConfigurationError,
            "both files state the trait 'age'",
        ),
        (None, "name,age\nx,3\n", ConfigurationError, "people.csv has no column 'annotator' with the annotator"),
        (None, "id,age\nx,3\ny,4\nx,5\n", DataError, "people.csv:4: .id. is .x., as on line 2; each stands once"),
    ],
)
def test_people_who_cannot_be_told_are_refused(table, people, error, problem):
    with pytest.raises(error, match=problem):
        joined(cases(**table) if table else rated(), RatingTable(people=written("people.csv", people)))


def test_a_word_of_a_case_that_is_also_a_column_is_asked_about():
    table = cases(query=["Who?"], safe=["unsafe"], role_a=["nurse"])

    with pytest.raises(ConfigurationError, match="'safe' in --case may be the word or the column of that name"):
        split_rows(table, CaseColumns(case=("context=role_a,label=safe",)))
