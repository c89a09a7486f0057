"""What names in a report mean stands under the tables in which they stand, on every page."""

import re

import pytest
from markupsafe import escape
from tests.support.crowds import crowd_plan, crowd_table

from casewise import api
from casewise.reports.document import meanings, meanings_in, table_of
from casewise.reports.formats import html
from casewise.studies.ratings_source import RatingsSource
from casewise.studies.report import study_report


def judged(tmp_path):
    run = api.judge("demo", "linear", arms=("full", "without:recipient"), out=tmp_path / "run").path
    return api.report(run).document


def audited(_):
    return api.audit("demo").document


def studied(_):
    return study_report(RatingsSource(crowd_table(crowd_plan()), "a study")).document


WANTED = {
    judged: {
        "answer-errors": {"Harm", "Over-refusal", "A second study (predicted)"},
        "arms-left-out-probability": {"Worth, 95 % interval", "Accuracy"},
        "pairs-table": {"False flips, where the labels agree", "One person", "Judge, same votes"},
        "calibration-table": {"Brier score: calibration part"},
        "cost-table": {"Ratio", "Refuse all"},
        "subsets": {"hard", "Second study"},
    },
    audited: {"people-table": {"Krippendorff's alpha"}, "baselines": {"Held out"}},
    studied: {
        "contrasts": {"Queries like these"},
        "agreement": {"Krippendorff's α"},
        "ceilings": {"Cross-entropy"},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("page", WANTED, ids=lambda page: page.__name__)
def test_every_page_says_what_its_names_mean(page, tmp_path):
    document = page(tmp_path)
    tables = {table.name: meanings_in(table) for table in document.tables()}

    for name, wanted in WANTED[page].items():
        assert wanted <= tables[name].keys(), name
    written = html(document)
    assert ('id="definitions"' in written) == any(tables.values())
    assert all(f"<dt>{escape(name)}" in written for found in tables.values() for name in found)
    for name in ("Worth, 95 % interval", "Weight", "Queries like these"):
        if any(name in found for found in tables.values()):
            assert re.search(f"<dt>{name}</dt><dd>[a-z ]{{20}}", written)


def test_a_name_means_in_one_table_what_it_need_not_in_another():
    row = [("1", "2")]
    weight = [meanings_in(table_of(name, "", ("", "Weight"), row)) for name in ("phrases-table", "x")]

    assert weight[0]
    ungraded = [meanings_in(table_of(name, "", ("Unscored",), [("3",)])) for name in ("does-0", "does-12", "does-it")]
    assert ungraded[0] == ungraded[1] != ungraded[2]
    assert weight[1] == {}
    assert meanings_in(table_of("x", "", ("Unscored (all items)",), [("3",)])) == {
        "Unscored (all items)": meanings()["Unscored"]
    }
