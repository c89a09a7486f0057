"""Models by the names that users give, with their prices and options."""

import asyncio
from dataclasses import replace

import pytest

from casewise.errors import ConfigurationError
from casewise.models.endpoints import ExtraOptions
from casewise.models.load import ModelOptions, is_model_name, load_classifier, load_model, second_model_options
from casewise.models.local import LocalOptions
from casewise.models.prices import FREE, Prices
from casewise.models.protocol import FakeModel, Model
from casewise.models.wire import probe

KEYS = {"OPENAI_API_KEY": "sk-x"}


@pytest.mark.parametrize(
    ("name", "options", "is_model"),
    [
        ("openai/gpt-4o", ModelOptions(), True),
        ("hf:./model", ModelOptions(), True),
        ("inspect:mockllm/model", ModelOptions(), True),
        ("fake/anything", ModelOptions(), True),
        ("gpt-4o", ModelOptions(), False),
        ("nobody/gpt-4o", ModelOptions(), False),
        ("gpt-4o", ModelOptions("http://localhost:9/v1"), True),
    ],
)
def test_a_name_speaks_of_a_model_by_its_prefix_or_where_an_address_is_given(name, options, is_model):
    assert is_model_name(name, options) == is_model


@pytest.mark.parametrize(
    ("name", "options", "prices"),
    [
        ("fake/rehearsal", ModelOptions(prices=Prices(9, 9)), FREE),
        ("vllm/tiny", ModelOptions(), FREE),
        ("openai/gpt-4o", ModelOptions(prices=Prices(1, 2)), Prices(1, 2)),
        ("openai/no-such-model-at-all", ModelOptions(), None),
    ],
)
def test_a_model_comes_with_what_it_costs(name, options, prices):
    loaded = load_model(name, options, environment=KEYS)
    asyncio.run(loaded.model.close())

    assert isinstance(loaded.model, Model)
    assert loaded.model.name == name
    assert loaded.prices == prices


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("nobody/x", ModelOptions(), "no endpoint is known for the model 'nobody/x'"),
        ("openai/x", ModelOptions(), "OPENAI_API_KEY"),
        ("openai/x", ModelOptions("ftp://here"), "is not the address of a server"),
        ("fake/other", ModelOptions(fakes={"fake/one": lambda *_: "yes"}), "there are fake/one"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_why(name, options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        load_model(name, options, environment={})


def test_a_key_is_not_missed_where_nobody_will_be_called():
    loaded = load_model("openai/x", ModelOptions(needs_key=False), environment={})

    assert loaded.model.sends_to == "api.openai.com"


def test_a_rehearsal_that_answers_every_elicitation_says_so_when_it_is_tried():
    assert asyncio.run(probe(FakeModel())).top_logprobs == 2


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("fake/x", ModelOptions(batch=True), "fake/x cannot be used over a batch interface; remove --batch"),
        (
            "fake/x",
            ModelOptions(extra=ExtraOptions(api_version="1")),
            "are for models behind an endpoint, and fake/x is not one",
        ),
        (
            "fake/x",
            ModelOptions(local=LocalOptions(adapter="a")),
            "--adapter works only with hf: models, and fake/x is not one",
        ),
        ("openai/x", ModelOptions(local=LocalOptions(adapter="a")), "and openai/x is not one"),
        ("gguf:nowhere.gguf", ModelOptions(), "there is no file 'nowhere.gguf'"),
    ],
)
def test_an_option_that_a_model_cannot_have_is_refused(name, options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        load_model(name, options, environment=KEYS)


def test_a_classifier_is_one_that_is_run_here():
    with pytest.raises(
        ConfigurationError, match="'openai/x' is not a classifier that casewise can run; their names begin with hf:"
    ):
        load_classifier("openai/x")


@pytest.mark.parametrize(("name", "discount"), [("openai/gpt-4o", 0.5), ("groq/openai/gpt-oss-20b", 0.25)])
def test_the_discount_of_batches_is_taken_off_the_list_price(name, discount):
    full, batch = (load_model(name, ModelOptions(needs_key=False, batch=batch)).prices for batch in (False, True))

    assert full is not None
    assert batch == full.discounted(discount)
    given = load_model(name, ModelOptions(prices=Prices(1, 2), needs_key=False, batch=True))
    assert given.prices == Prices(1, 2)


def test_an_unlisted_model_has_no_price_in_batches_either():
    assert load_model("openai/no-such-model", ModelOptions(needs_key=False, batch=True)).prices is None


FIRST = ModelOptions(
    "http://localhost:9/v1",
    Prices(1, 2),
    extra=ExtraOptions(api_version="1"),
    local=LocalOptions(adapter="a", device="cpu"),
    batch=True,
)
OTHER = ModelOptions(local=LocalOptions(device="cpu"))


@pytest.mark.parametrize(
    ("name", "first", "options"),
    [
        ("vllm/a", "vllm/a", replace(FIRST, batch=False)),
        ("vllm/a", "", replace(FIRST, batch=False)),
        ("a", "vllm/b", replace(FIRST, batch=False)),
        ("openai/a", "vllm/b", OTHER),
        ("hf:a", "vllm/b", OTHER),
        ("vllm/a", "vllm/b", replace(OTHER, base_url=FIRST.base_url, prices=FIRST.prices, extra=FIRST.extra)),
    ],
)
def test_a_second_model_has_of_the_first_what_is_its_own_too(name, first, options):
    assert second_model_options(name, first, FIRST) == options


def test_a_second_model_of_the_same_provider_has_prices_of_its_own_without_an_address():
    first = replace(FIRST, base_url=None)

    assert second_model_options("openai/a", "openai/b", first) == replace(OTHER, extra=FIRST.extra)
