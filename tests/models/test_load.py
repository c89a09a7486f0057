import asyncio

import pytest

from casewise.errors import ConfigurationError
from casewise.models.load import ModelOptions, is_model_name, load_model
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
