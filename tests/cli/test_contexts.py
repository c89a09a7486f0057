import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import invoke as run
from tests.support.fault_server import FaultServer
from tests.support.served import served

from casewise.errors import ExitCode
from casewise.models.endpoints import Endpoint
from casewise.records import sorry_bench


@pytest.fixture
def queries(tmp_path):
    names = sorry_bench().names
    with (tmp_path / "trades.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "category"])
        rows.writerows([f"How would trade {n} get round rule {n * 7}?", names[n % 2]] for n in range(8))
        rows.writerow(["how would trade 0 get round rule 0", names[0]])
    return tmp_path / "trades.csv"


def test_from_queries_to_a_checked_draft(queries):
    selected = run("contexts", "select", queries, "--per-category", 3, "--seed", 1)
    generated = run("contexts", "generate", "trades", "--model", "fake/contexts")
    checked = run("contexts", "check", "trades", "--json")

    assert selected.out == "trades: 6 queries in 2 categories\n"
    assert "the file has no query in 43 categories: " in selected.err
    assert "left out, again" in selected.err
    assert generated.out == "12 contexts generated, 0 failed, in 12 calls\n"
    assert json.loads(checked.out)["contexts"] == 12
    assert json.loads(checked.out)["review"]["progress"]["generated"] == 12


def test_what_was_left_out_is_said_in_short_and_whole_as_json(capsys):
    said = run("contexts", "select", "demo", "--queries-only", "--per-category", 2)
    whole = json.loads(
        run("contexts", "select", "demo", "--queries-only", "--draft", "again", "--per-category", 2, "--json").out
    )

    assert len(said.output.splitlines()) == 7
    assert "and 42 more like the last" in said.err
    assert len(whole["short"]) == whole["categories"] == 45
    assert whole["duplicates"] == []


def test_the_card_of_a_release_names_the_model_and_the_prompt_that_wrote_it(generated):
    result = run("contexts", "release", generated, "--unreviewed", "--version", "1.0.0", "--out", "out")
    assert "warning: fake/contexts made up contexts" in result.err

    card = Path("out/DATA_CARD.md").read_text()
    assert re.search(r"\n- fake/contexts \(rehearsal-1\), prompt \S+: 16 contexts, \d{4}-\d\d-\d\d", card), card


def test_what_failed_says_why_and_how_to_go_on(queries):
    run("contexts", "select", queries)

    result = run("contexts", "generate", "trades", "--model", "fake/misbehaving", "--attempts", 1)

    assert "failed" in result.out
    assert "--which failed" in result.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "nothing"], "no draft"),
        (["select", "nothing.csv"], "nothing.csv"),
        (["generate", "trades", "--model", "nobody"], "nobody"),
        (["generate", "trades", "--model", "fake/contexts", "--which", "all"], "which"),
        (["generate", "trades", "--model", "fake/contexts", "--intents", "good"], "good"),
        (["release", "trades", "--version", "1.0.0"], "16 missing"),
    ],
)
def test_a_wrong_wish_is_explained(queries, arguments, says):
    run("contexts", "select", queries)

    result = run("contexts", *arguments)

    assert result.code == 2, result.output
    assert says in result.err


@pytest.fixture
def provider(monkeypatch):
    """A server on loopback that passes for a provider elsewhere."""
    monkeypatch.setattr(Endpoint, "remote", property(lambda self: True))
    with served(FaultServer()) as server:
        yield server


@pytest.fixture
def generated(queries):
    run("contexts", "select", queries)
    run("contexts", "generate", "trades", "--model", "fake/contexts")
    return "trades"


def asking(server, command, *more):
    name = "--model" if command == "generate" else "--ask"
    return run("contexts", command, "trades", name, "vllm/tiny", "--model-url", server.url, *more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "what"), [("generate", "the draft's queries"), ("check", "the draft's queries and contexts")]
)
def test_nothing_harmful_is_sent_before_the_person_agrees(generated, provider, command, what):
    refused = asking(provider, command, "--which", "new") if command == "generate" else asking(provider, command)

    assert refused.code == 2
    assert f"This sends {what}, which are harmful by design, to 127.0.0.1" in refused.err
    assert "--yes" in refused.err
    assert provider.bodies == []


@pytest.mark.slow
def test_leave_given_to_one_command_holds_for_the_others(queries, provider):
    run("contexts", "select", queries)
    agreed = asking(provider, "generate", "--attempts", 1, "--yes")
    later = asking(provider, "generate", "--attempts", 1)

    assert (agreed.code, later.code) == (ExitCode.NOTHING_SCORED, ExitCode.NOTHING_SCORED)
    assert len(provider.bodies) == 32


@pytest.mark.slow
def test_consent_that_cannot_be_asked_for_ends_with_2(queries, tmp_path, provider):
    run("contexts", "select", queries)
    code = "from casewise.cli.app import main; main()"
    words = ["contexts", "generate", "trades", "--model", "openai/gpt-4o"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "OPENAI_API_KEY": "sk-anything"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: This sends the draft's queries, which are harmful by design, to api.openai.com"
    )


def test_opinions_keep_to_a_budget(generated, provider):
    prices = ("--price-in", 1000, "--price-out", 1000)
    done = asking(provider, "check", "--yes", *prices, "--max-cost", 0.001, "--out", "opinions")

    assert done.code == ExitCode.STOPPED, done.output
    assert "stopped: the cost limit of $0.001" in done.err
    assert provider.bodies == []


def test_generating_keeps_to_a_budget(queries, provider):
    run("contexts", "select", queries)
    done = asking(provider, "generate", "--yes", "--max-tokens-total", 100)

    assert done.code == ExitCode.STOPPED, done.output
    assert "stopped: the limit of 100 tokens" in done.err
    assert provider.bodies == []


@pytest.mark.parametrize("command", ["generate", "check"])
def test_a_dry_run_says_what_it_would_take_and_calls_nobody(queries, provider, command):
    run("contexts", "select", queries)
    if command == "check":
        run("contexts", "generate", "trades", "--model", "fake/contexts")
    prices = ("--price-in", 1, "--price-out", 2)
    said = asking(provider, command, "--dry-run", *prices)
    counted = json.loads(asking(provider, command, "--dry-run", *prices, "--json").out)

    assert said.out.startswith("vllm/tiny: 16 calls")
    assert "cost: about $" in said.out
    assert counted["n_calls"] == 16
    assert counted["cost_usd"] < counted["cost_at_most_usd"]
    assert provider.bodies == []


def test_a_dry_run_of_rules_alone_is_refused(generated):
    assert run("contexts", "check", "trades", "--dry-run").code == 2


@pytest.mark.slow
def test_opinions_are_kept_in_a_run_folder_and_asked_for_once(generated, provider):
    first = asking(provider, "check", "--yes")
    again = asking(provider, "check")

    assert (first.code, again.code) == (0, 0), (first.output, again.output)
    assert len(provider.bodies) == 16
    assert "vllm/tiny was asked about 16 contexts (16 in earlier sessions)" in again.err
    assert len(Path("runs/trades-opinions-vllm-tiny/opinions.jsonl").read_text().splitlines()) == 16


@pytest.mark.parametrize(("given", "stdin"), [("- as agreed", ""), ("-", "- as agreed\n")])
def test_a_reason_may_begin_with_a_hyphen_or_come_from_standard_input(queries, given, stdin, monkeypatch):
    run("contexts", "select", queries)
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    text = Path(queries).read_text().splitlines()[1].rsplit(",", 1)[0]

    said = run("contexts", "withdraw", "trades", text, "--reason", given, "--json")

    assert said.code == 0, said.output
    assert json.loads(said.out)["reason"] == "- as agreed"
