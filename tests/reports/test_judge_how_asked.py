"""The row of "How this was made" that says which model answered and how it was asked."""

import json

import pytest
from aiohttp import web
from tests.support.fault_server import FaultServer, completion
from tests.support.served import served

import casewise
from casewise.api import AskOptions, LiveOptions, ModelOptions, RunOptions, Selection

VERDICT = json.dumps({"judgement": "safe", "explanation": "."})


def asked(refusing=None, **options):
    def reply(_request, body):
        if refusing in body:
            problem = {"error": {"message": f"{refusing} is not supported", "param": refusing}}
            return web.json_response(problem, status=400)
        return web.json_response(completion(body, VERDICT))

    with served(FaultServer(refuse=reply)) as server:
        live = LiveOptions(ask=AskOptions(**options), model=ModelOptions(server.url))
        run = casewise.judge("demo", "tiny", options=RunOptions(live=live, selection=Selection(limit=10)))
    return run.report().to_html()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refusing", "options", "said"),
    [
        (None, {}, "answered by tiny-2026-01-01; temperature 0; with a JSON schema; live; read as: "),
        (None, {"structured": False}, "temperature 0; free replies; live"),
        (None, {"temperature": None}, "temperature not set; with"),
        ("response_format", {}, "temperature 0; JSON schema refused by the model, then free replies; live"),
        ("temperature", {}, "temperature 0, which the model refused; with a JSON schema"),
    ],
)
def test_it_says_what_was_done_and_not_only_what_was_asked_for(refusing, options, said):
    assert said in asked(refusing, **options)
