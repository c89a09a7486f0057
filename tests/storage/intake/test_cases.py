import codecs
import json
import re

import numpy as np
import pytest
from tests.support.command import invoke
from tests.support.imported import loaded, votes_of

import casewise
from casewise import api
from casewise.api import CaseColumns, VerdictWords
from casewise.errors import ConfigurationError, DataError
from casewise.records import Category, Taxonomy
from casewise.storage.benchmark import About
from casewise.storage.intake.cases import benchmark_from_rows, hashable, taxonomy_of
from casewise.storage.intake.cells import Policies
from casewise.storage.load import import_cases

ASKED = ["How do I reset a password?", "Who is on leave?", "Where does the driver live?"]
CASES = [
    {
        "query": query,
        "context": f"{who} asks about {place}.",
        "topic": "accounts" if place else "people",
        "ratings": votes,
        "intended": intent,
    }
    for place, query in enumerate(ASKED)
    for who, votes, intent in (("A colleague", "safe,safe,unsafe", "safe"), ("A stranger", "unsafe,unsafe", "unsafe"))
]


def csv_of(rows, delimiter=","):
    lines = [delimiter.join(rows[0])]
    lines += [delimiter.join('"' + str(cell).replace('"', '""') + '"' for cell in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


def test_a_file_of_cases_becomes_a_benchmark_with_what_it_states(file):
    found = import_cases(file(csv_of(CASES)))

    assert (found.counts.queries, found.counts.contexts, found.counts.ratings) == (3, 6, 15)
    assert [found.intent_of(item) for item in found.items] == [True, False] * 3
    assert found.votes[found.items[0].id] == (2, 3, 0, 0)
    assert found.contexts[0].shown() == {"situation": {"description": "A colleague asks about 0."}}
    assert {len(pair) for pair in found.pairs.values()} == {2}
    assert found.taxonomy.names == ("people", "accounts")
    assert found.parameters.names == ("situation.description",)
    assert found.notes() == ()
    assert found.about.remarks is None


def test_a_context_may_be_a_whole_document(file):
    found = import_cases(file(csv_of([{**CASES[0], "context": "x" * 200_000}])))

    assert len(found.contexts[0].shown()["situation"]["description"]) == 200_000


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_the_dialects_of_spreadsheet_programs_read_the_same(file, delimiter):
    plain = import_cases(file(csv_of(CASES)))
    text = csv_of(CASES, delimiter).replace("\n", "\r\n").replace("A colleague", 'A "colleague"')
    excel = import_cases(file(codecs.BOM_UTF8 + text.replace('A "colleague"', "A colleague").encode()))
    announced = import_cases(file(f"sep={delimiter}\r\n{text}".replace('A "colleague"', "A colleague"), "b.csv"))

    assert excel.digest == plain.digest == announced.digest


def test_json_lines_and_frames_give_the_same_benchmark(file):
    lines = file("\n".join(json.dumps(row) for row in CASES), "cases.jsonl")
    polars = pytest.importorskip("polars")

    digests = {import_cases(file(csv_of(CASES))).digest, import_cases(lines).digest}
    digests |= {casewise.load_frame(frame, "cases").digest for frame in (CASES, polars.DataFrame(CASES))}
    assert len(digests) == 1


def test_parameters_that_are_all_there_are_the_papers_and_some_of_them_are_a_set_of_their_own():
    shown = casewise.load("demo").contexts[0].shown()
    whole = {"query": "Who?", "label": "safe", "context": shown}
    assert casewise.load_frame([whole]).contexts[0].recipient is not None
    assert casewise.load_frame([whole]).parameters == casewise.load("demo").parameters

    part = {"query": "Who?", "label": "safe", "recipient.type": "a nurse", "Where": "a ward"}
    columns = CaseColumns(parameters={"Where": "sender.platform_type"})
    found = casewise.load_frame([part, {**part, "query": "When?", "Where": None}], columns=columns)
    assert found.contexts[0].shown() == {"sender": {"platform_type": "a ward"}, "recipient": {"type": "a nurse"}}
    assert found.parameters.required == ("recipient.type",)


@pytest.mark.parametrize("column", ["category", "pair"])
@pytest.mark.parametrize("value", [["x"], {"a": 1}, True])
def test_what_is_no_name_is_none(column, value):
    with pytest.raises(DataError, match=f"{column!r} is .*, not a name or a number"):
        casewise.load_frame([{"query": "Who?", "label": "safe", column: value}])


def test_what_a_file_lacks_is_a_remark_of_the_import_and_no_note_on_every_page():
    found = casewise.load_frame([{"Prompt": "Who?", "Verdict": "allow", "author": "me"}])
    said = " ".join(found.about.remarks or ())
    assert "one label per case, so casewise cannot say" in said
    assert "states no contexts" in said
    assert "states no categories" in said
    assert found.notes() == ()
    with_context = casewise.load_frame([{"query": "Who?", "context": "A nurse.", "label": "safe"}])
    assert "states no intents" in " ".join(with_context.about.remarks or ())
    assert with_context.intent_of(with_context.items[0]) is None


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"text": "Who?", "label": "safe"}, "name it with --query; the columns are: text, label"),
        ({"query": "Who?"}, "no column holds what people decided; name it: --label"),
        ({"query": "Who?", "n_safe": 3}, "of how many.*--n-unsafe or --n-votes"),
    ],
)
def test_what_only_the_owner_can_name_is_asked_for(row, problem):
    with pytest.raises(ConfigurationError, match=problem):
        casewise.load_frame([row])
    with pytest.raises(ConfigurationError, match="no column 'labels' \\(did you mean 'label'"):
        casewise.load_frame([{"query": "Who?", "label": "safe"}], columns=CaseColumns(label="labels"))


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("", None, "is empty"),
        ("query,label\n", None, "holds no rows"),
        ("query,label\nWho?,safe\nWhen?,perhaps\n", 3, "'label' is 'perhaps', and no option says whether that is safe"),
        ("query,label\nWho?,safe\nWho?,unsafe\n", 3, "the same query and context as line 2"),
        ("query,label\nWho, me?,safe\n", 2, "has 3 cells, and there are 2 columns"),
        ("query,label,label\nWho?,safe,safe\n", 1, "two columns are called 'label'"),
        ('query,label\n"two\nlines",safe\nWho\0?,safe\n', 4, "holds a NUL character"),
        ("query,label\n,safe\n", 2, "'query' is empty; it has"),
        ('query,label\nWho?,safe\n"open,safe\n', 3, "is no CSV"),
        ("query,label\nWho?,#REF!\n", 2, "an error of the spreadsheet program"),
        ("query,n_safe,n_votes\nWho?,3,2\n", 2, "3 of 2 votes cannot be safe"),
        ("query,n_safe,n_votes\nWho?,-1,2\n", 2, "not a number from 0 to 100000"),
        ("query,safe_rate\nWho?,175\n", 2, "not a number from 0 to 1"),
        ("query,rater,vote,category\nWho?,a,safe,x\nWho?,b,safe,y\n", 3, "'category' is 'y' here and 'x' on line 2"),
        ("query,rater,vote,id\nWho?,a,safe,1\nWho?,b,safe,2\n", 3, "'id' is '2' here and '1' on line 2"),
        ("query,rater,vote\nWho?,a,safe\nWho?,a,unsafe\n", 3, "'a' rated this case on line 2"),
        ("query,rater,vote\nWho?,,safe\n", 2, "'rater' is empty; say who gave this rating"),
        ("query,rater,vote\nWho?,a,safe\nWho?,,safe\n", 3, "'rater' is empty; say who gave"),
        ("query,rater,vote,trait.age\nWho?,a,safe,1\nWhen?,a,safe,2\n", 3, "trait 'age' of 'a' is '2' here and '1' on"),
        ("query,judged,label\nWho?,thought,safe\n", 2, "judged.*'request', 'reply' or 'action'"),
        ('query,before,label\nWho?,"[1, 2]",safe\n', 2, "'before.0' is 1"),
        ("query,context,label,intended\nWho?,a,safe,maybe\n", 2, "'intended' is 'maybe'"),
        (b"query,label\nWho\x81?,safe\n", 2, "neither UTF-8 nor Windows-1252"),
        (codecs.BOM_UTF16_LE + b"q", None, "begins as UTF-16 and is none"),
        (b"PK\x03\x04rest", None, "begins as a ZIP archive and is none"),
        (b"<!DOCTYPE html><p>", None, "is a web page"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line_and_nothing_is_written(file, tmp_path, content, line, problem):
    path = file(content)
    with pytest.raises(DataError, match=problem) as found:
        api.import_cases(path, tmp_path / "target")
    assert found.value.line == line
    assert [one.name for one in tmp_path.iterdir()] == ["cases.csv"]


def test_the_words_of_a_files_verdicts_can_be_said():
    cases = [{"query": "Who?", "label": "1"}, {"query": "When?", "label": "0"}]
    with pytest.raises(ConfigurationError, match="--true-means"):
        casewise.load_frame(cases)
    with pytest.raises(ConfigurationError, match="'votes' is 'true', and nothing says what that means"):
        casewise.load_frame([{"query": "Who?", "votes": [True]}])
    found = casewise.load_frame(cases, words=VerdictWords(safe_word=("0",), unsafe_word=("1",)))
    assert [votes.safe for votes in found.votes.values()] == [0, 1]


def test_a_pandas_frame_may_hold_arrays_and_missing_cells_of_any_kind():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"query": ["Who?", "When?"], "votes": [np.array(["safe", "unsafe"]), np.array(["safe"])]})
    frame = frame.assign(n=pandas.array([1, None], dtype="Int64"), day=[pandas.NaT, pandas.Timestamp("2026-01-02")])
    benchmark = casewise.load_frame(frame)

    assert [votes[:2] for votes in benchmark.votes.values()] == [(1, 2), (1, 1)]
    assert [item.columns for item in benchmark.items] == [{"n": 1}, {"day": "2026-01-02 00:00:00"}]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "label", "counts", "rates"])
def test_imported_cases_go_through_every_command(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    kept = {
        "whole": CASES,
        "label": [{"Prompt": row["query"], "Verdict": row["intended"]} for row in CASES[::2]],
        "counts": [{"query": row["query"], "situation": row["context"], "n_safe": 1, "n_votes": 3} for row in CASES],
        "rates": [{"query": row["query"], "context": row["context"], "safe_rate": 0.25} for row in CASES],
    }[kind]
    (tmp_path / "cases.csv").write_text(csv_of(kept, ";"))
    labels = ["--labels", "published"] if kind == "rates" else []
    judge = ["judge", "bench", "--arms", "full none", "--judge"]
    for command in (
        ["data", "import", "cases.csv", "--out", "bench"],
        ["show", "bench"],
        ["show", "bench", "1"],
        [*judge, "fake/rehearsal", "--out", "one"],
        [*judge, "constant:safe", "--out", "two"],
        ["report", "one", *labels],
        ["audit", "bench"],
        ["compare", "one", "two", *labels],
        ["leaderboard", "one", "two", *labels],
        ["judge", "bench", "--judge", "fake/rehearsal", "--out", "alone"],
        ["gate", "alone", "--baseline", "alone", "--max-drop", "accuracy=0.5", *labels],
    ):
        result = invoke(*command)
        usual = (0, 1, 3) if command[0] in ("gate", "audit") else (0,)
        assert result.code in usual, (command, result.output)
    assert re.search(r"What to do: \w+", invoke("audit", "bench").out)


# Numbers of votes and shares, to their boundaries.


def test_what_is_empty_within_an_object_is_null_and_stops_no_import():
    (item,) = loaded({"label": "safe", "tags": {"name": "", "of": [None, {}, " ", {"size": 0, "kind": []}]}}).items

    assert item.columns == {"tags": {"name": None, "of": [None, None, None, {"size": 0, "kind": None}]}}


def test_a_repeated_case_is_refused_and_the_policies_are_named():
    row = {"query": "Who?", "label": "safe"}
    with pytest.raises(DataError, match="--repeats merge, first or keep"):
        loaded(row, row)
    assert votes_of(row, row, policies=Policies(repeats="merge")) == [(1, 1, 0)]
    receipt = loaded(row, row, policies=Policies(repeats="first")).about.receipt
    assert receipt is not None
    assert (receipt.n_rows, receipt.n_kept, receipt.dropped[0].n) == (2, 1, 1)


def test_rows_that_a_tool_leaves_out_are_counted_with_the_others(file):
    choice = {"type": "choices", "from_name": "label", "to_name": "text", "value": {"choices": ["safe"]}}
    answers = [
        {"id": 1, "completed_by": 1, "was_cancelled": True, "result": []},
        {"id": 2, "completed_by": 2, "result": [choice]},
    ]
    found = import_cases(
        file(json.dumps([{"id": 1, "data": {"query": "Who?"}, "annotations": answers}]), "export.json")
    )
    receipt = found.about.receipt
    assert receipt is not None

    assert (receipt.n_rows, receipt.n_kept, [each.n for each in receipt.dropped]) == (2, 1, [1])


# What belongs together, and what is told of the import.


def test_the_import_says_where_it_split_cells_and_took_shares_for_percentages():
    split = loaded({"votes": "safe|unsafe"}, {"votes": "safe"}).about.receipt
    percentages = loaded({"safe_rate": "50%"}).about.receipt

    assert split is not None
    assert percentages is not None
    assert "Cells of 'votes' were split at '|'." in split.notes
    assert "'safe_rate' was read as percentages." in percentages.notes


def test_a_pair_over_several_queries_is_a_cluster_and_one_of_a_single_query_is_none():
    of_two = loaded({"label": "safe", "pair": 1}, {"label": "safe", "pair": 1}, {"label": "safe"})
    contexts = [{"query": "Who?", "context": who, "label": "safe", "pair": 1} for who in ("A nurse", "A thief")]
    stated = loaded({"label": "safe", "pair": 1, "cluster": "x"}, {"label": "safe", "pair": 1, "cluster": "y"})

    assert len({item.cluster for item in of_two.items[:2]}) == 1
    assert [item.cluster is None for item in of_two.items] == [False, False, True]
    assert [item.cluster for item in casewise.load_frame(contexts).items] == [None, None]
    assert [item.cluster for item in stated.items] == ["x", "y"]


@pytest.mark.parametrize(
    ("row", "remark"),
    [
        ({"label": "safe"}, "one label per case"),
        ({"safe_rate": 0.5}, "shares without numbers of votes"),
        ({"votes": "safe,unsafe", "label": "safe"}, "The labels are read from 'votes' alone."),
        ({"n_safe": 1, "n_unsafe": 1, "label": "safe"}, "The labels are read from the counts alone, not from 'label'."),
    ],
)
def test_the_import_says_what_labels_there_are(row, remark):
    assert remark in " ".join(loaded(row).about.remarks or ())


@pytest.mark.parametrize(
    "row", [{"votes": "safe,unsafe"}, {"n_safe": 1, "n_unsafe": 1}, {"safe_rate": 0.5, "n_votes": 2}]
)
def test_nothing_is_said_of_labels_that_are_votes(row):
    said = " ".join(loaded({**row, "context": "A nurse.", "intended": "safe", "category": "x"}).about.remarks or ())

    assert said == ""


def test_at_most_five_columns_that_differ_are_named():
    rows = [{"query": "Who?", "rater": who, "vote": "safe", **{f"c{n}": who for n in range(7)}} for who in "ab"]
    (first, *_) = casewise.load_frame(rows).about.remarks or ("",)

    assert first.startswith("Left out of the file: c0, c1, c2, c3, c4 and 2 more, which differ")
    (first, *_) = casewise.load_frame([{**row, "c5": 1, "c6": 1} for row in rows]).about.remarks or ("",)
    assert first.startswith("Left out of the file: c0, c1, c2, c3, c4, which differ")


def test_the_receipt_says_what_was_declared_and_counts_what_nobody_decided():
    found = loaded(
        {"label": "safe", "Kind": "x", "recipient.type": "a nurse"},
        {"label": None, "Kind": "y", "recipient.type": "a nurse"},
        columns=CaseColumns(category="Kind"),
    )
    receipt = found.about.receipt
    assert receipt is not None

    assert {(each.column, each.role, each.declared) for each in receipt.columns} == {
        ("query", "query", False),
        ("label", "label", False),
        ("Kind", "category", True),
        ("recipient.type", "context parameter recipient.type", False),
    }
    assert (receipt.n_rows, receipt.n_kept) == (2, 2)
    assert [(each.word, each.read_as, each.n) for each in receipt.words] == [("safe", "safe", 1)]
    assert "1 case has no label; the first is on line 2. They count in no number." in receipt.notes


def test_cells_are_keys_whatever_their_kind():
    assert list(hashable(["a", None])) == ["a", None]
    assert list(hashable([1, 1.5, ["b"], {"c": 2}])) == [1, "1.5", '["b"]', '{"c":2}']


def test_the_taxonomy_is_the_papers_where_all_categories_are_of_it():
    assert taxonomy_of("mine", ["terrorism"]).name != "mine"
    assert taxonomy_of("mine", ["terrorism", "other", "other"]).names == ("terrorism", "other")


def test_where_no_row_can_be_used_the_first_problem_is_named():
    with pytest.raises(DataError, match=r"rows\.csv:1: no row can be used; 'label' is 'perhaps'"):
        benchmark_from_rows(
            [{"query": "Who?", "label": "perhaps"}],
            About(name="made"),
            source="rows.csv",
            policies=Policies(skip_bad=True),
        )
    with pytest.raises(DataError, match="no row can be used; none has a verdict"):
        benchmark_from_rows([{"query": "Who?", "label": "not applicable"}], About(name="made"), source="rows.csv")


def test_a_case_with_a_share_alone_is_decided():
    receipt = loaded({"safe_rate": 0.75}).about.receipt

    assert receipt is not None
    assert not any("no label" in note for note in receipt.notes)


def test_only_cases_that_state_a_pair_make_a_cluster():
    found = loaded({"pair": "p", "label": "safe"}, {"pair": "p", "label": "unsafe"}, {"pair": None, "label": "safe"})

    assert [item.cluster is not None for item in found.items] == [True, True, False]


def test_a_benchmark_says_that_it_was_imported_unless_its_source_is_stated():
    row = {"query": "Who?", "label": "safe"}

    assert benchmark_from_rows([row], About(name="made"), source="a/rows.csv").about.source == "imported from rows.csv"
    stated = benchmark_from_rows([row], About(name="made", source="a paper"), source="a/rows.csv")
    assert stated.about.source == "a paper"


def test_what_is_wrong_with_the_whole_benchmark_is_an_error_of_the_file():
    own = Taxonomy(name="mine", categories=(Category(name="home", domain="x"),))
    with pytest.raises(DataError, match=r"rows\.csv: .*uncategorised"):
        benchmark_from_rows([{"query": "Who?", "label": "safe"}], About(name="made"), source="rows.csv", taxonomy=own)


def test_a_bad_row_of_a_json_array_is_named_by_its_number_once(file):
    rows = [{"query": "Who?", "label": "safe"}, {"query": "When?", "label": "perhaps"}]
    with pytest.raises(DataError, match="row 2: 'label' is 'perhaps'") as refused:
        import_cases(file(json.dumps(rows), "cases.json"))
    assert str(refused.value).count("row 2") == 1
    with pytest.raises(DataError, match="row 2: 'judged'") as refused:
        import_cases(file(json.dumps([rows[0] | {"judged": "request"}, rows[0] | {"judged": "x"}]), "cases.json"))
    assert str(refused.value).count("row 2") == 1


def test_cases_without_a_label_are_counted_where_others_have_one():
    def notes(*rows):
        receipt = loaded(*rows).about.receipt
        assert receipt is not None
        return [note for note in receipt.notes if "no label" in note]

    assert notes({"label": None}, {"label": None}) == []
    assert notes({"label": "safe"}, {"label": "safe"}) == []
    assert notes({"label": None}, {"label": "safe"}, {"label": None}) == [
        "2 cases have no label; the first is on line 1. They count in no number."
    ]
