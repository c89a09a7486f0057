"""The ratings in a row: votes, lists, counts, shares and values on a scale."""

from pathlib import Path

import pytest
from tests.support.imported import BOMB, BREAD, labels, loaded, receipt_of, two, votes_of

import casewise
from casewise.errors import ConfigurationError, DataError
from casewise.records import RatingScale
from casewise.storage.benchmark import About
from casewise.storage.intake.cases import benchmark_from_rows
from casewise.storage.intake.cells import CaseCells, CaseFrame, Policies
from casewise.storage.intake.ratings import RatingLists, RatingReader, RowWithoutVerdict
from casewise.storage.intake.roles import CaseColumns, find_columns, rater_columns
from casewise.storage.intake.table import Table
from casewise.storage.load import import_cases, load_frame
from casewise.storage.words import VerdictWords


@pytest.mark.parametrize(
    ("columns", "votes"),
    [
        ({"n_safe": 2, "n_unsafe": 3}, (2, 5, 0)),
        ({"n_safe": "4", "n_votes": "4.0"}, (4, 4, 0)),
        ({"votes": ["safe", "unsafe"]}, (1, 2, 0)),
        ({"ratings": "deny; allow"}, (1, 2, 0)),
        ({"label": "refuse"}, (0, 1, 0)),
        ({"is_safe": True}, (1, 1, 0)),
        ({"safe_rate": "0,75"}, (0, 0, 0)),
        ({"n_safe": 2, "n_unsafe": 3, "n_unsure": 4}, (2, 5, 4)),
        ({"votes": ["safe", "unsure", "not sure"]}, (1, 1, 2)),
        ({"label": "Unsure"}, (0, 0, 1)),
    ],
)
def test_what_people_decided_may_be_said_in_many_ways(columns, votes):
    said = CaseColumns(label="is_safe") if "is_safe" in columns else CaseColumns()
    found = casewise.load_frame([{"query": "Who?", **columns}], columns=said)
    assert found.votes[found.items[0].id][:3] == votes
    assert found.items[0].published_rate == (0.75 if "safe_rate" in columns else None)


def test_a_vote_of_nobody_is_refused_though_its_word_is_zero():
    rows = [{"query": "Who?", "rater": "ann", "vote": 1}, {"query": "When?", "rater": None, "vote": 0}]
    with pytest.raises(DataError, match="'rater' is empty; say who gave this rating"):
        casewise.load_frame(rows, words=VerdictWords(safe_word=("1",), unsafe_word=("0",)))


def test_a_number_of_votes_is_whole_and_at_most_a_hundred_thousand():
    assert votes_of({"n_safe": 0, "n_unsafe": 0}, {"n_safe": 100_000, "n_unsafe": 0}) == [
        (0, 0, 0),
        (100_000, 100_000, 0),
    ]
    assert votes_of({"n_safe": 2, "n_votes": 2}) == [(2, 2, 0)]
    for wrong, problem in (
        (100_001, "a number from 0 to 100000"),
        (1.5, "a whole number"),
        (None, "give a number of votes"),
    ):
        with pytest.raises(DataError, match=problem):
            loaded({"n_safe": 1, "n_unsafe": 1}, {"n_safe": wrong, "n_unsafe": 1})


def test_a_share_of_so_many_votes_is_the_one_whole_number_that_it_rounds():
    rows = ({"safe_rate": share, "n_votes": n} for share, n in (("0.67", 3), (1, 4), (0, 4), ("0.5", 1000), (None, 5)))

    assert votes_of(*rows) == [(2, 3, 0), (4, 4, 0), (0, 4, 0), (500, 1000, 0), (0, 0, 0)]
    with pytest.raises(DataError, match="of 301 votes, which could be 98 to 100 of them"):
        loaded({"safe_rate": "0.33", "n_votes": 301})
    with pytest.raises(DataError, match="of 3 votes, which is no whole number of them"):
        loaded({"safe_rate": "0.9", "n_votes": 3})
    with pytest.raises(DataError, match="not a number from 0 to 1"):
        loaded({"safe_rate": -0.1})


def test_a_share_rounded_at_its_very_border_or_written_as_a_percentage_still_fits():
    assert votes_of({"safe_rate": "0.13", "n_votes": 8}) == [(1, 8, 0)]  # 1/8 = 0.125
    assert votes_of({"safe_rate": "0.12", "n_votes": 8}) == [(1, 8, 0)]
    assert votes_of({"safe_rate": "33.3 %", "n_votes": 3}) == [(1, 3, 0)]


SCALE = RatingScale(low=1, high=5, cut=3)


def test_ratings_on_a_scale_are_kept_as_they_are():
    found = benchmark_from_rows([{"query": "Who?", "value": 4.5}], About(name="scaled", scale=SCALE), source="rows")

    assert [rating.value for rating in found.ratings] == [4.5]


def test_a_list_of_one_word_is_that_word_as_a_label_and_of_several_is_none():
    assert votes_of({"label": ["safe"]}) == [(1, 1, 0)]
    with pytest.raises(DataError, match="label"):
        loaded({"label": ["safe", "unsafe"]})


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("a", "it names 1 person for 2 votes"),
        ("a,b,c", "it names 3 people for 2 votes"),
        ("a,a", "it names a person twice"),
    ],
)
def test_people_in_a_list_are_as_many_as_the_votes_and_all_different(names, problem):
    with pytest.raises(DataError, match=problem):
        loaded({"votes": "safe,unsafe", "annotator": names})


def test_people_in_a_list_keep_their_votes_where_some_gave_none():
    found = loaded({"votes": ["safe", None, "unsafe"], "annotator": ["a", "b", "c"]})

    assert [(one.annotator_id, one.verdict) for one in found.ratings] == [("a", "safe"), ("c", "unsafe")]


def test_an_empty_cell_is_an_unsure_vote_where_somebody_says_so():
    rows = [{"rater": "a", "vote": None}, {"rater": "b", "vote": "safe"}]

    assert votes_of(*rows, words=VerdictWords(unsure_word=("",))) == [(0, 0, 1), (1, 1, 0)]
    assert votes_of(*rows) == [(0, 0, 0), (1, 1, 0)]


@pytest.mark.parametrize(
    ("share", "n", "safe"),
    [(0.9, 10, 9), (0.333, 3, 1), ("69,2 %", 13, 9), (0.5, 4, 2), (0, 7, 0), (0.333, 10, "is no whole number of them"),
     (0.5, 31, "could be 14 to 17 of them"), (0.25, 2, "is no whole number of them")],
)  # fmt: skip
def test_a_share_of_a_number_of_votes_is_votes_where_only_one_number_fits(share, n, safe):
    row = {"query": BREAD, "safe_rate": share, "n_votes": n}
    if isinstance(safe, int):
        assert labels(load_frame([row])) == [(safe, n - safe, 0)]
        return
    with pytest.raises(DataError, match=f"of {n} votes, which {safe}; --n-votes '' takes shares without"):
        load_frame([row])
    assert load_frame([row], columns=CaseColumns(n_votes="")).items[0].published_rate == share


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (f"query,rater,vote\n{BREAD},a,safe\n{BREAD},b,\n{BREAD},c,NA\n", CaseColumns()),
        (f"query,rater,label\n{BREAD},a,safe\n{BREAD},b,\n{BREAD},c,NA\n", CaseColumns()),
        (f"query,by_a,by_b,by_c\n{BREAD},safe,,NA\n", CaseColumns(raters="by_*")),
        (f"query,votes\n{BREAD},safe;;NA\n", CaseColumns()),
    ],
)
def test_an_empty_cell_is_an_unsure_vote_in_every_form_of_ratings_where_that_is_declared(file, text, columns):
    silent = import_cases(file(text), columns=columns)
    declared = import_cases(file(text), columns=columns, words=VerdictWords(unsure_word=("",)))

    assert (labels(silent), labels(declared)) == ([(1, 0, 0)], [(1, 0, 1)])


def test_a_column_a_rater_gives_votes_of_people_with_their_names():
    found = load_frame(
        [{"query": BREAD, "human_1": "safe", "human_2": "unsafe", "human_x": "NA"}],
        columns=CaseColumns(raters="human_*"),
    )
    assert [(one.annotator_id, one.verdict) for one in found.ratings] == [("1", "safe"), ("2", "unsafe")]


def test_votes_in_a_list_belong_to_the_people_in_the_list_beside_it():
    row = {"query": BREAD, "votes": ["safe", "unsafe"], "annotator": ["p1", "p9"]}
    assert [(one.annotator_id, one.verdict) for one in load_frame([row]).ratings] == [("p1", "safe"), ("p9", "unsafe")]
    with pytest.raises(DataError, match="it names 1 person for 2 votes"):
        load_frame([row | {"annotator": ["p1"]}])


def test_raters_are_a_pattern_or_columns_by_name():
    rows = [{"query": BREAD, "human1": "safe", "human2": "unsafe", "human_majority": "safe"}]
    assert labels(load_frame(rows, columns=CaseColumns(raters="human1, human2"))) == [(1, 1, 0)]
    with pytest.raises(ConfigurationError, match="or the names of the columns with commas"):
        load_frame(rows, columns=CaseColumns(raters="human1,human3"))


def test_a_list_as_pandas_writes_it_may_hold_missing_votes():
    assert labels(load_frame([{"query": BREAD, "votes": "['safe', nan]"}])) == [(1, 0, 0)]
    assert labels(load_frame([{"query": BREAD, "votes": '["safe", NaN]'}])) == [(1, 0, 0)]


def test_a_row_of_sums_below_a_table_is_no_case(file):
    table = file(f"query,n_safe,n_unsafe\n{BREAD},3,1\n{BOMB},0,4\nTotal,3,5\n")
    with pytest.raises(
        DataError, match=":4: 'query' is 'Total', as the sums below a table are called; remove that row"
    ):
        import_cases(table)
    assert labels(import_cases(table, policies=Policies(skip_bad=True))) == [(3, 1, 0), (0, 4, 0)]


def test_a_case_that_is_not_applicable_is_left_out_and_counted():
    found = load_frame(two("label", "safe", "Not applicable"))

    assert labels(found) == [(1, 0, 0)]
    receipt = receipt_of(found)
    assert (receipt.n_rows, receipt.n_kept) == (2, 1)
    assert [(part.n, part.first_line) for part in receipt.dropped] == [(1, 2)]


# A row with each form of ratings.


def ratings_of(row, stated=CaseColumns(), *, words=VerdictWords(), scale=None, named=None, policies=Policies()):
    """The ratings of the first of two like rows."""
    columns = {name: [cell, cell] for name, cell in ({"query": "Who?"} | row).items()}
    table = Table(path=Path("t.csv"), columns=columns, lines=[2, 3])
    roles = find_columns(table.names, stated, scale=scale is not None, has_ratings=False)
    cells = CaseCells(table, roles, CaseFrame(words=words, scale=scale, policies=policies))
    reader = RatingReader(cells, rater_columns(table.names, roles.raters))
    found = reader.ratings(0, named)
    return found if reader.n_blank == 0 else (found, reader.n_blank)


@pytest.mark.parametrize(
    ("row", "ratings"),
    [
        ({"label": "safe"}, [(0, "safe", None)]),
        ({"label": None}, []),
        ({"vote": "unsafe", "label": "safe"}, [(0, "unsafe", None)]),
        ({"vote": None, "label": "safe"}, [(0, "safe", None)]),
        (
            {"n_safe": 1, "n_unsafe": 2, "n_unsure": 1},
            [(0, "safe", None), (1, "unsafe", None), (2, "unsafe", None), (3, "unsure", None)],
        ),
        ({"n_safe": 1, "n_votes": 2, "label": "safe"}, [(0, "safe", None), (1, "unsafe", None)]),
        ({"safe_rate": 0.5, "n_votes": 2}, [(0, "safe", None), (1, "unsafe", None)]),
        ({"safe_rate": None, "n_votes": 2}, []),
        ({"safe_rate": 0.5, "n_unsafe": 2}, []),
        ({"safe_rate": 0.5, "label": "safe"}, [(0, "safe", None)]),
        ({"votes": ["safe", None, "NA", "", "unsafe"]}, [(0, "safe", None), (4, "unsafe", None)]),
        ({"votes": None}, []),
        ({"votes": "safe;unsafe", "annotator": "a;b"}, [("a", "safe", None), ("b", "unsafe", None)]),
        ({"votes": ["safe"], "annotator": [7.0]}, [("7", "safe", None)]),
        ({"votes": ["safe"], "annotator": None}, [(0, "safe", None)]),
    ],
)
def test_a_row_without_a_person_holds_the_ratings_that_its_columns_say(row, ratings):
    assert ratings_of(row) == ratings


def test_a_row_of_a_person_holds_the_vote_and_the_value_of_that_person():
    assert ratings_of({"annotator": "a", "vote": "safe", "value": 4}, scale=SCALE, named="a") == [("a", "safe", 4.0)]
    assert ratings_of({"annotator": "a", "value": 4}, scale=SCALE, named="a") == [("a", None, 4.0)]
    assert ratings_of({"annotator": "a", "vote": None}, named="a") == ([], 1)
    assert ratings_of({"annotator": None, "vote": None}) == []
    with pytest.raises(DataError, match=r"t\.csv:2: 'annotator' is empty; say who gave this rating"):
        ratings_of({"annotator": None, "vote": "safe"})
    with pytest.raises(DataError, match="'annotator' is empty; say who gave"):
        ratings_of({"annotator": None, "value": 4}, scale=SCALE)


def test_numbers_in_lists_and_in_columns_of_raters_are_values_where_no_word_is_declared():
    words = VerdictWords(safe_word=("1",), unsafe_word=("5",))

    assert ratings_of({"votes": ["1", "5", 2]}, scale=SCALE) == [(0, None, 1.0), (1, None, 5.0), (2, None, 2.0)]
    assert ratings_of({"votes": ["1", 2]}, scale=SCALE, words=words) == [(0, "safe", None), (1, None, 2.0)]
    assert ratings_of({"by_a": 3, "by_b": "safe", "by_c": "NA"}, CaseColumns(raters="by_*"), scale=SCALE) == [
        ("a", None, 3.0),
        ("b", "safe", None),
    ]
    assert ratings_of({"votes": ["4/5"]}, scale=SCALE) == [(0, None, 4.0)]


@pytest.mark.parametrize("value", [0.9, 5.1, "high", "3/4"])
def test_a_value_beside_the_scale_is_refused(value):
    with pytest.raises(DataError, match=r"t\.csv:2: 'value' is .*, not a number from 1 to 5"):
        ratings_of({"annotator": "a", "value": value}, scale=SCALE, named="a")
    with pytest.raises(ConfigurationError, match="'value' holds ratings on a scale; say which with --scale-low and"):
        ratings_of({"annotator": "a", "value": 3}, CaseColumns(value="value"), named="a")


def test_an_empty_word_that_is_unsure_is_a_vote_of_each_person_and_of_a_single_case():
    words = VerdictWords(unsure_word=("",))

    assert ratings_of({"annotator": "a", "label": None}, words=words, named="a") == [("a", "unsure", None)]
    assert ratings_of({"annotator": None, "label": None}, words=words) == []
    assert ratings_of({"label": None}, words=words) == [(0, "unsure", None)]
    assert ratings_of({"value": None}, words=words, scale=SCALE) == [(0, "unsure", None)]
    assert ratings_of({"context": "x"}, words=words) == []
    assert ratings_of({"votes": ["safe", None, ""]}, words=words) == [
        *((0, "safe", None), (1, "unsure", None), (2, "unsure", None)),
    ]
    assert ratings_of({"by_a": None}, CaseColumns(raters="by_*"), words=words) == [("a", "unsure", None)]


@pytest.mark.parametrize("row", [{"vote": "not applicable"}, {"votes": ["not applicable"]}])
def test_a_row_without_a_verdict_by_its_nature_says_so(row):
    with pytest.raises(RowWithoutVerdict, match=f"'{next(iter(row))}' is not applicable"):
        ratings_of(row)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"n_safe": None, "n_unsafe": 1}, "'n_safe' is empty; give a number of votes"),
        ({"n_safe": -1, "n_unsafe": 1}, "'n_safe' is -1, not a number from 0 to 100000"),
        ({"n_safe": 100_001, "n_unsafe": 1}, "'n_safe' is 100001, not a number from 0 to 100000"),
        ({"n_safe": "x", "n_unsafe": 1}, "'n_safe' is 'x', not a number from 0 to 100000"),
        ({"n_safe": 0.5, "n_unsafe": 1}, "'n_safe' is 0.5, not a whole number"),
        ({"n_safe": 3, "n_votes": 2}, "3 of 2 votes cannot be safe"),
        ({"n_safe": 1, "n_unsafe": 1, "n_unsure": 0.5}, "'n_unsure' is 0.5, not a whole number"),
        ({"safe_rate": 1.01}, "'safe_rate' is 1.01 on line 2; give --percent"),
        ({"safe_rate": -0.01, "n_votes": 2}, "'safe_rate' is -0.01, not a number from 0 to 1"),
        ({"safe_rate": "120 %", "n_votes": 2}, "'safe_rate' is '120 %', not a number from 0 to 100"),
        ({"safe_rate": "x", "n_votes": 2}, "'safe_rate' is 'x', not a number from 0 to 1"),
        ({"safe_rate": 0.5, "n_votes": None}, "'n_votes' is empty; give a number of votes"),
        ({"votes": "safe;unsafe", "annotator": "a"}, "'annotator' is 'a'; it names 1 person for 2 votes"),
        ({"votes": ["safe", "safe"], "annotator": [7, 7.0]}, r"'annotator' is \[7, 7.0\]; it names a person twice"),
        ({"vote": "n/applicable"}, "'vote' is 'n/applicable'"),
    ],
)
def test_numbers_and_names_that_cannot_be_are_refused(row, problem):
    with pytest.raises((DataError, ConfigurationError), match=problem):
        ratings_of(row)


@pytest.mark.parametrize(
    ("share", "n", "safe"),
    [
        ("50%", 2, 1),
        ("33.3%", 3, 1),
        ("66,7 %", 3, 2),
        (0.333, 3, 1),
        ("0.5", 1, None),
        (1 / 3, 3, 1),
        ("0.125", 8, 1),
        (0, 0, 0),
    ],
)
def test_a_share_is_so_many_votes_where_one_whole_number_rounds_to_it(share, n, safe):
    row = {"safe_rate": share, "n_votes": n}
    if safe is None:
        with pytest.raises(DataError, match="of 1 vote, which is no whole number of them; --n-votes '' takes shares"):
            ratings_of(row)
        return
    votes = [vote for _, vote, _ in ratings_of(row)]
    assert (votes.count("safe"), len(votes)) == (safe, n)


def test_a_row_of_sums_is_refused_with_what_to_do():
    table = Table(path=Path("t.csv"), columns={"query": ["Who?", "Total"], "label": ["safe", "safe"]}, lines=[2, 3])
    reader = RatingReader(CaseCells(table, find_columns(table.names, CaseColumns()), CaseFrame()), {})

    assert reader.ratings(0, None) == [(0, "safe", None)]
    with pytest.raises(DataError, match=r"t\.csv:3: 'query' is 'Total', as the sums below a table are called; remove"):
        reader.ratings(1, None)


def test_ratings_become_columns_with_people_and_positions():
    lists = RatingLists()
    lists.add("i1", "ada", "safe", None)
    lists.add("i2", 3, None, 4.5)
    lists.add("i1", "bo", "unsure", None)
    lists.add("i2", "ada", "unsafe", None)
    columns = lists.columns()

    assert (columns.items, columns.annotators) == (("i1", "i2"), ("ada", "bo"))
    assert columns.table.select("item", "annotator", "position", "verdict", "value").rows() == [
        (0, 0, None, "safe", None),
        (1, None, 3, None, 4.5),
        (0, 1, None, "unsure", None),
        (1, 0, None, "unsafe", None),
    ]
