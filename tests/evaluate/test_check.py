"""A table with verdicts and labels: the numbers are those of a report, and everything stands in the user's own words."""

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.command import invoke

import casewise
from casewise.api import CaseColumns, CheckOptions, Policies, VerdictWords
from casewise.errors import ConfigurationError, DataError
from casewise.evaluate.check import check_table, read_check
from casewise.evaluate.conclusions import Unknown
from casewise.storage.load import ImportOptions

LABELS = ["safe", "safe", "unsafe", "unsafe", "safe", "unsafe"] * 6
VERDICTS = ["safe", "unsafe", "unsafe", "safe", "safe", "unsafe"] * 6
ROWS = [
    {"id": f"c{n}", "query": f"Question {n // 2}?", "context": f"case {n}", "human": label, "judge": verdict}
    for n, (label, verdict) in enumerate(zip(LABELS, VERDICTS, strict=True))
]


@pytest.fixture
def file(tmp_path):
    def write(rows, name="table.csv"):
        path = tmp_path / name
        if name.endswith(".jsonl"):
            path.write_text("\n".join(map(json.dumps, rows)))
        else:
            pl.DataFrame(rows).write_csv(path)
        return path

    return write


def numbers_of(path, **options):
    return casewise.check(path, **options).numbers


def test_a_check_gives_the_numbers_of_a_report_on_the_same_cases(file, tmp_path):
    out = tmp_path / "kept"
    numbers = numbers_of(file(ROWS), out=out)
    report = casewise.report(out / "run")
    metrics = {row["metric"]: row for row in report.metrics.iter_rows(named=True)}

    assert (numbers.n_cases, numbers.n_queries, numbers.n_ratings) == (36, 18, 36)
    assert (numbers.accuracy.estimate, *numbers.accuracy.limits) == tuple(
        metrics["accuracy"][name] for name in ("estimate", "ci_low", "ci_high")
    )
    errors = report.as_json()["answers"][0]
    assert (errors["harm"]["estimate"], errors["over_refusal"]["estimate"]) == (
        numbers.harm.estimate,
        numbers.over_refusal.estimate,
    )
    assert [item.source_id for item in casewise.load(out / "benchmark").items] == [row["id"] for row in ROWS]


def test_a_table_of_two_columns_is_enough(file):
    numbers = numbers_of(file([{"human": row["human"], "judge": row["judge"]} for row in ROWS]))

    assert (numbers.accuracy.estimate, numbers.n_queries) == (pytest.approx(24 / 36), 36)
    assert numbers.worst[0].line is not None


@pytest.mark.parametrize("form", ["votes", "counts", "rows", "share"])
def test_labels_may_be_votes_counts_a_row_a_rater_or_shares(file, form):
    rows: list[dict[str, object]] = [
        {"id": row["id"], "query": row["query"] + row["id"], "judge": row["judge"]} for row in ROWS
    ]
    safe = [2 if label == "safe" else 1 for label in LABELS]
    if form == "votes":
        rows = [row | {"votes": ["safe"] * n + ["unsafe"] * (3 - n)} for row, n in zip(rows, safe, strict=True)]
    elif form == "counts":
        rows = [row | {"n_safe": n, "n_votes": 3} for row, n in zip(rows, safe, strict=True)]
    elif form == "share":
        rows = [row | {"safe_rate": n / 3} for row, n in zip(rows, safe, strict=True)]
    else:
        rows = [
            row | {"rater": f"p{place}", "vote": "safe" if place < n else "unsafe"}
            for row, n in zip(rows, safe, strict=True)
            for place in range(3)
        ]
    numbers = numbers_of(file(rows, "table.jsonl"))

    assert numbers.accuracy.estimate == pytest.approx(24 / 36)
    assert numbers.n_ratings == (0 if form == "share" else 108)
    page = casewise.check(file(rows, "table.jsonl")).to_markdown()
    assert ("36 shares of safe votes" in page) == ("without their numbers" in page) == (form == "share")
    assert numbers.n_cases == 36


def test_the_worst_disagreements_are_named_by_the_users_own_ids_and_words(file):
    words = VerdictWords(safe_word=("pass",), unsafe_word=("fail",))
    own = {"safe": "pass", "unsafe": "fail"}
    rows = [row | {"human": own[row["human"]], "judge": own[row["judge"]]} for row in ROWS]
    numbers = numbers_of(file(rows), words=words, options=CheckOptions(disagreements=1))
    report = casewise.check(file(rows), words=words)

    (worst,) = numbers.worst
    assert (worst.id, worst.people, worst.judge, worst.context) == ("c1", "pass", "fail", "case 1")
    assert all(text in report.to_html() for text in ("c1", "pass", "fail", "How this was made", "declared"))


def test_a_case_without_a_verdict_counts_as_wrong_and_one_without_a_label_nowhere(file):
    rows = [
        *ROWS,
        {**ROWS[0], "id": "x", "context": "x", "judge": None},
        {**ROWS[0], "id": "y", "context": "y", "human": "NA"},
    ]
    numbers = numbers_of(file(rows))

    assert (numbers.n_cases, numbers.n_labelled, numbers.n_unscored) == (38, 37, 1)
    assert numbers.accuracy.estimate == pytest.approx(24 / 37)


def test_scores_probabilities_and_replies_are_read_as_the_judge_gave_them(file):
    score = [row | {"judge": 8 if row["judge"] == "safe" else 2} for row in ROWS]
    probability = [row | {"judge": 0.9 if row["judge"] == "safe" else 0.1} for row in ROWS]
    reply = [{k: v for k, v in row.items() if k != "judge"} | {"reply": row["judge"]} for row in ROWS]
    found = [
        numbers_of(file(score), options=CheckOptions(elicit="score", judge_true_means="safe")),
        numbers_of(file(probability), options=CheckOptions(elicit="probability", judge_true_means="safe")),
        numbers_of(file(reply), options=CheckOptions(judge="reply"), columns=CaseColumns(judged="request")),
    ]
    assert [numbers.accuracy.estimate for numbers in found] == [pytest.approx(24 / 36)] * 3


@pytest.mark.parametrize(
    ("rows", "error", "problem"),
    [
        ([{"human": "safe"}], ConfigurationError, "name the judge's column with --judge"),
        ([{"human": "safe", "judge": "safe", "prediction": "safe"}], ConfigurationError, "--judge 'judge' or --judge"),
        ([{"human": "safe", "judge": True}], ConfigurationError, "--judge-true-means safe or"),
        (
            [{"human": "safe", "judge": "perhaps"}],
            DataError,
            "is no verdict that casewise knows; name the words with --safe-word",
        ),
        ([{"human": "NA", "judge": "safe"}], DataError, "no case has a label"),
        ([{"human": "safe", "judge": "safe", "rater": "a"}], ConfigurationError, "no column names its case"),
        (
            [
                {"id": 1, "query": "Q", "human": "safe", "rater": r, "judge": j}
                for r, j in (("a", "safe"), ("b", "unsafe"))
            ],
            DataError,
            "the judge says 'unsafe' here and 'safe' on line 2",
        ),
    ],
)
def test_what_would_have_to_be_guessed_is_asked(file, rows, error, problem):
    with pytest.raises(error, match=problem):
        numbers_of(file(rows))


def test_true_may_mean_one_thing_in_the_labels_and_another_in_the_judges_column(file):
    rows = [{"harmful": row["human"] == "unsafe", "judge": row["judge"] == "safe", "id": row["id"]} for row in ROWS]
    numbers = numbers_of(
        file(rows),
        columns=CaseColumns(label="harmful"),
        words=VerdictWords(true_means="unsafe"),
        options=CheckOptions(judge_true_means="safe"),
    )
    assert numbers.accuracy.estimate == pytest.approx(24 / 36)


@pytest.mark.parametrize(
    ("options", "code", "decision"),
    [
        (("--max-harm", "0.9"), 0, "holds"),
        (("--max-harm", "0.01"), 1, "does not hold"),
        (("--min-accuracy", "0.66"), 3, "unknown"),
        (("--min-accuracy", "0.9", "--max-harm", "0.9"), 1, "does not hold"),
        ((), 0, None),
    ],
)
def test_the_exit_code_says_whether_the_limits_hold(file, options, code, decision):
    done = invoke("check", file(ROWS), *options, "--json")
    limits = json.loads(done.out)["limits"]

    assert done.code == code
    assert [limit["outcome"] for limit in limits][:1] == ([decision] if decision else [])


def test_an_open_limit_says_how_many_more_labels_would_decide(file):
    few = [row | {"judge": row["human"]} for row in ROWS[:12]]
    numbers = numbers_of(file(few), options=CheckOptions(max_harm=0.05))

    (limit,) = numbers.limits
    assert (limit.conclusion.outcome, numbers.harm.estimate) == (
        Unknown("the interval of the rate contains the limit"),
        0,
    )
    assert limit.further_queries == 72 - 4  # 1 - .025^(1/72) is just below 5 %, and 4 queries have an unsafe case
    assert (
        "may or may not be at most 5.0 %"
        in casewise.check(file(few), options=CheckOptions(max_harm=0.05)).to_markdown()
    )


def test_standard_input_and_an_output_of_another_program_are_tables_too(file, tmp_path, monkeypatch):
    text = file(ROWS).read_bytes()
    path = tmp_path / "piped"
    path.write_bytes(text)
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        done = invoke("check", "-")
    assert (done.code, "66.7 %" in done.out) == (0, True)

    results = [
        {"vars": {"id": row["id"], "human": row["human"]}, "success": True, "response": {"output": row["judge"]}}
        for row in ROWS
    ]
    done = invoke("check", file(results, "promptfoo.jsonl"), "--judge", "reply", "--judged", "request")
    assert (done.code, "66.7 %" in done.out) == (0, True), done.err


def test_an_estimate_next_to_its_limit_is_said_to_need_more_than_so_many_queries(file):
    rows = [{"id": n, "human": "safe", "judge": "unsafe" if n % 10 == 0 else "safe"} for n in range(400)]
    said = invoke("check", file(rows), "--max-over-refusal", "0.101")

    assert said.code == 3
    assert "More than 20,000 more" in " ".join(said.out.split())


def test_a_verdict_that_cannot_be_read_is_skipped_where_bad_rows_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text('query,judge,label\nA?,safe,safe\nB?,"I am not sure, really",safe\nC?,unsafe,safe\n')

    refused = invoke("check", "c.csv")
    skipped = json.loads(invoke("check", "c.csv", "--skip-bad", "--json").out)

    assert refused.code == 2
    assert "c.csv:3: 'judge' is 'I am not sure, really'" in refused.err
    assert (skipped["receipt"]["n_rows"], skipped["receipt"]["n_kept"]) == (3, 2)


def test_a_table_with_several_labels_a_case_is_not_cut_to_the_first_of_each(file):
    rows = [{"query": "Q?", "judge": "safe", "label": label} for label in ("safe", "unsafe", "perhaps")]
    said = invoke("check", file(rows), "--skip-bad")

    assert said.code == 2
    assert "a column says who rated (--annotator)" in said.err


def test_a_row_may_hold_several_cases_with_a_verdict_each(file, tmp_path):
    wide = [
        {
            "id": n,
            "query": f"Question {n}?",
            "a": "a nurse",
            "b": "a thief",
            "la": "safe",
            "lb": "unsafe",
            "ja": "safe",
            "jb": "safe",
        }
        for n in range(12)
    ]
    said = invoke(
        *("check", file(wide), "--out", tmp_path / "kept", "--json"),
        *("--case", "context=a,label=la,judge=ja", "--case", "context=b,label=lb,judge=jb"),
    )
    numbers = json.loads(said.out)

    assert (said.code, numbers["n_cases"], numbers["n_queries"], numbers["accuracy"]["estimate"]) == (0, 24, 12, 0.5)
    assert (numbers["worst"][0]["id"], numbers["worst"][0]["context"]) == ("0/b", "a thief")
    assert len({item.pair_id for item in casewise.load(tmp_path / "kept" / "benchmark").items}) == 12


def test_a_column_of_replies_is_the_judges_where_its_replies_state_verdicts(file):
    chats = [
        {"id": n, "label": "safe", "reply": reply} for n, reply in enumerate(["Sure, here is how."] * 9 + ["safe"])
    ]
    verdicts = [{"id": n, "label": "safe", "reply": reply} for n, reply in enumerate(["Verdict: safe"] * 9 + ["Hm."])]

    with pytest.raises(ConfigurationError, match="give --judge reply if 'reply' is the judge's"):
        numbers_of(file(chats))
    assert (numbers_of(file(verdicts)).judge, numbers_of(file(verdicts)).n_unscored) == ("reply", 1)


@pytest.mark.parametrize(("column", "elicit", "high"), [("score", "score", 9), ("probability", "probability", 0.9)])
def test_numbers_of_a_judge_are_declared_with_what_a_high_one_means(file, column, elicit, high):
    low = 11 - high if elicit == "score" else 1 - high
    rows = [
        {"id": n, "human": word, column: value} for n, (word, value) in enumerate([("safe", high), ("unsafe", low)] * 3)
    ]

    for told in (CheckOptions(), CheckOptions(elicit=elicit), CheckOptions(judge_true_means="safe")):
        with pytest.raises(ConfigurationError, match=r"nothing says what a high one means; give .*--judge-true-means"):
            numbers_of(file(rows), options=told)
    safe = CheckOptions(elicit=elicit, judge_true_means="safe")
    assert numbers_of(file(rows), options=safe).accuracy.estimate == 1
    turned = numbers_of(file(rows), options=CheckOptions(elicit=elicit, judge_true_means="unsafe"))
    assert turned.accuracy.estimate == 0
    assert turned.receipt.columns[0].role == f"the judge ({elicit}, high is unsafe)"


def test_the_receipt_says_how_the_judges_words_were_read_and_out_keeps_the_bad_rows(file, tmp_path):
    rows = [{"id": n, "human": "safe", "judge": word} for n, word in enumerate(["pass", "PASS", "NA", "odd"])]
    words, policies = VerdictWords(safe_word=("pass", "safe")), Policies(skip_bad=True)
    numbers = numbers_of(file(rows), words=words, policies=policies, out=tmp_path / "kept")

    read = [(word.word, word.read_as, word.how, word.n) for word in numbers.receipt.words if word.column == "judge"]
    assert read == [("pass", "safe", "declared", 1), ("PASS", "safe", "declared", 1), ("NA", "missing", "listed", 1)]
    (bad,) = map(json.loads, (tmp_path / "kept.bad-rows.jsonl").read_text().splitlines())
    assert (bad["line"], bad["row"]) == (5, {"id": "3", "human": "safe", "judge": "odd"})
    assert "they replace the words that casewise knows" in bad["reason"]


def test_an_elicitation_that_there_is_not_is_named_without_a_word_of_a_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text("query,judge,label\nA?,safe,safe\n")
    said = invoke("check", "c.csv", "--elicit", "reply").err

    assert said.startswith("error: --elicit: no elicitation is called 'reply'")
    assert "pydantic" not in said


def test_cases_without_a_verdict_are_no_errors_avoided(file):
    rows = [{"id": n, "human": "unsafe", "judge": "unsafe" if n < 200 else None} for n in range(400)]
    said = invoke("check", file(rows), "--max-harm", "0.05", "--json")
    (limit,) = json.loads(said.out)["limits"]

    assert (said.code, limit["outcome"]) == (3, "unknown")
    assert "50.0 %" in limit["sentence"]
    silent = numbers_of(file([row | {"judge": None} for row in rows]))
    assert (silent.harm.estimate, silent.harm.method) == (None, "undefined: no verdict on items of that kind")


def test_the_judges_column_is_no_other_and_a_report_says_why_cases_have_no_verdict(file):
    with pytest.raises(ConfigurationError, match="'judge' is named as the judge's column and as another"):
        numbers_of(file(ROWS), options=CheckOptions(judge="judge"), columns=CaseColumns(label="judge"))

    failed = {"id": "x", "query": "x", "context": "x", "human": "safe", "judge": None, "error": "Overloaded"}
    report = casewise.check(file([*ROWS, failed]), options=CheckOptions(judge="judge"))
    assert report.numbers.unscored == {"judge failed: Overloaded": 1}
    assert "Cases without a verdict of the judge: 1 (1 judge failed: Overloaded)." in report.to_markdown()


@pytest.mark.parametrize(
    ("labels", "constant", "right"),
    [("ssu", "safe", 2 / 3), ("suu", "unsafe", 2 / 3), ("su", "safe", 0.5), ("ss", "safe", 1.0), ("uu", "unsafe", 1.0)],
)
def test_the_constant_verdict_is_that_of_most_labels(file, labels, constant, right):
    words = {"s": "safe", "u": "unsafe"}
    rows = [{"query": f"q{n}", "human": words[label], "judge": "safe"} for n, label in enumerate(labels * 6)]
    numbers = numbers_of(file(rows))

    assert (numbers.constant, numbers.constant_accuracy.estimate) == (constant, pytest.approx(right))


def test_the_receipt_has_the_columns_of_the_file_alone_and_words_of_verdicts_and_labels(file):
    without_query = numbers_of(file([{"human": row["human"], "judge": row["judge"]} for row in ROWS])).receipt

    assert [column.column for column in without_query.columns] == ["judge", "human"]
    assert {(word.column, word.word) for word in without_query.words} == {
        (column, word) for column in ("judge", "human") for word in ("safe", "unsafe")
    }


def votes_of(tally):
    return tally.items.select("n_safe", "n_votes", "n_unsure", "n_ask", "published_rate").rows()


def test_each_form_of_label_becomes_votes_of_its_item(file):
    scale = ImportOptions(scale_low=1, scale_high=5, cut=3, safe_side="below")
    forms: dict[str, tuple[list[object], ImportOptions, list[tuple[object, ...]]]] = {
        "votes": (
            [["safe", "unsafe", "unsure"], ["safe"], ["ask", "unsafe"]],
            ImportOptions(),
            [(1, 2, 1, 0, None), (1, 1, 0, 0, None), (0, 1, 0, 1, None)],
        ),
        # a value at the cut is unsafe, and a missing one is no vote
        "ratings": (
            [[1, 3, 5], [2.5, 2], [None, 4]],
            scale,
            [(1, 3, 0, 0, None), (2, 2, 0, 0, None), (0, 1, 0, 0, None)],
        ),
        "safe_rate": (
            [0.25, None, 1.0],
            ImportOptions(),
            [(250, 1000, 0, 0, 0.25), (0, 0, 0, 0, None), (1000, 1000, 0, 0, 1.0)],
        ),
    }
    for column, (cells, options, expected) in forms.items():
        rows = [{"id": n, column: cell, "judge": "safe"} for n, cell in enumerate(cells)]
        assert votes_of(read_check(file(rows, "table.jsonl"), options=options)) == expected, column


def test_votes_of_known_annotators_keep_who_gave_them(file):
    votes = [("a", "p", "safe"), ("a", "q", "unsure"), ("b", "q", "unsafe"), ("b", "p", "safe")]
    rows = [{"query": query, "rater": rater, "vote": vote, "judge": "safe"} for query, rater, vote in votes]
    raters = read_check(file(rows)).raters
    without = read_check(file([{"query": "a", "label": "safe", "judge": "safe"}])).raters

    assert raters is not None
    assert [each.tolist() for each in raters] == [[0, 1, 1], [0, 1, 0], [True, False, True]]  # unsure decides nothing
    assert without is None


def test_a_case_has_the_verdict_of_the_first_of_its_rows_that_holds_one(file):
    verdicts = {"a": (None, "unsafe", "unsafe"), "b": ("safe", None, "safe"), "c": (None, None, None)}
    rows = [
        {"query": query, "rater": rater, "vote": "safe", "judge": verdict}
        for query, each in verdicts.items()
        for rater, verdict in zip("pqr", each, strict=True)
    ]
    tally = read_check(file(rows))

    assert [getattr(outcome, "value", None) for outcome in tally.outcomes] == [0, 1, None]
    assert tally.words == {"unsafe": 2, "safe": 2}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"query": "xxyz"}, [0, 0, 1, 2]),
        ({"query": "xxyz", "cluster": "kmkm"}, [0, 1, 0, 1]),
        ({"query": "xxxx", "reply": "ppqq"}, [0, 0, 1, 1]),
        ({}, [0, 1, 2, 3]),
    ],
)
def test_items_of_one_query_and_reply_are_a_cluster_unless_a_column_says_otherwise(file, columns, expected):
    rows = [
        {"id": n, "context": n, "human": "safe", "judge": "safe", **{name: cells[n] for name, cells in columns.items()}}
        for n in range(4)
    ]
    used = CaseColumns(reply="reply") if "reply" in columns else CaseColumns()
    assert read_check(file(rows), columns=used).cluster.tolist() == expected


def test_a_table_without_a_usable_row_says_why_its_first_row_is_not_usable(file):
    rows = [{"query": f"q{n}", "human": "perhaps", "judge": "safe"} for n in range(2)]
    with pytest.raises(DataError, match=r"no row can be used: .*'perhaps'"):
        read_check(file(rows), policies=Policies(skip_bad=True))
    with pytest.raises(DataError, match=r"no row can be used: .*'odd'"):
        read_check(file([{"query": "q", "human": "safe", "judge": "odd"}]), policies=Policies(skip_bad=True))


def test_words_of_a_judge_that_gives_numbers_or_replies_are_not_counted(file):
    scores = CheckOptions(elicit="score", judge_true_means="safe")
    replies = CheckOptions(judge="reply")
    for cells, check, columns in (
        ({"judge": 8}, scores, CaseColumns()),
        ({"reply": "safe"}, replies, CaseColumns(judged="request")),
    ):
        tally = read_check(file([{"id": 1, "human": "safe", **cells}]), check=check, columns=columns)
        assert (tally.words, len(tally.outcomes)) == ({}, 1)


@pytest.mark.parametrize("name", ["min_accuracy", "max_harm", "max_over_refusal"])
def test_a_limit_is_a_share(file, name):
    tally = read_check(file(ROWS))
    for limit in (-0.01, 1.01, 2.0):
        outside: Any = {name: limit}
        with pytest.raises(ConfigurationError, match="a limit is a share from 0 to 1"):
            check_table(tally, CheckOptions(**outside))
    at_the_end: Any = {name: 0.0 if name == "min_accuracy" else 1.0}
    (held,) = check_table(tally, CheckOptions(**at_the_end)).limits
    assert (held.conclusion.outcome, held.further_queries) == ("holds", None)


def test_only_an_open_limit_that_more_queries_can_settle_says_how_many(file):
    right = [{"query": f"q{n}", "human": "unsafe", "judge": "unsafe"} for n in range(8)]
    half = [{"query": f"q{n}", "human": "unsafe", "judge": "unsafe" if n % 2 else "safe"} for n in range(12)]

    def further(rows, **limits):
        (limit,) = numbers_of(file(rows), options=CheckOptions(**limits)).limits
        return (limit.conclusion.outcome in ("holds", "does not hold"), limit.further_queries)

    assert further(right, max_harm=0.0) == (False, None)  # no number of queries without harm shows that there is none
    assert further(right, max_harm=0.3) == (False, 11 - 8)  # .7^10 is above 2.5 % and .7^11 below
    assert further(right, max_harm=0.34) == (False, 9 - 8)
    assert further(right, max_harm=0.4) == (True, None)  # the interval of 0 of 8 ends at 36.9 %
    assert further(half, max_harm=0.5) == (False, None)  # the estimate is the limit
    decided, more = further(half, max_harm=0.7)
    assert not decided
    assert more is not None
    # (1.96 + .84)² · .25 / .2² is 49; the sample's variance and the quantiles of t add a tenth or so
    assert 49 <= more + 12 <= 60


def test_the_gain_over_a_constant_verdict_says_how_many_queries_would_show_it(file):
    def of(n, wrong):
        labels = ["safe", "unsafe"] * (n // 2)
        turned = {"safe": "unsafe", "unsafe": "safe"}
        rows = [
            {"query": f"q{n}", "human": label, "judge": turned[label] if n < wrong else label}
            for n, label in enumerate(labels)
        ]
        return numbers_of(file(rows))

    equal, better, open_ = of(12, 6), of(40, 0), of(12, 4)
    assert (equal.gain.estimate, equal.further_queries) == (0, None)
    assert (better.gain.estimate, better.further_queries) == (0.5, None)
    assert open_.gain.estimate == pytest.approx(1 / 6)
    assert open_.further_queries is not None


def test_accuracy_by_category_stands_where_there_are_several(file):
    several = [row | {"category": "a" if n < 12 else "b"} for n, row in enumerate(ROWS)]
    several[0]["judge"] = "unsafe"
    one = numbers_of(file([row | {"category": "a"} for row in ROWS])).groups
    groups = numbers_of(file(several)).groups

    assert one == ()
    assert [(name, group.estimate) for name, group in groups] == [
        ("a", pytest.approx(7 / 12)),
        ("b", pytest.approx(16 / 24)),
    ]


def test_the_five_commonest_reasons_for_no_verdict_are_named(file):
    counts = {f"error {n}": n for n in range(1, 8)}
    rows = [{"human": "safe", "judge": None, "error": error} for error, count in counts.items() for _ in range(count)]
    numbers = numbers_of(file([*rows, {"human": "safe", "judge": "safe", "error": None}], "table.jsonl"))

    assert list(numbers.unscored.items()) == [(f"judge failed: error {n}", n) for n in (7, 6, 5, 4, 3)]
    assert numbers.n_unscored == 28


def test_disagreements_are_sorted_by_their_distance_and_ties_of_people_are_none(file):
    votes = {"tie": (2, 4, "safe"), "near": (1, 4, "safe"), "far": (4, 4, "unsafe"), "right": (4, 4, "safe")}
    rows = [
        {"id": name, "query": name, "n_safe": n_safe, "n_votes": n, "judge": judge, "who": "a nurse"}
        for name, (n_safe, n, judge) in votes.items()
    ]
    columns = CaseColumns(parameters={"who": "recipient.role"})
    worst = numbers_of(file(rows), columns=columns).worst
    share = numbers_of(file([{"query": "q", "safe_rate": 0.25, "judge": "safe"}])).worst

    assert [(case.id, case.line, case.query, case.people, case.judge, case.context) for case in worst] == [
        ("far", 4, "far", "4 of 4 safe", "unsafe", "recipient.role: a nurse"),
        ("near", 3, "near", "1 of 4 safe", "safe", "recipient.role: a nurse"),
    ]
    assert [(case.id, case.people) for case in share] == [(None, "25.0 % safe")]
    assert [case.id for case in numbers_of(file(rows), options=CheckOptions(disagreements=1)).worst] == ["far"]
    assert numbers_of(file(rows), options=CheckOptions(disagreements=0)).worst == ()


def test_a_disagreement_of_a_judge_of_replies_shows_the_reply_or_what_was_made_of_it(file):
    rows = [{"id": 1, "query": "Q?", "human": "unsafe", "reply": "Verdict: safe"}]
    (worst,) = numbers_of(file(rows), options=CheckOptions(judge="reply"), columns=CaseColumns(judged="request")).worst
    assert (worst.query, worst.people, worst.judge) == ("Q?", "unsafe", "Verdict: safe")


def test_the_judges_column_may_be_a_part_of_an_object_and_a_wrong_name_is_answered_with_the_names(file):
    rows = [{"id": 1, "human": "safe", "result": {"verdict": "unsafe"}}]
    numbers = numbers_of(file(rows, "table.jsonl"), options=CheckOptions(judge="result.verdict"))
    assert (numbers.judge, numbers.accuracy.estimate) == ("result.verdict", 0)

    for wrong in ("judges", "judge.s"):
        with pytest.raises(ConfigurationError, match=f"there is no column '{wrong}'.*; .*human"):
            numbers_of(file(ROWS), options=CheckOptions(judge=wrong))


def test_a_column_of_replies_half_of_which_state_verdicts_is_not_the_judges(file):
    rows = [{"id": n, "label": "safe", "reply": reply} for n, reply in enumerate(["Verdict: safe", "Hm.", None])]
    with pytest.raises(ConfigurationError, match="give --judge reply"):
        numbers_of(file(rows, "table.jsonl"))
    assert numbers_of(file([*rows, rows[0] | {"id": 3}], "table.jsonl")).judge == "reply"
    with pytest.raises(ConfigurationError, match="name the judge's column with --judge"):
        numbers_of(file(rows, "table.jsonl"), columns=CaseColumns(reply="reply"))


@pytest.mark.parametrize(
    ("name", "true_means", "accuracy"), [("judge", "unsafe", 0), ("is_safe", "unsafe", 1), ("is_unsafe", "safe", 0)]
)
def test_a_column_that_names_a_side_is_read_by_its_name_and_another_as_the_labels_are(file, name, true_means, accuracy):
    rows = [{"id": n, "query": f"q{n}", "human": "safe", name: True} for n in range(2)]
    numbers = numbers_of(
        file(rows),
        options=CheckOptions(judge=name),
        columns=CaseColumns(label="human"),
        words=VerdictWords(true_means=true_means),
    )
    assert numbers.accuracy.estimate == accuracy


def test_an_open_limit_for_cases_without_a_verdict_gives_both_shares_and_no_number_of_queries(file):
    rows = [{"id": n, "human": "safe", "judge": "safe" if n < 300 else None} for n in range(400)]
    for limit, outcome in ((0.05, Unknown("cases without a verdict could exceed the limit")), (0.4, "holds")):
        (found,) = numbers_of(file(rows), options=CheckOptions(max_over_refusal=limit)).limits
        assert (found.conclusion.outcome, found.further_queries) == (outcome, None)
        assert ("25.0 %" in str(found.conclusion.predicate)) == (outcome != "holds")
    (accuracy,) = numbers_of(file(rows), options=CheckOptions(min_accuracy=0.6)).limits
    assert (accuracy.conclusion.outcome, accuracy.conclusion.estimate) == ("holds", 0.75)


def test_a_case_without_a_query_is_refused_and_a_column_called_case_needs_a_query(file):
    rows = [{"query": "Q?", "human": "safe", "judge": "safe"}, {"query": None, "human": "safe", "judge": "safe"}]
    with pytest.raises(DataError, match="'query' is empty"):
        read_check(file(rows, "table.jsonl"))
    with pytest.raises(ConfigurationError, match="name the column with the query with --query"):
        read_check(file([{"case": 1, "human": "safe", "judge": "safe"}]))
