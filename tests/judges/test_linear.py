import pytest

import casewise
from casewise.errors import BenchmarkError

DEMO = casewise.load("demo")


def estimates(report, policy):
    rows = report.metrics.filter(label_policy=policy)
    return dict(zip(rows["metric"], rows["estimate"], strict=True))


@pytest.mark.slow
def test_on_the_published_rows_at_hand_it_is_as_good_as_measured_before(shared):
    run = casewise.judge(shared / "data" / "casebench_subset.json", "linear")

    metrics = estimates(run.report(), "published")
    assert metrics["accuracy"] == pytest.approx(0.95, abs=0.02)
    assert metrics["pearson"] == pytest.approx(0.85, abs=0.02)


def test_its_predictions_depend_on_nothing_but_the_benchmark():
    first, second = casewise.judge("demo", "linear"), casewise.judge("demo", "linear")

    assert first.judgements["value"].sort().to_list() == second.judgements["value"].sort().to_list()


def test_it_reads_the_context_alone_unless_told_otherwise():
    query = casewise.judge("demo", "linear:query").judgements
    context = casewise.judge("demo", "linear").judgements

    by_item = dict(zip(query["item_id"], query["value"], strict=True))
    values = [by_item[item.id] for item in DEMO.items]
    assert values[::2] == values[1::2], "a query alone does not tell its two contexts apart"
    assert context["value"].n_unique() > query["value"].n_unique()


def test_the_report_says_that_it_reads_vocabulary_and_not_safety():
    assert any("reads vocabulary, not safety" in note for note in casewise.judge("demo", "linear").report().notes)


def test_too_few_queries_to_hold_out_are_an_error():
    with pytest.raises(BenchmarkError, match="in 10 folds, and only 3 have labels"):
        casewise.judge(DEMO.keeping(DEMO.items[:6]), "linear")


def test_verdicts_that_are_all_alike_are_an_error():
    safe = [item for item in DEMO.items if (DEMO.votes[item.id].rate or 0) > 0.5]

    with pytest.raises(BenchmarkError, match="are all alike"):
        casewise.judge(DEMO.keeping(safe), "linear")
