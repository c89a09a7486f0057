"""What of an installation works: packages, extras, keys, endpoints and data."""

import asyncio

import pytest
from tests.support.public_benchmarks import write_files

from casewise.models.endpoints import ENDPOINTS, Endpoint
from casewise.share import checkup
from casewise.share.checkup import EXTRAS, fetched_state, key_state, known_version, reachable
from casewise.storage.loaders.loader import Loader
from casewise.storage.loaders.public import CASEBENCH, PROMPTS, own_loaders
from casewise.storage.loaders.twin import TWIN


@pytest.mark.parametrize(
    ("endpoint", "environment", "state"),
    [
        (Endpoint("a", "http://a"), {}, "needs no key"),
        (Endpoint("a", "http://a", key_variable="KEY"), {}, "KEY is not set"),
        (Endpoint("a", "http://a", key_variable="KEY"), {"KEY": " "}, "KEY is not set"),
        (Endpoint("a", "http://a", key_variable="KEY"), {"KEY": "sk"}, "KEY is set"),
        (Endpoint("a", "http://a", key_variable="KEY", key_optional=True), {}, "KEY may be set"),
        (Endpoint("a", "http://a", key_variable="KEY", key_optional=True), {"KEY": "sk"}, "KEY is set"),
    ],
)
def test_a_key_is_set_may_be_set_or_is_not_needed(endpoint, environment, state):
    assert key_state(endpoint, environment) == state


def test_packages_have_versions_and_extras_name_those_that_are_missing(monkeypatch):
    monkeypatch.setitem(EXTRAS, "made", ("numpy", "no-such-package"))
    found = checkup.checkup({})

    assert found["versions"]["numpy"] == known_version("numpy") != "not installed"
    assert known_version("no-such-package") == "not installed"
    assert {each["name"]: each["missing"] for each in found["extras"]}["made"] == ["no-such-package"]
    assert "python" in found["versions"]


def test_endpoints_are_named_with_their_address_and_nothing_is_reached_unasked():
    found = {each["name"]: each for each in checkup.checkup({})["endpoints"]}

    assert set(found) == {endpoint.name for endpoint in ENDPOINTS.values()}
    assert {each["reachable"] for each in found.values()} == {None}
    assert all(found[endpoint.name]["address"] == endpoint.base_url for endpoint in ENDPOINTS.values())


def test_an_address_that_is_a_pattern_is_not_reached():
    endpoints = [Endpoint("pattern", "{address}/v1"), Endpoint("gone", "http://127.0.0.1:9/v1")]
    assert asyncio.run(reachable(endpoints)) == {"gone": False}


def test_data_that_are_not_here_are_named_with_the_command_that_fetches_them():
    assert checkup.checkup({})["data"] == [
        "casebench is not here; get it with: casewise data fetch casebench",
        "casebench_twin is made by casewise and loads: 900 items",
        "casebench-prompts is not here; get it with: casewise data fetch casebench --prompts",
    ]


def placed(loader: Loader, files) -> Loader:
    for file in loader.files:
        target = loader.cache_path(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[file.name].read_bytes())
    return loader


def test_data_that_are_here_load_or_say_why_they_do_not(tmp_path):
    unpinned = own_loaders()["dices_350"]
    placed(unpinned, write_files(unpinned, tmp_path))
    damaged = placed(CASEBENCH, write_files(CASEBENCH, tmp_path))

    assert fetched_state(unpinned) == f"dices_350 is at {unpinned.cache_path(unpinned.files[0])} and loads: 2 items"
    assert f"casebench is at {damaged.cache_path(damaged.files[0])} and does not load: " in fetched_state(damaged)
    assert fetched_state(TWIN) == "casebench_twin is made by casewise and loads: 900 items"


def test_prompts_that_are_damaged_do_not_load():
    path = CASEBENCH.cache_path(PROMPTS)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("damaged")
    assert f"casebench-prompts is at {path} and does not load: " in checkup.prompts_state()
