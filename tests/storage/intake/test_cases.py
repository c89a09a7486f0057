import codecs
import json
import math
import re
from datetime import date

import numpy as np
import pytest
from tests.support.command import invoke

import casewise
from casewise import api
from casewise.api import CaseColumns, VerdictWords
from casewise.errors import ConfigurationError, DataError
from casewise.records import RatingScale
from casewise.storage.benchmark import About
from casewise.storage.intake.cases import Policies, hashable, of_rows, plain, taxonomy_of, without_empties
from casewise.storage.load import import_cases

SCALE = RatingScale(low=1, high=5, cut=3)
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


@pytest.fixture
def file(tmp_path):
    def write(content, name="cases.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


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


@pytest.mark.parametrize(
    ("context", "shown"),
    [
        ({"who": {"role": "nurse", "age": None}}, {"who": {"role": "nurse"}}),
        ({"who": {"role": "nurse"}, "where": None}, {"who": {"role": "nurse"}}),
        ({"who": {"age": None, "role": ""}, "where": {}}, None),
        ({"role": "nurse", "age": None}, {"situation": {"role": "nurse"}}),
        (
            {"who": {"role": "nurse", "on_duty": True, "age": 45}},
            {"who": {"role": "nurse", "on_duty": True, "age": 45}},
        ),
    ],
)
def test_a_parameter_that_is_null_is_absent(context, shown):
    found = casewise.load_frame([{"query": "Who?", "context": context, "label": "safe"}])

    assert [one.shown() for one in found.contexts] == ([] if shown is None else [shown])


@pytest.mark.parametrize("column", ["category", "pair"])
@pytest.mark.parametrize("value", [["x"], {"a": 1}, True])
def test_what_is_no_name_is_none(column, value):
    with pytest.raises(DataError, match=f"{column!r} is .*, not a name or a number"):
        casewise.load_frame([{"query": "Who?", "label": "safe", column: value}])


def test_free_text_is_one_parameter_of_the_group_it_is_given_for():
    cases = [{"query": "Who?", "context": "A ward nurse asks.", "label": "safe"}]
    group = casewise.load_frame(cases, columns=CaseColumns(context_as="recipient"))
    parameter = casewise.load_frame(cases, columns=CaseColumns(context_as="recipient.background"))
    assert group.contexts[0].shown() == {"recipient": {"description": "A ward nurse asks."}}
    assert parameter.contexts[0].shown() == {"recipient": {"background": "A ward nurse asks."}}


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


def test_a_vote_of_nobody_is_refused_though_its_word_is_zero():
    rows = [{"query": "Who?", "rater": "ann", "vote": 1}, {"query": "When?", "rater": None, "vote": 0}]
    with pytest.raises(DataError, match="'rater' is empty; say who gave this rating"):
        casewise.load_frame(rows, words=VerdictWords(safe_word=("1",), unsafe_word=("0",)))


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


def loaded(*rows, **options):
    return casewise.load_frame([{"query": f"Who is {number}?"} | row for number, row in enumerate(rows)], **options)


def votes_of(*rows, **options):
    found = loaded(*rows, **options)
    return [tuple(found.votes[item.id][:3]) for item in found.items]


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


def test_ratings_on_a_scale_are_kept_as_they_are():
    found = of_rows([{"query": "Who?", "value": 4.5}], About(name="scaled", scale=SCALE), source="rows")

    assert [rating.value for rating in found.ratings] == [4.5]


def test_what_is_empty_within_an_object_is_null_and_stops_no_import():
    (item,) = loaded({"label": "safe", "tags": {"name": "", "of": [None, {}, " ", {"size": 0, "kind": []}]}}).items

    assert item.columns == {"tags": {"name": None, "of": [None, None, None, {"size": 0, "kind": None}]}}


def test_a_list_of_one_word_is_that_word_as_a_label_and_of_several_is_none():
    assert votes_of({"label": ["safe"]}) == [(1, 1, 0)]
    with pytest.raises(DataError, match="label"):
        loaded({"label": ["safe", "unsafe"]})


def test_a_chat_counts_up_to_the_last_message_of_what_is_judged():
    turns = ("user", "Hello."), ("user", "Who?"), ("assistant", "Ann."), *[("user", "Thanks.")] * 3
    chat = [{"role": role, "content": text} for role, text in turns]
    (query,) = casewise.load_frame([{"messages": chat, "label": "safe"}], columns=CaseColumns(judged="reply")).queries

    assert (query.text, [turn.text for turn in query.before or ()]) == ("Ann.", ["Hello.", "Who?"])


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


def test_cells_are_keys_and_plain_values_whatever_their_kind():
    assert list(hashable(["a", None])) == ["a", None]
    assert list(hashable([1, 1.5, ["b"], {"c": 2}])) == [1, "1.5", '["b"]', '{"c":2}']
    assert plain({1: (date(2026, 1, 2), 1.5, True, None)}) == {"1": ["2026-01-02", 1.5, True, None]}
    assert without_empties({"a": None, "b": 0, "c": " ", "d": [], "e": math.nan}) == {"b": 0}
    assert without_empties("x") == "x"


def test_the_taxonomy_is_the_papers_where_all_categories_are_of_it():
    assert taxonomy_of("mine", ["terrorism"]).name != "mine"
    assert taxonomy_of("mine", ["terrorism", "other", "other"]).names == ("terrorism", "other")


def test_where_no_row_can_be_used_the_first_problem_is_named():
    with pytest.raises(DataError, match=r"rows\.csv:1: no row can be used; 'label' is 'perhaps'"):
        of_rows(
            [{"query": "Who?", "label": "perhaps"}],
            About(name="made"),
            source="rows.csv",
            policies=Policies(skip_bad=True),
        )
    with pytest.raises(DataError, match="no row can be used; none has a verdict"):
        of_rows([{"query": "Who?", "label": "not applicable"}], About(name="made"), source="rows.csv")


def test_a_case_with_a_share_alone_is_decided():
    receipt = loaded({"safe_rate": 0.75}).about.receipt

    assert receipt is not None
    assert not any("no label" in note for note in receipt.notes)


@pytest.mark.parametrize("keep", [True, False])
def test_the_secrets_of_an_action_are_masked_unless_they_are_to_be_kept(keep):
    call = {"tool": "log_in", "arguments": {"password": "hunter2"}}
    found = loaded({"tool_call": call, "label": "safe"}, policies=Policies(keep_secrets=keep))

    assert ("hunter2" in found.queries[0].line()) == keep


def test_only_cases_that_state_a_pair_make_a_cluster():
    found = loaded({"pair": "p", "label": "safe"}, {"pair": "p", "label": "unsafe"}, {"pair": None, "label": "safe"})

    assert [item.cluster is not None for item in found.items] == [True, True, False]
