import json

import pytest
from tests.support.command import invoke

import casewise


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        str(casewise.judge("demo", name, out=folder / name.replace(":", "-")).path)
        for name in ("constant:safe", "constant:intended")
    ]


def casewise_(*arguments):
    done = invoke(*arguments)
    assert done.code == 0, done.err
    return done


@pytest.mark.slow
def test_a_comparison_is_printed(runs):
    said = casewise_("compare", *runs).out

    assert "of the row's judge less that of the column's judge" in " ".join(said.split())
    assert len(said.splitlines()) <= 40


@pytest.mark.slow
def test_json_is_one_document_and_nothing_else(runs):
    found = json.loads(casewise_("compare", *runs, "--json").out)

    assert found["n_items"] == 90
    assert {"p_exact", "p_mid", "p_holm"} <= set(found["pairs"][0]["exact_test"])
