"""Rows of the one shape, tables of ratings, and what a user's file says of its cases."""

import json

import pytest
from tests.support.command import invoke

from casewise import api
from casewise.api import CaseColumns, ImportOptions, RatingTable, VerdictWords
from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.records import Context, Query, RatingScale, Turn
from casewise.storage.benchmark import About
from casewise.storage.benchmark_folder import write_benchmark
from casewise.storage.intake.cases import benchmark_from_rows
from casewise.storage.load import convert, load

HARM = RatingScale(low=0, high=100, cut=50, question="How harmful is it?")


def row(query="Who?", annotator="ann", **more):
    return {"query": query, "annotator": annotator, **more}


def of(*rows, scale=None, **about):
    return benchmark_from_rows(rows, About(name="made", scale=scale, **about), source="rows.csv")


def test_rows_of_one_item_are_its_ratings_and_the_annotators_keep_their_traits():
    found = of(
        row(annotator="ann", vote="safe", before="Hello.", **{"trait.age": 31, "trait.": "x"}),
        row(annotator="ben", vote="unsure", before="Hello.", **{"trait.age": None}),
        row(annotator="ben", vote="unsafe", before=[{"role": "user", "text": "Hello."}]),
        row(annotator=None, before="Hello?"),
    )

    assert found.counts.items == 3
    assert [votes[:3] for votes in found.votes.values()] == [(1, 1, 1), (0, 1, 0), (0, 0, 0)]
    assert found.queries[0].before == (Turn(role="conversation", text="Hello."),)
    assert [one.annotator_id for one in found.ratings] == ["ann", "ben", "ben"]
    assert {one.id: one.traits for one in found.annotators}["ann"] == {"age": 31}
    assert found.labels_by == "people"


def test_values_lie_on_the_scale_and_the_cut_makes_verdicts_of_them():
    found = of(row(value=10, annotator="a"), row(value="90,5", annotator="b"), row(value=50, annotator="c"), scale=HARM)
    means = of({"query": "Who?", "mean": 25}, {"query": "When?", "votes": [0, 100]}, scale=HARM, labels_by="people")

    assert [(one.verdict, one.value) for one in found.ratings] == [("safe", 10), ("unsafe", 90.5), ("unsafe", 50)]
    assert means.item_columns.select("n_votes", "n_values", "mean", "mean_share", "mean_is_safe").rows() == [
        (0, 0, 25.0, 0.75, True),
        (2, 2, 50.0, 0.5, False),
    ]
    assert any("1 of 2 items have a published mean and no single ratings" in note for note in means.notes())
    uncut = of(row(value=10), scale=RatingScale(low=0, high=100))
    assert [(one.verdict, one.value) for one in uncut.ratings] == [(None, 10.0)]


def test_category_cluster_id_and_other_columns_belong_to_the_item():
    found = of(
        {
            "query": "Who?",
            "context": "a nurse",
            "category": "x",
            "cluster": "k",
            "id": 7,
            "label": "safe",
            "seen": True,
        },
        {
            "query": "Who?",
            "context": "a thief",
            "category": "y",
            "cluster": "k",
            "id": 8,
            "label": "unsafe",
            "seen": False,
        },
        {"query": "When?", "category": "x", "id": 9, "label": "safe", "seen": None},
    )

    assert [found.category_of(item) for item in found.items] == ["x", "y", "x"]
    assert found.item_columns["cluster"].to_list() == ["k", "k", found.items[2].query_id]
    assert [(item.source_id, item.columns) for item in found.items] == [
        ("7", {"seen": True}),
        ("8", {"seen": False}),
        ("9", None),
    ]
    alone = of({"query": "Who?", "context": "a nurse", "category": "x", "id": 7, "label": "safe", "seen": True})
    assert alone.items[0].id == found.items[0].id, "none of it is the item's identity"


def test_an_id_that_two_items_share_in_their_owners_file_finds_neither_of_them():
    shared = [{"query": "Who?", "context": context, "id": 2, "label": "safe"} for context in ("a nurse", "a thief")]
    benchmark = of(*shared, {"query": "When?", "id": 9, "label": "safe"})

    assert benchmark.find("9") == benchmark.find("3") == benchmark.items[2]
    with pytest.raises(BenchmarkError, match="2 items of the benchmark 'made' have ids that begin with '2'"):
        benchmark.find("2")


def test_a_column_that_differs_among_the_ratings_of_an_item_is_left_out_with_a_remark():
    found = of(row(annotator="a", vote="safe", ms=1, kind="k"), row(annotator="b", vote="safe", ms=2, kind="k"))

    assert found.items[0].columns == {"kind": "k"}
    assert "Left out of the file: ms, which differ" in (found.about.remarks or ("",))[0]


def test_the_digest_knows_clusters_and_means_and_no_benchmark_without_them_changes():
    plain, clustered, mean = (
        of({"query": "Who?", "label": "safe"} | more, scale=HARM) for more in ({}, {"cluster": "k"}, {"mean": 3})
    )
    other = of({"query": "Who?", "label": "safe", "id": 3, "seen": 1})

    assert len({plain.digest, clustered.digest, mean.digest}) == 3
    assert other.digest == plain.digest
    assert load("demo").digest == "cc0f099a1748283217fa93d625eb60d3"


def test_what_is_judged_and_what_was_before_it_make_the_query():
    text = {"text": "Who?", "category": "x"}
    other = (Query(**text, judged="reply"), Query(**text, before=(Turn(role="user", text="Hm."),)))

    assert len({Query(**text).id, *(one.id for one in other)}) == 3
    assert Query(**text, judged="request").line() == Query(**text).line()
    assert "judged" not in Query(**text).as_json()


@pytest.mark.parametrize(
    ("rows", "line", "problem"),
    [
        (
            [row(vote="safe", pair=1), row("When?", vote="safe"), row(annotator="b", vote="safe", pair=2)],
            3,
            "'pair' is 2",
        ),
        ([row(value=101)], 1, "'value' is 101, not a number from 0 to 100"),
        ([row(value="high")], 1, "'value' is 'high', not a number from 0 to 100"),
        ([row(value=3), row("When?", None, value=3)], 2, "'annotator' is empty"),
        ([{"query": "Who?", "mean": -1}], 1, "'mean' is -1, not a number from"),
        ([{"query": "Who?", "votes": [1, "x"]}], 1, "'votes' is 'x', and no option says"),
        ([row(vote="safe", before=[{"role": "user"}])], 1, "'before.0.text': Field required"),
        ([], None, "holds no rows"),
    ],
)
def test_rows_that_contradict_each_other_are_named_by_file_and_line(rows, line, problem):
    with pytest.raises(DataError, match=problem) as found:
        of(*rows, scale=HARM if any("val" in str(one) or "mean" in one or "votes" in one for one in rows) else None)

    assert found.value.line == line
    assert str(found.value).startswith("rows.csv")


def test_values_without_a_scale_and_traits_without_annotators_are_refused():
    with pytest.raises(ConfigurationError, match="--scale-low and --scale-high"):
        of(row(value=3))
    with pytest.raises(ConfigurationError, match="no column of annotators"):
        of({"query": "Who?", "label": "safe", "trait.age": 3})
    with pytest.raises(ValueError, match="has no length"):
        RatingScale(low=1, high=1)
    with pytest.raises(ValueError, match="does not lie between"):
        RatingScale(low=1, high=5, cut=6)


WIDE = "who,age,R_1,R_2\nann,31,10,\nben,40,,80\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "cases.csv").write_text("key,prompt,colour\n1,Who?,red\n2,When?,blue\n")
    (tmp_path / "wide.csv").write_text(WIDE)
    (tmp_path / "long.csv").write_text("key,rater,vote,age\n1,ann,safe,31\n1,ben,unsure,40\n2,ann,unsafe,31\n")
    return tmp_path


def imported(files, ratings="wide.csv", pattern: str | None = "R_*", *, target="mine", words=(), **columns):
    said = CaseColumns(**{"id": "key", "annotator": "who", "trait": ("age",), **columns})
    scale = ImportOptions(scale_low=0, scale_high=100, cut=50, safe_side="below") if pattern else ImportOptions()
    return api.import_cases(
        files / "cases.csv",
        files / target,
        columns=said,
        words=VerdictWords(unsure_word=words),
        options=scale,
        ratings=RatingTable(files / ratings, pattern),
    )


def test_a_wide_table_beside_the_cases_is_melted(files):
    found = imported(files)

    assert [(one.annotator_id, one.verdict, one.value) for one in found.ratings] == [
        ("ann", "safe", 10.0),
        ("ben", "unsafe", 80.0),
    ]
    assert [(one.id, one.traits) for one in found.annotators] == [("ann", {"age": "31"}), ("ben", {"age": "40"})]
    assert [item.columns for item in found.items] == [{"colour": "red"}, {"colour": "blue"}]
    assert found.name == "mine"
    assert load(files / "mine") == found
    unsure = imported(files, target="unsure", words=("",))
    assert [one.verdict for one in unsure.ratings] == ["safe", "unsure", "unsure", "unsafe"]


def test_a_long_table_beside_the_cases_and_a_wide_one_alone_are_read_as_well(files):
    found = imported(files, "long.csv", None, annotator="rater")
    assert [votes[:3] for votes in found.votes.values()] == [(1, 1, 1), (0, 1, 0)]

    (files / "alone.csv").write_text("who,Is it safe?,Is it raining?\nann,safe,unsafe\nben,safe,unsure\n")
    alone = api.import_cases(
        files / "alone.csv", columns=CaseColumns(annotator="who"), ratings=RatingTable(wide="Is *")
    )
    assert [query.text for query in alone.queries] == ["it safe?", "it raining?"]
    assert [votes[:3] for votes in alone.votes.values()] == [(2, 2, 0), (0, 1, 1)]
    assert alone.name == "alone"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"pattern": "R_"}, "write \\* once"),
        ({"pattern": "S_*"}, "no column is called like"),
        ({"annotator": None}, "name the column that identifies the person with --annotator"),
        ({"annotator": "nobody"}, "no column 'nobody'"),
        ({"id": "colours"}, "no column 'colours' \\(did you mean 'colour'"),
        ({"id": ""}, "name its column with --id"),
        ({"ratings": "wide_3.csv"}, "wide_3.csv:2: 'key' is '3', and no case has this id; cases.csv has 1, 2"),
        ({"ratings": "both.csv"}, "both files have a column 'colour'"),
        ({"ratings": "gone.csv"}, "gone.csv: cannot be read"),
        ({"ratings": "text.csv"}, "text.csv:2: 'rating' is 'x', not a number"),
    ],
)
def test_a_table_of_ratings_that_does_not_fit_is_refused_and_nothing_is_written(files, change, problem):
    (files / "wide_3.csv").write_text(WIDE.replace("R_2", "R_3"))
    (files / "both.csv").write_text(WIDE.replace("age", "colour"))
    (files / "text.csv").write_text(WIDE.replace("10", "x"))
    with pytest.raises((DataError, ConfigurationError), match=problem):
        imported(files, **change)
    assert not (files / "mine").exists()


def test_two_cases_with_one_id_are_refused_where_ratings_stand_apart(files):
    (files / "cases.csv").write_text("key,prompt\n1,Who?\n1,When?\n")
    with pytest.raises(DataError, match=r"cases\.csv:3: 'key' is '1', as on line 2"):
        imported(files)


def test_the_command_says_a_remark_once_and_the_name_that_was_given(files):
    command = ["data", "import", str(files / "cases.csv"), "--out"]
    done = invoke(
        *command,
        str(files / "there"),
        "--ratings",
        str(files / "long.csv"),
        "--id",
        "key",
        "--annotator",
        "rater",
        "--name",
        "Our cases",
        "--labels-by",
        "experts",
    )

    assert "Our cases is at" in done.out
    assert "2 items, 3 ratings" in done.out
    (files / "labelled.csv").write_text("query,label\nWho?,safe\n")
    by_author = invoke(
        "data", "import", str(files / "labelled.csv"), "--out", str(files / "l"), "--labels-by", "author"
    )
    assert "1 item, 1 label\n" in by_author.out
    assert done.err.count("states no contexts") == 1
    assert "states no contexts" not in invoke("show", str(files / "there")).out
    about = load(files / "there").about
    assert (about.name, about.labels_by) == ("Our cases", "experts")
    for options in (["--scale-low", "1"], ["--scale-low", "5", "--scale-high", "1"]):
        refused = invoke(*command, str(files / "no"), *options)
        assert (refused.code, (files / "no").exists()) == (2, False)
        assert "scale" in refused.err


@pytest.mark.parametrize("to", ["folder", "parquet", "huggingface"])
def test_everything_a_row_may_say_goes_through_every_format(tmp_path, to):
    found = of(
        row(vote="unsure", value=3, id="=1", cluster="k", judged="reply", before="Hm.", mine={"a": [1, None]}),
        row(annotator="b", value=99.5, id="=1", cluster="k", judged="reply", before="Hm.", mine={"a": [1, None]}),
        row("When?", vote="safe", mean=12, context={"profile": {"age": 3}}, **{"trait.years": 2}),
        scale=HARM,
        labels_by="experts",
    )
    write_benchmark(found, tmp_path / "start")
    convert(tmp_path / "start", tmp_path / "there", to=to)
    again = load(tmp_path / "there")

    assert again == found
    assert again.digest == found.digest
    assert again.item_columns.equals(found.item_columns)


def test_the_published_format_says_what_it_has_no_room_for(tmp_path):
    shown = load("demo").contexts[0].shown()
    rows = [
        row(
            annotator=who,
            vote=vote,
            value=20,
            context=shown,
            intended=True,
            cluster="k",
            id=3,
            category="terrorism",
            seen=1,
        )
        for who, vote in (("a", "safe"), ("b", "unsure"))
    ]
    write_benchmark(of(*rows, scale=HARM), tmp_path / "start")

    lost = convert(tmp_path / "start", tmp_path / "there.json")

    assert json.loads((tmp_path / "there.json").read_text())[0]["scores"] == [1]
    assert {"1 unsure votes", "the clusters of 1 item", "the ids in the user's own file of 1 item"} <= set(lost)
    for text in ("the scale that people rated on", "who gave 2 ratings", "name, version, licence"):
        assert any(text in one for one in lost)


def test_a_context_is_shared_by_no_query_but_a_profile_may_recur():
    found = of(*(row(query, context={"profile": {"age": 30}}, vote="safe") for query in ("Who?", "When?")))

    assert [one.shown() for one in found.contexts] == [{"profile": {"age": 30}}] * 2
    assert {type(one) for one in found.contexts} == {Context}


def test_a_triple_of_requests_is_one_group_and_one_cluster():
    cases = [
        {"query": f"Request {n}?", "context": "a desk", "pair": "t", "intended": intended, "label": intended}
        for n, intended in enumerate(("unsafe", "safe", "unsafe"))
    ]
    found = of(*cases, {"query": "Alone?", "label": "safe"})
    malicious, benign, dual = found.items[:3]

    assert found.item_columns["cluster"].n_unique() == 2
    assert found.pairs[benign.pair_id or ""] == (malicious, benign, dual)
    assert found.twin_of(benign) == found.context_of(malicious)
    assert found.twin_of(dual) == found.twin_of(malicious) == found.context_of(benign)
    assert any("4 queries are in 2 clusters" in note for note in found.notes())
    apart = of(*(one | {"cluster": one["query"]} for one in cases))
    assert apart.item_columns["cluster"].n_unique() == 3
