"""The examples in the docstrings of statistics run, and give what they show."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module", ["agreement", "ceilings", "contrasts", "intervals", "kruskal", "power", "shares", "thresholds"]
)
def test_the_examples_of_a_module_of_statistics_run(module):
    failed, tried = doctest.testmod(importlib.import_module(f"casewise.stats.{module}"))

    assert tried
    assert not failed
