"""Files as people hand them over: each is read as it is meant, or the import stops and names the option to give."""

import json
import random
from dataclasses import replace

import polars as pl
import pytest
from tests.support.command import invoke
from tests.support.imported import BOMB, BREAD, labels, receipt_of, two

import casewise
from casewise.api import CaseColumns, Policies, RatingTable, VerdictWords
from casewise.errors import ConfigurationError, DataError
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.load import bad_rows_file, import_cases, load, load_frame

# Polarity is declared, or the words say it themselves.


ASKING = [
    "safety_violation",
    "violates_safety",
    "is_safe_refusal_needed",
    "not_safe",
    "unsafety",
    "harmful",
    "ok",
    "label",
]


@pytest.mark.parametrize("column", ASKING)
@pytest.mark.parametrize("values", [(False, True), ("no", "yes"), (0, 1), ("0.0", "1.0"), ("F", "T")])
def test_a_column_of_booleans_stops_the_import_and_obeys_the_words_that_are_declared(column, values):
    said = CaseColumns(label=column)
    with pytest.raises(ConfigurationError, match="--true-means safe or --true-means unsafe"):
        load_frame(two(column, *values), columns=said)
    false, true = map(str, values)
    for words in (VerdictWords(safe_word=(false,), unsafe_word=(true,)), VerdictWords(true_means="unsafe")):
        assert labels(load_frame(two(column, *values), columns=said, words=words)) == [(1, 0, 0), (0, 1, 0)]


@pytest.mark.parametrize("column", ["votes", "vote", "intended"])
def test_booleans_in_any_column_of_verdicts_stop_the_import(column):
    value = [True] if column == "votes" else True
    row = (
        {"query": BREAD, "context": "a baker", "label": "safe", "annotator": "a"}
        if column != "votes"
        else {"query": BREAD}
    )
    with pytest.raises(ConfigurationError, match="--true-means"):
        load_frame([row | {column: value}])


@pytest.mark.parametrize(
    ("column", "safe"), [("safe", True), ("is_safe", True), ("Is Safe", True), ("unsafe", False), ("is_unsafe", False)]
)
def test_a_column_that_asks_by_its_name_whether_it_is_safe_needs_no_declaration(column, safe):
    found = load_frame(two(column, safe, not safe), columns=CaseColumns(label=column))

    assert labels(found) == [(1, 0, 0), (0, 1, 0)]
    assert {word.how for word in receipt_of(found).words} == {"by the column's name"}


def test_declared_words_win_over_the_name_of_the_column_and_over_listed_words():
    turned = VerdictWords(safe_word=("false", "deny"), unsafe_word=("true", "allow"))

    assert labels(load_frame(two("is_safe", False, True), words=turned)) == [(1, 0, 0), (0, 1, 0)]
    assert labels(load_frame(two("label", "deny", "allow"), words=turned)) == [(1, 0, 0), (0, 1, 0)]
    with pytest.raises(DataError, match="'label' is 'safe', and no option says"):
        load_frame(two("label", "deny", "safe"), words=turned)
    with pytest.raises(ConfigurationError, match="declared as safe and as unsafe"):
        load_frame(two("label", "x", "y"), words=VerdictWords(safe_word=("x",), unsafe_word=("X",)))


@pytest.mark.parametrize(
    ("safe", "unsafe"),
    [("safe", "UNSAFE"), ("Allow", "deny"), ("answer", "refuse"), ("not_harmful", "harmful"), ("safe", "not safe")],
)
def test_pairs_of_words_say_themselves_what_they_mean(safe, unsafe):
    assert labels(load_frame(two("label", safe, unsafe))) == [(1, 0, 0), (0, 1, 0)]


def test_one_point_zero_is_the_word_one():
    words = VerdictWords(safe_word=("1",), unsafe_word=("0",))
    for values in ((1.0, 0.0), ("1.0", "0.0"), (1, 0), ("1", "0")):
        assert labels(load_frame(two("label", *values), words=words)) == [(1, 0, 0), (0, 1, 0)]


# Several ratings in a cell, and numbers.


def test_the_receipt_counts_cases_that_nobody_decided(file):
    found = import_cases(file(f"query,label\n{BREAD},safe\n{BOMB},\n"))
    assert "1 case has no label; the first is on line 3. They count in no number." in receipt_of(found).notes


# Names of columns: parts of objects, and lines above the names.


NESTED = [
    {"case": {"id": "a", "ask": BREAD}, "soft": {"safe": 0.75}, "said": [{"by": "x", "is": "safe"}, {"by": "y", "is": "unsafe"}]},
    {"case": {"id": "b", "ask": BOMB}, "soft": {"safe": 0.0}, "said": [{"by": "x", "is": "unsafe"}, {"by": "y", "is": "unsafe"}]},
]  # fmt: skip


def test_a_part_of_objects_is_named_with_points_and_a_list_of_objects_is_a_list_of_votes(file):
    path = file(json.dumps({"version": 2, "cases": NESTED}), "nested.json")
    case = CaseColumns(query="case.ask", id="case.id")
    votes = import_cases(path, columns=replace(case, votes="said.is", annotator="said.by"))
    shares = import_cases(path, columns=replace(case, rate="soft.safe"))

    assert labels(votes) == [(1, 1, 0), (0, 2, 0)]
    assert {rating.annotator_id for rating in votes.ratings} == {"x", "y"}
    assert [(item.source_id, item.published_rate) for item in shares.items] == [("a", 0.75), ("b", 0.0)]
    with pytest.raises(ConfigurationError, match="A part of an object is named with a point: case"):
        import_cases(path)
    chat = [{"role": "user", "content": BREAD}]
    assert labels(import_cases(file(json.dumps({"messages": chat, "label": "safe"}), "one.jsonl"))) == [(1, 0, 0)]
    with pytest.raises(DataError, match="one object with several lists \\(train, test\\)"):
        import_cases(file(json.dumps({"train": NESTED, "test": NESTED}), "two.json"))


def test_the_line_that_names_the_columns_the_encoding_and_the_separator_can_be_stated(file):
    text = f"Export of March\n\n  id,query~label\n1~{BREAD} 你好~safe\n2~{BOMB}~unsafe\n".replace("id,", "id~")
    options = FileOptions(encoding="gb18030", delimiter="~", header_line=3)
    found = import_cases(file(text.encode("gb18030")), file=options)

    assert labels(found) == [(1, 0, 0), (0, 1, 0)]
    assert found.queries[0].text == f"{BREAD} 你好"
    assert "The columns are named on line 3; 2 lines were left out above." in receipt_of(found).notes
    for wrong, problem in (
        (FileOptions(encoding="latin-99"), "no encoding is called 'latin-99'"),
        (FileOptions(delimiter="::"), "it is one character"),
    ):
        with pytest.raises(ConfigurationError, match=problem):
            import_cases(file(text), file=wrong)
    with pytest.raises(DataError, match="has no line 9"):
        import_cases(file(text), file=FileOptions(header_line=9))


def test_a_word_may_be_a_hyphen(file):
    said = invoke("data", "import", file(f"query,label\n{BREAD},safe\n{BOMB},-\n"), "--dry-run", "--missing-word", "-")
    assert "'-' in 'label': missing (declared), 1 cell." in said.out


# Missing values, rows that repeat, rows that cannot be read.


REPEATED = [*two("label", "safe", "unsafe"), {"query": BREAD, "label": "safe"}]


@pytest.mark.parametrize(
    ("repeats", "n_items", "merged", "dropped"), [("merge", 2, 1, 0), ("first", 2, 0, 1), ("keep", 3, 0, 0)]
)
def test_a_case_that_stands_twice_follows_the_policy(repeats, n_items, merged, dropped):
    found = load_frame(REPEATED, policies=Policies(repeats=repeats))
    receipt = receipt_of(found)

    assert found.counts.items == n_items
    assert (receipt.n_rows, receipt.n_kept) == (3, 3 - merged - dropped)
    assert (sum(part.n for part in receipt.merged), sum(part.n for part in receipt.dropped)) == (merged, dropped)


def test_repeats_are_refused_by_default_and_are_merged_only_where_they_say_the_same():
    with pytest.raises(DataError, match="--repeats merge, first or keep"):
        load_frame(REPEATED)
    with pytest.raises(DataError, match="'label' differs, so that they cannot be merged"):
        load_frame([*REPEATED, {"query": BREAD, "label": "unsafe"}], policies=Policies(repeats="merge"))


def test_an_annotators_second_rating_of_a_case_follows_the_policy_too():
    rows = [{"query": BREAD, "rater": "a", "vote": vote} for vote in ("safe", "safe")]

    assert labels(load_frame(rows, policies=Policies(repeats="merge"))) == [(1, 0, 0)]
    assert labels(load_frame(rows, policies=Policies(repeats="keep"))) == [(1, 0, 0), (1, 0, 0)]


def test_bad_rows_are_skipped_into_a_file_with_their_reasons(file, tmp_path):
    path = file(f"query,label\n{BREAD},safe\nWho?,perhaps\nWho, me?,safe\n{BOMB},unsafe\n")
    target = tmp_path / "mine"
    found = import_cases(path, target, policies=Policies(skip_bad=True))

    assert labels(found) == [(1, 0, 0), (0, 1, 0)]
    rows = [json.loads(line) for line in bad_rows_file(target).read_text().splitlines()]
    assert sorted((row["line"], row["reason"].split(";")[0]) for row in rows) == [
        (
            3,
            "'label' is 'perhaps', and no option says whether that is safe",
        ),
        (4, "has 3 cells, and there are 2 columns"),
    ]
    assert [row["row"] for row in rows] == ["Who, me?,safe", {"query": "Who?", "label": "perhaps"}]
    receipt = receipt_of(found)
    assert (receipt.n_rows, receipt.n_kept, receipt.dropped[0].n) == (4, 2, 2)


CONTRADICTING = {
    "a case twice": [*two("label", "safe", "unsafe"), {"query": BREAD, "label": "unsafe"}],
    "a rating twice": [{"query": BREAD, "rater": "a", "vote": vote} for vote in ("safe", "unsafe")],
    "two ids of a case": [{"id": n, "query": BREAD, "rater": n, "vote": "safe"} for n in "ab"],
    "two traits of a person": [
        {"query": query, "rater": "a", "vote": "safe", "trait.age": n} for n, query in enumerate((BREAD, BOMB))
    ],
}


@pytest.mark.parametrize("kind", CONTRADICTING)
def test_rows_that_contradict_each_other_are_no_bad_rows_to_skip(kind):
    with pytest.raises(DataError, match=r"(on|as) line 1"):
        load_frame(CONTRADICTING[kind], policies=Policies(skip_bad=True))


def test_rows_without_a_cell_are_left_out_and_counted(file):
    read = [
        import_cases(file(f"query,label\n{BREAD},safe\n,\n\n  ,,\n{BOMB},unsafe\n")),
        import_cases(file([*two("label", "safe", "unsafe"), {}], "cases.jsonl")),
    ]

    assert [labels(found) for found in read] == [[(1, 0, 0), (0, 1, 0)]] * 2
    left_out = [(receipt_of(found).n_rows, receipt_of(found).n_kept, receipt_of(found).dropped[0].n) for found in read]
    assert left_out == [(4, 2, 2), (3, 2, 1)]


ROWS_OF_EVERY_KIND = (
    "{0},safe",
    "{0},safe",
    "{1},unsafe",
    ",",
    "{1} now,perhaps",
    "{1} later,n/a",
    "Why?,not applicable",
    "a,b,c",
    ",safe",
)


@pytest.mark.parametrize("seed", range(5))
def test_each_row_of_a_file_is_kept_merged_or_dropped_in_its_receipt(file, seed):
    rows = random.Random(seed).sample(ROWS_OF_EVERY_KIND, k=len(ROWS_OF_EVERY_KIND))
    text = "\n".join(["query,label", *(row.format(BREAD, BOMB) for row in rows)])
    receipt = receipt_of(import_cases(file(text), policies=Policies(skip_bad=True, repeats="merge")))

    assert (receipt.n_rows, receipt.n_kept) == (len(rows), 3)
    assert sum(part.n for part in receipt.merged) == 1
    assert {part.reason: part.n for part in receipt.dropped} == {
        "the row is empty": 1,
        "'label' is not applicable": 1,
        "could not be read": 3,
    }


@pytest.mark.parametrize("word", ["answer", "respond", "refuse"])
def test_what_a_reply_does_is_no_verdict_on_it(word):
    row = {"query": BREAD, "response": "No.", "label": word}

    assert load_frame([row], columns=CaseColumns(judged="request")).counts.ratings == 1
    with pytest.raises(DataError, match="no option says whether that is safe"):
        load_frame([row], columns=CaseColumns(judged="reply"))


def test_an_id_is_found_whether_it_is_written_with_decimals_or_not(file, tmp_path):
    table = file(f"id,query,label\n1.0,{BREAD},safe\n2.0,{BOMB},unsafe\n")
    import_cases(table, tmp_path / "mine")
    verdicts = file("id,verdict\n1,safe\n2,safe\n", "verdicts.csv")
    judged = invoke("judge", tmp_path / "mine", "--judge", f"recorded:{verdicts}", "--out", tmp_path / "run")
    rated = import_cases(
        file(f"id,query\n1,{BREAD}\n2,{BOMB}\n"), ratings=RatingTable(file("id,annotator,vote\n2.0,a,safe\n", "r.csv"))
    )
    assert (judged.code, labels(rated)) == (0, [(0, 0, 0), (1, 0, 0)])
    assert [
        item.source_id for item in load_frame([row | {"id": 7.0} for row in two("label", "safe", "safe")]).items
    ] == ["7"] * 2


# Encodings and formats are recognised by content.


@pytest.mark.parametrize(
    ("encoding", "note"), [("utf-8-sig", ""), ("utf-16", "UTF-16"), ("cp1252", "Windows-1252"), ("utf-8", "")]
)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_any_encoding_and_separator_give_the_same_benchmark(file, encoding, note, separator):
    rows = [
        ["query", "context", "label"],
        ["Dosis für 5?", '"Ärztin; fragt, jetzt"', "safe"],
        ["Wo?", '"Käufer|a"', "unsafe"],
    ]
    text = "\r\n".join(separator.join(row) for row in rows)
    found = import_cases(file(text.encode(encoding), "cases.anything"))

    assert [query.text for query in found.queries] == ["Dosis für 5?", "Wo?"]
    assert [c.shown()["situation"]["description"] for c in found.contexts] == ["Ärztin; fragt, jetzt", "Käufer|a"]
    assert note in " ".join(receipt_of(found).notes)


def written(rows, path, how):
    frame = pl.DataFrame(rows)
    if how == "json":
        path.write_text(json.dumps(rows))
    elif how == "wrapped":
        path.write_text(json.dumps({"name": "x", "data": rows}))
    elif how == "lines":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif how == "one line":
        path.write_text(json.dumps(rows[0]))
    elif how == "split":
        path.write_text(json.dumps({"columns": list(rows[0]), "data": [list(row.values()) for row in rows]}))
    elif how == "by column":
        path.write_text(json.dumps({name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]}))
    elif how == "parquet":
        frame.write_parquet(path)
    elif how == "arrow":
        frame.write_ipc(path)
    elif how == "stream":
        frame.write_ipc_stream(path)
    elif how == "csv":
        frame.write_csv(path)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.txt", "a"])
@pytest.mark.parametrize("how", ["json", "wrapped", "lines", "split", "by column", "parquet", "arrow", "stream", "csv"])
def test_a_format_is_recognised_whatever_the_file_is_called(tmp_path, how, name):
    rows = two("label", "safe", "unsafe")
    written(rows, tmp_path / name, how)

    assert labels(import_cases(tmp_path / name)) == [(1, 0, 0), (0, 1, 0)]


def test_a_missing_number_that_python_wrote_as_nan_is_missing(file):
    found = import_cases(file(f'{{"query": "{BREAD}", "label": "safe", "seen": NaN}}\n'))

    assert found.items[0].columns is None


# Chats, rater columns, and tables beside the cases.


def test_two_columns_that_could_be_the_label_ask_which_one_is_meant():
    with pytest.raises(ConfigurationError, match="--label 'label' or --label 'verdict'"):
        load_frame([{"query": BREAD, "label": "safe", "verdict": "unsafe"}])


def test_demographics_are_joined_as_traits_and_what_was_revoked_is_none(file, tmp_path):
    cases = file(f"query,rater,vote\n{BREAD},p1,safe\n{BREAD},p2,unsafe\n")
    people = file(
        "Submission id,Participant id,Status,Age,Sex\ns1,p1,APPROVED,31,Female\ns2,p2,APPROVED,CONSENT_REVOKED,Male\n",
        "p.csv",
    )
    found = import_cases(cases, ratings=RatingTable(people=people))

    assert [(one.id, one.traits) for one in found.annotators] == [
        ("p1", {"Age": "31", "Sex": "Female"}),
        ("p2", {"Sex": "Male"}),
    ]


# The preview and the receipt.


def test_a_dry_run_prints_how_every_word_and_row_is_read_and_writes_nothing(file, tmp_path):
    path = file(f"prompt,label,rater\n{BREAD},allow,a\n{BREAD},NA,b\n{BOMB},not applicable,a\n")
    done = invoke("data", "import", path, "--dry-run")

    assert done.code == 0, done.err
    for text in (
        "3 rows, 2 kept",
        "Column 'prompt': query (by its name)",
        "'allow' in 'label': safe, 1 cell",
        "'NA' in 'label': missing, 1 cell",
        "1 row dropped: 'label' is not applicable; the first is on line 4",
        "1 item, 1 rating; nothing was written",
    ):
        assert text in done.out
    assert [one.name for one in tmp_path.iterdir()] == ["cases.csv"]
    assert invoke("data", "import", path).code == 2


def test_every_row_stands_in_the_receipt_and_the_receipt_is_kept(file, tmp_path):
    path = file(f"query,label\n{BREAD},safe\n{BREAD},safe\n{BOMB},not applicable\nWho?,perhaps\nWhen?,unsafe\n")
    found = import_cases(path, policies=Policies(repeats="merge", skip_bad=True))
    receipt = receipt_of(found)

    parts = (*receipt.merged, *receipt.dropped)
    assert receipt.n_rows == 5 == receipt.n_kept + sum(part.n for part in parts)
    assert len(found.items) == receipt.n_kept == 2
    import_cases(path, tmp_path / "mine", policies=Policies(repeats="merge", skip_bad=True))
    assert receipt_of(load(tmp_path / "mine")).n_rows == 5


def test_shares_without_numbers_of_votes_give_the_labels_of_every_report(tmp_path):
    rows = [{"query": f"Question {n}?", "safe_rate": n / 9} for n in range(10)]
    found = load_frame(rows)
    run = casewise.judge(found, "constant:safe", out=tmp_path / "run")
    accuracy = run.report().metrics.filter(metric="accuracy", label_policy="votes")

    assert accuracy["estimate"].item() == 0.5
    assert accuracy["ci_low"].item() is not None
    assert [note for note in found.notes() if "share of safe votes without their number" in note]
    assert not [note for note in found.notes() if "have no ratings" in note]


@pytest.mark.slow
def test_shares_without_numbers_of_votes_go_to_a_recommendation_and_a_decider(tmp_path):
    rows = [{"id": f"my {n}", "query": f"Question {n}?", "safe_rate": (n % 10) / 10 + 0.05} for n in range(60)]
    casewise.storage.benchmark_folder.write_benchmark(load_frame(rows, "shares"), tmp_path / "shares")
    assert (
        invoke("judge", tmp_path / "shares", "--judge", "fake/rehearsal", "--yes", "--out", tmp_path / "run").code == 0
    )

    page = " ".join(invoke("recommend", tmp_path / "run", "--ratio", "2", "--format", "text").out.split())
    assert "60 items of 60 queries, labels: shares of safe votes" in page
    fitted = invoke("decider", "fit", tmp_path / "run", "--ratio", "2", "--out", tmp_path / "decider.json")
    assert (fitted.code, (tmp_path / "decider.json").exists()) == (0, True), fitted.output
    assert "95 % say safe" in invoke("show", tmp_path / "shares", "my 9", "--format", "text").out


def test_own_ids_and_words_stand_where_an_item_is_shown_and_exported(file, tmp_path):
    path = file(f'ticket,ask,setting,outcome\n"T,1",{BREAD},a baker,pass\n"T,2",{BOMB},a thief,fail\n')
    columns = CaseColumns(id="ticket", query="ask", context="setting", label="outcome")
    import_cases(path, tmp_path / "own", columns=columns, words=VerdictWords(("pass",), ("fail",)))
    assert invoke("judge", tmp_path / "own", "--judge", f"recorded:{path}#outcome", "--out", tmp_path / "run").code == 0
    invoke("export", tmp_path / "own", "--to", "csv", "--out", tmp_path / "own.csv")

    for shown in (tmp_path / "own", tmp_path / "run"):
        text = invoke("show", shown, "T,2", "--format", "text").out
        assert "Item T,2" in text
        assert "Label: unsafe (“fail” in the file)" in text
    exported = pl.read_csv(tmp_path / "own.csv")
    assert exported["id"].to_list() == ["T,1", "T,2"]
    assert exported["situation_description"].to_list() == ["a baker", "a thief"]


# Names, and what spreadsheet programs do to them.


# What is no case, and what is asked.


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"%PDF-1.4", "is a PDF"),
        (b"\x1f\x8b\x08", "is compressed; unpack it"),
        (b"SQLite format 3\0", "is a database; export the table"),
        (b"<!DOCTYPE html>", "is a web page"),
    ],
)
def test_a_file_that_is_no_table_is_named(file, content, problem):
    with pytest.raises(DataError, match=problem):
        import_cases(file(content))


@pytest.mark.parametrize("above", ["My study\n\n", "My study,,\n"])
def test_a_file_whose_names_stand_further_down_asks_for_their_line(file, above):
    with pytest.raises(ConfigurationError, match="the line that names the columns with --header-line"):
        import_cases(file(f"{above}query,label,x\n{BREAD},safe,\n"))


def test_a_bare_rate_is_no_share_of_safe_until_it_is_named():
    rates = two("rate", 0.9, 0.1)
    with pytest.raises(ConfigurationError, match="--rate \\(the share that says safe\\)"):
        load_frame(rates)
    assert [item.published_rate for item in load_frame(rates, columns=CaseColumns(rate="rate")).items] == [0.9, 0.1]


@pytest.mark.parametrize("column", ["target_response", "completion", "llm_answer", "model reply"])
def test_any_column_of_replies_is_asked_about(column):
    rows = [row | {column: "No."} for row in two("label", "safe", "unsafe")]
    with pytest.raises(ConfigurationError, match=f"--judged request, or --reply '{column}'"):
        load_frame(rows)
    expected = [row | {"expected_answer": "x"} for row in two("label", "safe", "unsafe")]
    assert labels(load_frame(expected)) == [(1, 0, 0), (0, 1, 0)]


def test_a_file_without_queries_is_not_asked_which_of_two_its_labels_are_about():
    with pytest.raises(ConfigurationError, match="no column has a name like query"):
        load_frame([{"reply": "No.", "label": "safe"}])


def test_rows_that_lie_deeper_in_an_object_are_found_or_named(file):
    rows = two("label", "safe", "unsafe")
    about = {"n": 2, "counts": {"safe": 1}}
    assert labels(import_cases(file(json.dumps({**about, "raw": {"a": rows}})))) == [(1, 0, 0), (0, 1, 0)]
    assert labels(import_cases(file(json.dumps({"meta": {"by": [{"name": "A"}]}, "data": rows})))) == [
        (1, 0, 0),
        (0, 1, 0),
    ]
    with pytest.raises(DataError, match=r"one object with several lists \(raw.a, raw.b\)"):
        import_cases(file(json.dumps({**about, "raw": {"a": rows, "b": rows}})))
