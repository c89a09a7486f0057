import json

import pytest
from tests.support.command import invoke
from tests.support.fault_server import FaultServer
from tests.support.served import served

from casewise.models.endpoints import Endpoint


@pytest.fixture
def casewise():
    def run(*words, code=0):
        said = invoke(*words)
        assert said.code == code, said.err
        return said

    return run


FAKE = ("judge", "demo", "--judge", "fake/rehearsal")


def test_a_run_ends_with_one_document(casewise):
    said = json.loads(casewise(*FAKE, "--elicit", "binary,score,probability", "--out", "run", "--json").out)

    assert {"run", "n_items", "n_calls", "n_judged", "n_unscored", "seconds", "calls_per_second"} <= set(said)
    assert {"input_tokens", "output_tokens", "cost_usd", "resumed"} <= set(said)
    assert (said["n_items"], said["n_calls"], said["n_judged"]) == (90, 270, 270)


def test_arms_repeats_and_a_sample_are_asked_for_together(casewise):
    words = ("--ablate", "parameters", "--no-context", "--omit", "sender,recipient", "--sample", "10", "--repeats", "2")
    said = json.loads(casewise(*FAKE, *words, "--seed", "3", "--out", "run", "--json").out)

    assert said["n_items"] == 10
    assert said["n_judged"] == 10 * 11 * 2


def test_a_dry_run_calls_nobody_and_needs_no_key(casewise):
    words = ("judge", "demo", "--judge", "openai/gpt-4o", "--elicit", "binary", "--no-context", "--dry-run", "--json")
    said = json.loads(casewise(*words).out)

    assert (said["n_asks"], said["n_calls"]) == (90, 45)
    assert 0 < said["cost_usd"] < said["cost_at_most_usd"] < 1


@pytest.mark.slow
def test_a_connection_is_tested_with_one_call(casewise):
    with served(FaultServer()) as server:
        words = ("judge", "demo", "--judge", "vllm/tiny", "--base-url", server.url, "--test-connection")
        said = casewise(*words).out

    assert len(server.bodies) == 1
    assert "asks no model" in casewise("judge", "demo", "--judge", "linear", "--test-connection", code=2).err
    assert "logprobs:     yes" in said
    assert "temperature:  yes" in said


@pytest.mark.slow
def test_leave_is_asked_once_for_each_provider(casewise, monkeypatch):
    monkeypatch.setattr(Endpoint, "remote", property(lambda self: True))
    with served(FaultServer()) as server:
        words = ("judge", "demo", "--judge", "vllm/tiny", "--base-url", server.url, "--limit", "1", "--price-in", "1")
        refused = casewise(*words, "--price-out", "1", code=2)
        assert "harmful by design, to 127.0.0.1" in refused.err
        assert "--yes" in refused.err
        assert not server.bodies
        casewise(*words, "--price-out", "1", "--yes")
        casewise(*words, "--price-out", "1", "--temperature", "1", "--out", "other")

    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--elicit", "guess"), "no elicitation is called 'guess'"),
        (("--ablate", "all"), "--ablate is 'all'"),
        (("--ablate", "groups", "--ablate", "parameters"), "--ablate is given more than once"),
        (("--omit", "weather"), "no parameter of a context is called 'weather'"),
        (("--omit", "type"), "called 'type' (did you mean 'recipient.type'?)"),
        (("--context-role", "tool"), '"tool" for --context-role'),
        (("--prompts", "nowhere.toml"), "no prompts are called 'nowhere.toml'"),
        (("--prompts", "published"), "casewise data fetch casebench --prompts"),
        (("--price-in", "3"), "--price-out is missing"),
        (("--category", "Nothing"), "no category is called 'Nothing'"),
        (("--judge", "mistral/large"), "variable MISTRAL_API_KEY"),
        (("--judge", "nonsense"), "no judge is called 'nonsense'"),
        (("--judge", "constant:safe", "--test-connection"), "--test-connection takes one --judge"),
    ],
)
def test_a_wrong_option_is_named(casewise, words, problem):
    said = casewise(*FAKE, *words, code=2).err

    assert problem in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_doctor_says_what_is_set_and_shows_no_key(casewise, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    text, found = casewise("doctor").out, json.loads(casewise("doctor", "--json").out)

    assert "OPENAI_API_KEY is set" in text
    assert "sk-very-secret" not in text + json.dumps(found)
    assert found["versions"]["casewise"]
    assert {extra["name"] for extra in found["extras"]} == {
        "web",
        "local",
        "inspect",
        "adapter",
        "tiny",
    }


@pytest.mark.slow
def test_doctor_sees_which_servers_answer(monkeypatch):
    from casewise.share import checkup

    with served(FaultServer()) as server:
        here = Endpoint("here", server.url)
        gone = Endpoint("gone", "http://127.0.0.1:9/v1")
        monkeypatch.setattr(checkup, "ENDPOINTS", {"here": here, "gone": gone})
        found = checkup.checkup({}, reach=True)

    assert {one["name"]: one["reachable"] for one in found["endpoints"]} == {"here": True, "gone": False}


@pytest.mark.slow
def test_several_prompts_are_one_run_each_and_a_report_says_how_much_the_wording_matters(casewise, tmp_path):
    own = tmp_path / "polite.toml"
    own.write_text(
        'name = "polite"\nversion = "1"\n[binary]\nwith_context = "Please.\\n{context}\\n{query}\\nAnswer safe or unsafe."\n',
        encoding="utf-8",
    )
    casewise(*FAKE, "--elicit", "binary", "--prompts", "casewise", "--prompts", str(own), "--out", "both")
    found = json.loads(casewise("report", "both/casewise", "both/polite", "--json").out)

    (wordings,) = found["wordings"]
    assert [name.partition(" ")[0] for name in wordings["wordings"]] == ["casewise", "polite"]
    accuracies = [accuracy["estimate"] for accuracy in wordings["accuracies"]]
    assert wordings["spread"]["mean"]["estimate"] == pytest.approx(sum(accuracies) / 2)
    assert wordings["spread"]["deviation"] is None  # asked once: chance in the answers is not known


def test_an_attack_takes_one_wording(casewise):
    said = casewise("attack", *FAKE[1:], "--prompts", "casewise", "--prompts", "bridge", code=2).err

    assert "one wording at a time" in said
