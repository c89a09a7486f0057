import asyncio
import copy
import pickle
import traceback

import pytest
from aiohttp import web
from tests.models.test_client import ASK, QUICK, WORDS
from tests.support.fault_server import FaultServer, completion

from casewise.errors import CasewiseError, ConfigurationError
from casewise.models.client import ClientOptions
from casewise.models.endpoints import ENDPOINTS, ApiKey, ExtraOptions, find_endpoint, parse_model_name, read_key
from casewise.models.load import ModelOptions, load_model

SECRET = "sk-very-secret-0123456789"


def test_a_key_shows_itself_to_nobody():
    key = ApiKey(SECRET)

    assert SECRET not in f"{key} {key!r} {[key]}"
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(key)
    with pytest.raises(TypeError, match="not written"):
        copy.deepcopy(key)


def test_a_missing_key_names_its_variable():
    with pytest.raises(ConfigurationError, match="set the environment variable MISTRAL_API_KEY"):
        read_key(ENDPOINTS["mistral"], {})


def test_a_server_of_ones_own_needs_no_key():
    assert read_key(ENDPOINTS["vllm"], {}) is None


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown():
    with pytest.raises(ConfigurationError) as refused:
        read_key(ENDPOINTS["openai"], {"OPENAI_API_KEY": "sk-\nsecret\u00e9"})

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("address", ["http://me:secret@localhost/v1", "https://host/v1?key=secret"])
def test_an_address_with_a_secret_in_it_is_refused_without_showing_it(address):
    with pytest.raises(ConfigurationError) as refused:
        find_endpoint("openai/x", base_url=address, environment={})

    assert "secret" not in str(refused.value)


def echo(status):
    def refuse(request, body):
        message = f"the key {request.headers['Authorization']} is wrong"
        if status == 200:
            return web.json_response(completion(body, message))
        return web.json_response({"error": {"message": message}}, status=status)

    return refuse


def asked(status):
    """Ask a server that repeats the key."""

    async def go():
        async with FaultServer(refuse=echo(status)) as server:
            options = ModelOptions(server.url, client=ClientOptions(retry=QUICK))
            model = load_model("openai/tiny", options, environment={"OPENAI_API_KEY": SECRET}).model
            try:
                return model, server, await model.reply(ASK, WORDS)
            finally:
                await model.close()

    return asyncio.run(go())


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_a_server_that_repeats_the_key_does_not_get_it_into_an_error(status):
    with pytest.raises(CasewiseError) as raised:
        asked(status)

    assert SECRET not in "".join(traceback.format_exception(raised.value))
    assert "[key]" in str(raised.value)


def test_a_model_that_repeats_the_key_does_not_get_it_into_a_reply():
    model, server, reply = asked(200)

    assert server.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in f"{reply} {model.settings()} {vars(model)}"


# Further parts of each call.

DEPLOYED = ExtraOptions("2024-10-21", ("X-Team=TEAM_TOKEN",), ("top_k=20", 'provider={"order": ["a"]}', "mode=fast"))


def posted(extra):
    """The query, headers and body that a server gets, the model's settings, and what it says of the header's value."""
    seen = []

    def refuse(request, body):
        seen.append((dict(request.query), request.headers, body))
        return web.json_response(completion(body, f"safe {request.headers.get('X-Team')}"))

    async def go():
        async with FaultServer(refuse=refuse) as server:
            model = load_model(
                "vllm/tiny", ModelOptions(server.url, extra=extra), environment={"TEAM_TOKEN": SECRET}
            ).model
            try:
                return await model.reply(ASK, WORDS), model.settings()
            finally:
                await model.close()

    reply, settings = asyncio.run(go())
    return *seen[0], reply, settings


def test_a_call_has_the_version_the_headers_and_the_fields_that_were_asked_for():
    query, headers, body, _, _ = posted(DEPLOYED)

    assert query == {"api-version": "2024-10-21"}
    assert headers["X-Team"] == SECRET
    assert (body["top_k"], body["provider"], body["mode"]) == (20, {"order": ["a"]}, "fast")
    assert body["model"] == "tiny"


def test_the_value_of_a_header_is_neither_in_the_settings_nor_in_a_reply():
    *_, reply, settings = posted(DEPLOYED)

    assert SECRET not in f"{reply} {settings}"
    assert reply.text == "safe [key]"
    assert settings["headers"] == {"X-Team": "TEAM_TOKEN"}
    assert ExtraOptions.from_settings(settings).read({}, needs_key=False) == DEPLOYED.read({}, needs_key=False)


def test_without_further_parts_the_settings_are_those_of_any_call():
    *_, settings = posted(ExtraOptions())

    assert settings == {"model": "vllm/tiny", "base_url": "this machine"}


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        (ExtraOptions(header=("X-Team=sk-0123",)), "--header 'X-Team' is no NAME=VARIABLE"),
        (ExtraOptions(header=("X-Team",)), "is no NAME=VARIABLE"),
        (
            ExtraOptions(header=("X_Team=TOKEN",)),
            "--header 'X_Team' is no name of a header: letters, digits and hyphens",
        ),
        (ExtraOptions(header=("Authorization=TOKEN",)), "is set by casewise"),
        (ExtraOptions(header=("X-Team=NOBODY",)), "set the environment variable NOBODY to the header X-Team"),
        (ExtraOptions(body_field=("top_k",)), "it is NAME=VALUE"),
        (ExtraOptions(body_field=("temperature=1",)), "is set by --temperature"),
    ],
)
def test_a_part_that_cannot_be_sent_is_refused_before_a_call(extra, problem):
    with pytest.raises(ConfigurationError, match=problem) as refused:
        load_model("vllm/tiny", ModelOptions(extra=extra), environment={})

    assert "sk-0123" not in str(refused.value)


def test_a_model_on_this_machine_has_no_further_parts():
    with pytest.raises(ConfigurationError, match="for models behind an endpoint"):
        load_model("fake/x", ModelOptions(extra=DEPLOYED))


@pytest.mark.parametrize(
    ("name", "prefix", "model"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("openrouter/meta-llama/llama-3-70b", "openrouter", "meta-llama/llama-3-70b"),
        ("meta-llama/llama-3-70b", None, "meta-llama/llama-3-70b"),
        ("llama", None, "llama"),
    ],
)
def test_a_model_name_is_taken_apart(name, prefix, model):
    assert parse_model_name(name) == (prefix, model)


@pytest.mark.parametrize(
    ("name", "address", "environment", "base_url", "remote"),
    [
        ("nobody/x", "http://localhost:1/v1/", {}, "http://localhost:1/v1", False),
        ("openai/x", "http://127.0.0.1:8000/v1", {}, "http://127.0.0.1:8000/v1", False),
        ("openai/x", "http://[::1]:8000/v1", {}, "http://[::1]:8000/v1", False),
        ("openai/x", "http://192.168.1.4:8000/v1", {}, "http://192.168.1.4:8000/v1", True),
        ("openai/x", None, {}, "https://api.openai.com/v1", True),
        ("azure/x", None, {"AZURE_OPENAI_ENDPOINT": "https://mine.x/"}, "https://mine.x/openai/v1", True),
    ],
)
def test_an_endpoint_is_found_and_knows_whether_texts_leave_the_machine(name, address, environment, base_url, remote):
    endpoint = find_endpoint(name, base_url=address, environment=environment)

    assert (endpoint.base_url, endpoint.remote) == (base_url, remote)


@pytest.mark.parametrize(("name", "missing"), [("nobody/x", "--base-url"), ("azure/x", "AZURE_OPENAI_ENDPOINT")])
def test_an_address_that_is_missing_is_named(name, missing):
    with pytest.raises(ConfigurationError, match=missing):
        find_endpoint(name, base_url=None, environment={})
