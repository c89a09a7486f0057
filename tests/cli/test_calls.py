"""Options of commands that call models, as the rooms below take them."""

import sys

import pytest

from casewise.cli.calls import Calls, Items
from casewise.errors import ConfigurationError
from casewise.models.prices import Prices
from casewise.runs.limits import Limits
from casewise.storage.load import load


@pytest.fixture(autouse=True)
def command(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/casewise", "judge", "my data"])


@pytest.mark.parametrize(("batch", "wait", "waits"), [(False, False, None), (True, False, False), (True, True, True)])
def test_every_kind_of_run_has_limits_a_batch_interface_and_its_command(batch, wait, waits):
    calls = Calls(limits=Limits(max_cost=2.0), batch=batch, wait=wait)

    common = calls.common()

    assert common["limits"] is calls.limits
    assert (common["batch"] and common["batch"].wait) is waits
    assert common["command"] == "casewise judge 'my data'"


def test_waiting_goes_with_a_batch_interface():
    with pytest.raises(ConfigurationError, match="--wait works only with --batch"):
        Calls(wait=True).common()
    with pytest.raises(ConfigurationError, match="--wait works only with --batch"):
        Calls(wait=True).model(None, needs_key=True)


@pytest.mark.parametrize("batch", [True, False])
def test_a_model_is_called_as_often_at_a_time_as_the_run_allows(batch):
    calls = Calls(limits=Limits(concurrency=3), prices=Prices(1.0, 2.0), batch=batch)

    model = calls.model("http://x.example/v1", needs_key=False)

    assert (model.base_url, model.prices, model.client.concurrency) == ("http://x.example/v1", calls.prices, 3)
    assert (model.batch, model.needs_key, model.extra) == (batch, False, calls.extra)


def test_items_are_drawn_with_the_seed_from_those_that_are_named():
    demo = load("demo")

    assert Items().select_from(demo).seed == 0
    assert Items().select_from(demo).ids is None
    assert Items(seed=4).select_from(demo).seed == 4
