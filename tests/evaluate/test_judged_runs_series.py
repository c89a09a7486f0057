"""Series by hand: from rows of a log to values, and the words for them."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, sample_of, some
from tests.support.worlds import CLEAR, SPLIT, World

from casewise.ask.elicitations import ELICITATIONS, ElicitationKind, SecondReading
from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.evaluate.judged_runs import (
    NEEDED,
    JudgedRuns,
    Series,
    against_full_context,
    by_benchmark,
    cluster_values,
    few_verdicts,
    grade_counts,
    judge_names,
    judgement_counts,
    noun_of_series,
    number_duplicates,
    options_of,
    output_files,
    policy_of,
    read_runs,
    read_series,
    reply_counts,
    report_options,
    second_readings,
    series_name,
    vote_counts,
    with_fitted_verdicts,
)
from casewise.records import NO_CONTEXT, Arm, CollectedReply, Grade, Scale
from casewise.stats.labels import PUBLISHED, VOTES

ITEMS = pl.DataFrame({"item_id": ["i0", "i1", "i2", "i3"]})


def run_of(*, settings=None, behaviour=None, name="J", wording="", path="run", notes=()) -> Any:
    identity = SimpleNamespace(settings=settings or {}, benchmark="digest")
    manifest = SimpleNamespace(identity=identity, judge_name=name, benchmark_name="demo")
    return SimpleNamespace(
        manifest=manifest, behaviour=behaviour, wording=wording, path=Path(path), log=Path("log.jsonl"), notes=notes
    )


def log(*rows, **columns):
    """Rows of a log: item, value or reason, and what else is said of it."""
    known = {"judge_id": "j", "elicitation": "binary", "arm": "full", "repeat": 0, "attempt": 0, "model_version": None}
    known |= {"cost_usd": None, "assumed_cost_usd": None, "read_as": None, "latency_s": None} | columns
    types = {"value": pl.Float64, "cost_usd": pl.Float64, "assumed_cost_usd": pl.Float64, "latency_s": pl.Float64}
    whole = [
        known
        | {
            "item_id": item,
            "value": None if isinstance(value, str) else value,
            "unscored_reason": value if isinstance(value, str) else None,
        }
        | more
        for item, value, more in rows
    ]
    schema = {name: types.get(name, pl.Int32 if name in ("repeat", "attempt") else pl.String) for name in NEEDED}
    return pl.DataFrame(whole, schema=schema)


def series_of(*rows, run=None, **columns) -> Series:
    (found,) = read_series(run or run_of(), "J", ITEMS, judgements=log(*rows, **columns))
    return found


# From a log.


def test_a_series_has_a_value_for_each_item_that_was_asked_and_the_reasons_where_there_is_none():
    found = series_of(
        ("i1", 1.0, {"read_as": "word", "latency_s": 3.0, "model_version": "v2"}),
        ("i0", "unparsed", {"latency_s": 1.0, "model_version": "v1"}),
        ("i3", 0.0, {"read_as": "word", "latency_s": 9.0, "model_version": "v2"}),
    )

    assert np.array_equal(found.values, [NAN, 1, NAN, 0], equal_nan=True)
    assert found.asked.tolist() == [True, True, False, True]
    assert (found.reasons, found.repeats, found.n_judged, found.spread, found.answers) == (
        {"unparsed": 1},
        1,
        3,
        None,
        None,
    )
    assert (found.latency_s, found.versions, found.read_as, found.cost_usd) == (3.0, ("v1", "v2"), {"word": 2}, None)
    assert found.unscored_share == pytest.approx(1 / 3)
    assert (found.n_unscored, found.silent) == (1, False)


def test_the_last_attempt_counts_and_every_attempt_costs():
    found = series_of(
        ("i0", "unparsed", {"attempt": 0, "cost_usd": 0.1}),
        ("i0", 1.0, {"attempt": 1, "cost_usd": 0.2}),
        ("i1", 0.0, {"assumed_cost_usd": 0.5}),
    )

    assert (found.values[:2].tolist(), found.n_judged) == ([1, 0], 2)
    assert (found.cost_usd, found.assumed_cost_usd) == pytest.approx((0.8, 0.5))
    assert series_of(("i1", 0.0, {"assumed_cost_usd": 0.5})).cost_usd == 0.5


def test_the_answers_of_a_judge_that_was_asked_again_stand_beside_their_mean():
    rows = [("i0", 1.0, {}), ("i0", 0.0, {"repeat": 1}), ("i1", "unparsed", {}), ("i1", 1.0, {"repeat": 1})]
    found = series_of(*rows)

    assert (found.repeats, found.values[:2].tolist(), found.n_judged) == (2, [0.5, 1.0], 4)
    assert np.array_equal(some(found.answers)[:, :2], np.array([[1, NAN], [0, 1]]), equal_nan=True)
    assert some(found.spread)["n_scored"].to_list() == [2, 1]
    assert (found.unscored_share, found.n_unscored, found.reasons) == (0.25, 1, {})
    protocol = series_of(*rows, run=run_of(settings={"protocol": "published"}))
    assert protocol.answers is None, "the mean of its calls is its answer"


def test_series_begin_with_the_one_that_shows_all_and_go_by_elicitation():
    rows = [
        (f"i{n}", 0.5, {"arm": arm, "elicitation": how})
        for n, (arm, how) in enumerate(
            [("none", "binary"), ("full", "probability"), ("full", "score"), ("full", "binary")]
        )
    ]
    found = read_series(run_of(), "J", ITEMS, judgements=log(*rows))

    assert [(each.arm, each.elicitation) for each in found] == [
        *(("full", "binary"), ("full", "score"), ("full", "probability"), ("none", "binary")),
    ]


def test_a_log_without_judgements_or_of_other_items_is_refused():
    with pytest.raises(DataError, match="holds no judgements yet; run casewise judge again"):
        read_series(run_of(), "J", ITEMS, judgements=log())
    with pytest.raises(
        DataError, match=r"log\.jsonl: holds a judgement of an item that the benchmark does not have: x"
    ):
        read_series(run_of(), "J", ITEMS, judgements=log(("x", 1.0, {})))


def test_more_than_half_unscored_is_too_much_for_any_agreement():
    half, more = (series_of(*((f"i{n}", 1.0 if n < scored else "unparsed", {}) for n in range(4))) for scored in (2, 1))

    assert (half.mostly_unscored, more.mostly_unscored) == (False, True)
    assert half.counted("miss").all()
    assert half.counted("exclude").tolist() == [True, True, False, False]
    nothing = replace(half, asked=np.zeros(4, dtype=bool))
    assert (nothing.unscored_share, nothing.n_unscored, nothing.silent) == (0.0, 0, True)


@pytest.mark.parametrize(
    ("elicitation", "repeats", "words"),
    [
        ("binary", 3, "majority of its 3 answers"),
        ("binary", 2, "majority of its 2 answers (a tie is unsafe)"),
        ("score", 2, "mean of its 2 answers"),
    ],
)
def test_all_answers_together_have_a_name(elicitation, repeats, words):
    assert replace(series_of(("i0", 1.0, {})), elicitation=elicitation, repeats=repeats).together == words


# Names.


@pytest.mark.parametrize(
    ("arm", "forms"),
    [
        (Arm(), ("m (binary)", "recorded:m (binary)")),
        (NO_CONTEXT, ("m (binary, none)", "m (binary, none)", "recorded:m (binary, none)")),
        (
            Arm.without("sender.role", "recipient"),
            (
                "m (binary) −recipient −role",
                "m (binary) −recipient −sender.role",
                "recorded:m (binary, without:recipient,sender.role)",
            ),
        ),
        (
            Arm.parse("python:file.py:attack@0123456789"),
            (
                f"m (binary, {Arm.parse('python:file.py:attack@0123456789').short_name})",
                "m (binary, python:file.py:attack@0123456789)",
                "recorded:m (binary, python:file.py:attack@0123456789)",
            ),
        ),
    ],
)
def test_a_series_goes_by_shorter_and_longer_names(arm, forms):
    name: Any = series_name("recorded:m", "binary", arm)

    assert name.parts[0].forms == forms
    prefixed: Any = series_name("m", "binary", arm, prefix="published:")
    assert prefixed.parts[0].forms[-1] == forms[-1].replace("recorded:", "published:")


def test_a_judge_has_its_number_only_where_another_run_was_asked_alike():
    series = replace(series_of(("i0", 1.0, {})), judge="J #2")

    assert (series.name, replace(series, alone=True).name, series.judge_title) == (
        "J #2 (binary)",
        "J (binary)",
        "J #2",
    )
    chatbot = run_of(behaviour=SimpleNamespace(manifest=SimpleNamespace(identity=SimpleNamespace(model="m"))))
    assert replace(series, run=chatbot).judge_title == "Replies of m"
    assert replace(series, arm="none").how == "binary, none"


def asked(judge, *, elicitation="binary", arm="full", wording="", chatbot=False) -> Any:
    run = run_of(name=judge, wording=wording, behaviour=object() if chatbot else None)
    return SimpleNamespace(run=run, elicitation=elicitation, arm=arm)


@pytest.mark.parametrize(
    ("series", "noun"),
    [
        ([asked("a"), asked("b")], "judge"),
        ([asked("a"), asked("b"), asked("b")], "judge"),
        ([asked("a"), asked("b"), asked("b", arm="none")], "configuration"),
        ([asked("a"), asked("a", elicitation="score")], "elicitation"),
        ([asked("a"), asked("a", arm="none")], "arm"),
        ([asked("a", wording="x"), asked("a", wording="y")], "wording"),
        ([asked("a", wording="x"), asked("a", wording="y", arm="none")], "configuration"),
        ([asked("a"), asked("a")], "run"),
        ([asked("a"), asked("a", chatbot=True, arm="none")], "judge"),
    ],
)
def test_what_differs_between_series_gives_them_their_noun(series, noun):
    assert noun_of_series(series) == noun


def test_names_that_stand_twice_are_numbered_and_judges_first_told_apart_by_their_prompts():
    assert number_duplicates(["a", "b", "a", "a"]) == ["a", "b", "a #2", "a #3"]
    runs = [run_of(wording="x"), run_of(wording="y"), run_of(wording="y"), run_of(name="K", wording="z")]
    assert judge_names(runs) == ["J, prompts x", "J, prompts y", "J, prompts y #2", "K"]


def test_a_judge_with_too_few_verdicts_is_said_to_have_none_or_a_share():
    assert few_verdicts("J", 1) == "J gave no verdict on any item: every reply is unscored."
    assert few_verdicts("J", 0.6) == "J gave no verdict on 60.0 % of items, so no agreement is reported for it."


def test_arms_that_hide_something_are_against_full_context_labels_where_contexts_have_an_intent():
    stated, none = (
        pl.DataFrame({"intended_safe": [value, None]}, schema={"intended_safe": pl.Boolean}) for value in (True, None)
    )

    assert against_full_context(["a", "b"], stated) == (
        "These arms do not show the whole context, so their numbers are against full-context labels: a and b.",
    )
    assert against_full_context([], stated) == against_full_context(["a"], none) == ()


# Options.


def test_a_policy_is_given_by_name_or_as_it_is():
    assert (policy_of("published"), policy_of(VOTES)) == (PUBLISHED, VOTES)
    given = report_options("votes", ties="drop", unscored="exclude", items="clear", fit_thresholds=True)
    assert (given.labels.ties, given.unscored, given.items, given.fit_thresholds) == ("drop", "exclude", "clear", True)
    assert options_of("published", given) is given
    assert options_of("published", None).labels == PUBLISHED
    for wrong, option in (({"ties": "x"}, "--ties"), ({"unscored": "x"}, "--unscored")):
        with pytest.raises(ConfigurationError, match=option):
            report_options(**wrong)  # type: ignore[arg-type]


# What runs and logs hold, counted.


def test_votes_are_counted_by_condition_and_by_category_with_its_domain():
    benchmark = World("counted", ("ss?", "uus", "u", "."), {}).benchmark
    columns = ("items", "votes", "safe", "unsure")

    assert vote_counts(benchmark, "condition").select("condition", *columns).rows() == [
        ("safe_generated", 2, 3, 2, 1),
        ("unsafe_generated", 2, 3, 1, 0),
    ]
    assert vote_counts(benchmark, "category").columns == ["category", "domain", *columns]
    assert vote_counts(benchmark, "category")["items"].to_list() == [2, 2]


def test_replies_are_counted_by_arm_with_the_reasons_why_there_are_none():
    def reply(arm, unanswered=None):
        text = {} if unanswered else {"text": "Hello", "text_digest": "d"}
        return CollectedReply.model_validate(
            {"item_id": "i", "arm": arm, "unanswered": unanswered, "at": "2025-01-01T00:00:00Z", **text}
        )

    found = reply_counts(
        [
            reply("full"),
            reply("full", "content_filter"),
            reply("full", "unavailable"),
            reply("full", "unavailable"),
            reply("none"),
        ]
    )

    assert found.rows() == [("full", 2, 2, "unavailable"), ("none", 1, 0, "")]


def test_grades_are_counted_by_outcome():
    def grade(**what):
        return Grade.model_validate(
            {"item_id": "i", "arm": "full", "text_digest": "d", "at": "2025-01-01T00:00:00Z", **what}
        )

    grades = [grade(outcome="refuses"), grade(outcome="refuses"), grade(ungraded="unparsed")]
    assert grade_counts(grades) == {"answers": 0, "partly": 0, "refuses": 2, "ungraded": 1}


def test_output_files_are_those_named_and_those_of_folders(tmp_path, monkeypatch):
    for name in ("b/output_x.json", "a/output_x.json", "a/other.json", "c.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[]")
    whole = [tmp_path / "a/output_x.json", tmp_path / "b/output_x.json"]

    assert output_files(tmp_path) == whole
    assert output_files([str(tmp_path / "c.json"), tmp_path / "a"]) == [tmp_path / "c.json", whole[0]]
    assert output_files(None) == []
    monkeypatch.setenv("CASEWISE_OUTPUTS", str(tmp_path / "b"))
    assert output_files(None) == whole[1:]
    with pytest.raises(ConfigurationError, match=r"no file or folder of published outputs is at .*gone"):
        output_files([tmp_path / "gone"])
    with pytest.raises(DataError):
        output_files("casebench")  # which was not fetched
    monkeypatch.chdir(tmp_path)
    Path("casebench").mkdir()
    assert output_files("casebench") == []


# Runs over one benchmark.


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World("four", CLEAR + SPLIT, {"good": ("s", "u") * 2, "half": ("s", "?", "?", "?")})
    return world, world.runs(tmp_path_factory.mktemp("world"))


def test_runs_are_read_with_their_series_and_what_is_said_of_all(world):
    described, folders = world
    runs = read_runs([*folders.values()], benchmark=described.benchmark)

    assert repr(runs) == "<JudgedRuns on four: 2 runs, 2 series>"
    assert (runs.paths, runs.nothing_scored) == (tuple(folders.values()), False)
    assert runs.silent_notes == (
        "half (binary) gave no verdict on 75.0 % of items, so no agreement is reported for it.",
    )
    assert (runs.repeats_notes, runs.cluster_notes, runs.cluster_noun) == ((), (), None)
    assert [each.name for each in runs.main_series] == ["good (binary)", "half (binary)"]
    assert judgement_counts(folders["half"]).rows() == [("binary", "full", 4, 3, 1.0)]
    assert str(runs.intervals_over) == "queries and people"


def test_the_main_series_show_the_whole_context_or_are_all():
    series = [series_of((f"i{n}", 1.0, {"arm": arm})) for n, arm in enumerate(("full", "none"))]
    both, hidden = (JudgedRuns(SimpleNamespace(name="b"), ITEMS, (), tuple(chosen)) for chosen in (series, series[1:]))  # type: ignore[arg-type]

    assert (both.main_series, hidden.main_series) == ((series[0],), (series[1],))


def test_a_series_of_some_items_is_a_sample_of_these(world):
    described, folders = world
    runs = read_runs([folders["good"]], benchmark=described.benchmark)
    some_asked = replace(runs.series[0], asked=np.array([True, False, True, True]))

    assert (len(runs.sample(some_asked)), len(runs.whole_sample(some_asked))) == (3, 4)
    assert some(runs.sample(some_asked).raters).item.max() == 2


def test_repeated_answers_are_named_once_for_all_judges():
    twice = replace(series_of(("i0", 1.0, {})), answers=np.ones((2, 4)), repeats=2)
    runs = JudgedRuns(SimpleNamespace(name="b"), ITEMS, (), (twice, replace(twice, judge="K", answers=None)))  # type: ignore[arg-type]

    (note,) = runs.repeats_notes
    assert note.startswith("Asked more than once: J (binary) (2 times). Agreement and errors")


def test_a_folder_belongs_to_one_benchmark(world, tmp_path):
    _, folders = world
    other = World("other", ("s", "u"), {"good": ("s", "u")})
    stray = other.runs(tmp_path)["good"]

    grouped = by_benchmark([folders["good"], stray, folders["half"]])
    assert [*grouped.values()] == [[folders["good"], folders["half"]], [stray]]
    with pytest.raises(BenchmarkError, match="there are no runs to read"):
        read_runs([])
    with pytest.raises(BenchmarkError, match=r"different benchmarks or label sets \(.*good: four; .*good: other\)"):
        read_runs([folders["good"], stray])


def test_a_benchmark_that_has_moved_is_asked_for(world, tmp_path):
    moved = World("moved", ("s", "u"), {"good": ("s", "u")})
    run = moved.runs(tmp_path, kept=True)["good"]
    assert read_runs([run]).benchmark.name == "moved"
    (tmp_path / "benchmark").rename(tmp_path / "elsewhere")

    with pytest.raises(BenchmarkError, match="give its new place with --benchmark"):
        read_runs([run])
    assert read_runs([run], benchmark=tmp_path / "elsewhere").benchmark.name == "moved"
    with pytest.raises(BenchmarkError, match="the run is over 'moved', and 'four' has other items or ratings"):
        read_runs([run], benchmark=world[0].benchmark)


# Clusters.


def test_items_of_one_value_are_a_cluster_and_an_item_without_one_belongs_to_its_query(world):
    benchmark = world[0].benchmark
    wards = ["A", None, None, 3]
    items = tuple(
        item if ward is None else item.model_copy(update={"columns": {"ward": ward}})
        for item, ward in zip(benchmark.items, wards, strict=True)
    )
    found = cluster_values(replace(benchmark, items=items), "ward").to_list()

    queries = [item.query_id for item in items]
    assert found == ["=A", f"query {queries[1]}", f"query {queries[2]}", "=3"]
    assert cluster_values(benchmark, "condition").to_list() == ["=safe_generated", "=unsafe_generated"] * 2
    with pytest.raises(ConfigurationError, match="items can be clustered by category, domain, condition, pair_id"):
        cluster_values(benchmark, "ward")
    same = [item.model_copy(update={"columns": {"ward": 1}}) for item in items]
    with pytest.raises(ConfigurationError, match="all items have the same ward, so there is one cluster"):
        cluster_values(replace(benchmark, items=tuple(same)), "ward")


def test_clusters_that_divide_queries_or_are_few_are_said(world):
    described, folders = world
    runs = read_runs([folders["good"]], benchmark=described.benchmark)
    by_category, by_condition = (replace(runs, clustered_by=name) for name in ("category", "condition"))

    (note,) = by_category.cluster_notes
    assert note.startswith(
        "Intervals and tests are over 2 queries: items with one value of category count as one cluster"
    )
    assert note.endswith("their queries. With so few clusters the intervals are wide and depend on each of them.")
    assert "These clusters divide queries" in by_condition.cluster_notes[0]
    assert some(replace(runs, clustered_by="pair_id").cluster_noun).many == "pairs"
    assert by_condition.cluster.tolist() == [0, 1, 0, 1]
    assert by_condition.by_queries.cluster.tolist() == runs.cluster.tolist()
    assert runs.cluster[0] == runs.cluster[1] != runs.cluster[2] == runs.cluster[3]


# A second reader.


def reading(word, *, value=None, by=None, elicitation="binary"):
    outcome = {"kind": "unscored", "reason": "unparsed"} if value is None else {"kind": "scored", "value": value}
    return {
        "elicitation": elicitation,
        "outcome": outcome,
        "read_as": by,
        "detail": {"second_reader": word} if word else {},
    }


def read_twice(tmp_path, *lines, end="\n", settings=None):
    path = tmp_path / "judgements.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + end)
    run = run_of(settings={"reader": {"model": "R"}} if settings is None else settings)
    run.log = path
    return list(second_readings(SimpleNamespace(runs=[run])))  # type: ignore[arg-type]


def test_a_second_readers_verdicts_are_counted_with_those_of_the_strict_reader(tmp_path):
    lines = [
        reading("safe", value=1.0, by="model"),
        reading("none"),
        reading("safe", value=1.0, by="word"),
        reading("unsafe", value=1.0, by="word"),
        reading("none", value=0.0, by="word"),
        reading(None, value=1.0, by="word"),
        reading("7", value=7.0, by="word", elicitation="score"),
        reading("6", value=7.0, by="word", elicitation="score"),
    ]
    (found,) = read_twice(tmp_path, *lines)

    assert (found.judge, found.reader) == ("J", "R")
    assert (found.n_read, found.n_none, found.n_both, found.n_same) == (1, 1, 5, 2)
    assert read_twice(tmp_path, *lines, settings={}) == []


def test_the_answers_of_a_second_reader_may_be_words_of_any_elicitation(tmp_path, monkeypatch):
    words = ElicitationKind(
        Scale("certainty", 1.0, 5.0), second=SecondReading("{reply}", {"certainly": 5.0, "hardly": 1.0})
    )
    monkeypatch.setitem(ELICITATIONS, "certainty", words)
    lines = [reading(word, value=5.0, by="word", elicitation="certainty") for word in ("certainly", "hardly", "none")]
    (found,) = read_twice(tmp_path, *lines)

    assert (found.n_both, found.n_same) == (3, 1)


def test_a_last_line_that_a_kill_cut_off_is_not_read(tmp_path):
    cut = json.dumps(reading("safe", value=1.0, by="model"))[:-20]
    (found,) = read_twice(tmp_path, reading("none"), end="\n" + cut)

    assert (found.n_read, found.n_none) == (0, 1)


# Fitted thresholds.


def test_a_scalar_without_verdicts_gets_them_for_each_answer_or_stays_as_it_is():
    weight = np.tile([0.0, 1.0], 20)
    sample = sample_of(weight, np.full(40, NAN), cluster=np.arange(40) // 2)
    sample = replace(sample, value=weight * 10 - 3)
    fitted = with_fitted_verdicts(replace(sample, answers=(sample, sample)))

    assert np.array_equal(fitted.safe, weight)
    assert all(np.array_equal(answer.safe, weight) for answer in fitted.answers)
    alike = replace(sample, weight=np.ones(40), rate=np.ones(40))
    assert np.array_equal(with_fitted_verdicts(alike).safe, np.ones(40))
    unread = replace(sample, value=np.full(40, NAN))
    assert with_fitted_verdicts(unread) is unread
