"""What separates the items that were decided wrongly from the rest."""

import json

import numpy as np
import pytest
from tests.support.cases_of_a_ward import DAUGHTER, SAFE, ward_cases, wrong_about_daughters

import casewise
from casewise.evaluate.cases import (
    MOST_CASES,
    MOST_ITEMS,
    Case,
    ErrorsAtRisk,
    error_groups,
    sample_queries,
    stated_values,
)
from casewise.evaluate.judged_runs import JudgedRuns, read_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> JudgedRuns:
    run = casewise.judge(ward_cases(), wrong_about_daughters, out=tmp_path_factory.mktemp("ward") / "run")
    return read_runs([run], benchmark=ward_cases())


def recipients(runs) -> np.ndarray:
    return np.array([Case.from_place(runs, place).shown["recipient"]["type"] for place in range(len(runs.items))])


def at_risk(runs, wrong) -> ErrorsAtRisk:
    """The items that people answer; `wrong` says which recipients are refused."""
    who = recipients(runs)
    places = np.flatnonzero(np.isin(who, SAFE))
    return ErrorsAtRisk("over_refusal", places, np.array([wrong(name) for name in who[places]]))


def test_errors_are_separated_by_the_one_statement_on_which_they_are_made(runs):
    risk = at_risk(runs, lambda who: who == DAUGHTER)
    (group,) = error_groups(runs, [risk])
    n = int((recipients(runs) == DAUGHTER).sum())

    assert (group.kind, group.parameter) == ("over_refusal", "recipient.type")
    assert group.single_statement is not None
    assert group.single_statement == (DAUGHTER, n, n)
    assert (group.errors, group.items, group.holds) == (n, len(risk.places), True)
    assert len(group.cases) == min(n, MOST_CASES)
    assert {case.shown["recipient"]["type"] for case in group.cases} == {DAUGHTER}
    assert json.loads(json.dumps(group.as_json()))["statements"] == [{"statement": DAUGHTER, "errors": n, "items": n}]


def test_a_p_value_is_corrected_for_all_kinds_of_errors_and_all_judges_that_are_searched(runs):
    wrong, none = at_risk(runs, lambda who: who == DAUGHTER), at_risk(runs, lambda _who: False)
    (alone,), (beside,), (of_three,) = (
        error_groups(runs, [wrong]), error_groups(runs, [wrong, none]), error_groups(runs, [wrong], searches=3),
    )  # fmt: skip

    assert 0 < alone.p < 0.05
    assert (beside.p, of_three.p) == pytest.approx((2 * alone.p, 3 * alone.p))
    (capped,) = error_groups(runs, [wrong], searches=10**6)
    assert (capped.p, capped.holds) == (1.0, False)


def test_errors_on_every_item_are_separated_by_nothing(runs):
    (group,) = error_groups(runs, [at_risk(runs, lambda _who: True)])

    assert (group.parameter, group.statements, group.single_statement, group.searched, group.p) == (
        "",
        (),
        None,
        0,
        1.0,
    )
    assert group.errors == group.items


def test_an_item_has_the_statements_of_its_context_and_its_category(runs):
    stated = next(stated_values(runs, np.array([0])))

    assert stated == {
        "recipient.type": recipients(runs)[0],
        "category": runs.benchmark.category_of(runs.benchmark.items[0]),
    }


def test_a_case_is_known_by_its_owners_id_and_what_people_said(runs):
    case = Case.from_place(runs, 0)

    assert case.id.startswith("c")
    assert case.facts[0] == ("Item", case.id)
    assert case.query.startswith("How much of drug")
    assert case.as_json().keys().isdisjoint({"shown", "judged", "before", "labels"})
    assert case.people in ("safe", "unsafe")


def test_of_very_many_items_whole_queries_are_drawn():
    few, many = np.repeat(np.arange(3), 2), np.repeat(np.arange(MOST_ITEMS), 2)
    rng = np.random.default_rng(1)
    some = sample_queries(many, rng)

    assert sample_queries(few, rng).all()
    assert sample_queries(many[:MOST_ITEMS], rng).all()
    assert some.sum() == MOST_ITEMS
    assert (some[::2] == some[1::2]).all()
