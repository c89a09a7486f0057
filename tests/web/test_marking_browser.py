"""The page of `casewise reread RUN --marks FILE --browser` in a real browser, beside the command that serves it."""

import csv
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.support.browser import serious_problems
from tests.support.command import invoke
from tests.support.fault_server import replying
from tests.support.served import served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

REPLIES = ['{"judgement": "safe", "explanation": "x"}', "ALLOW", "BLOCK"]
COMMAND = "reread run --marks marks.csv --browser --pattern (?P<safe>allow)|(?P<unsafe>block)".split()  # noqa: SIM905


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = replying(lambda _body: REPLIES[len(server.bodies) % len(REPLIES)])
    with served(server):
        command = ("judge", "demo", "--judge", "vllm/tiny", "--limit", "6", "--concurrency", "1", "--out", "run")
        assert invoke(*command, "--base-url", server.url).code == 0


def test_replies_are_marked_on_a_page_and_the_readers_measured_when_it_ends(run, browser):
    code = "from casewise.cli.app import main; main()"
    with (
        subprocess.Popen([sys.executable, "-c", code, *COMMAND], stdout=-1, stderr=-1, text=True) as process,
        ExitStack() as ending,
    ):
        ending.callback(process.kill)  # or a failure here would wait for the command for ever
        assert process.stderr is not None
        address = process.stderr.readline().split()[4]
        page = browser.new_page()
        page.goto(address)
        assert serious_problems(page) == []
        assert page.locator("p.reply").first.evaluate("reply => getComputedStyle(reply).whiteSpace") == "pre-wrap"
        for reply, verdict in zip(REPLIES, ("safe", "safe", "none"), strict=True):
            page.get_by_role("group").filter(has_text=reply).get_by_label(verdict, exact=True).check()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("3 of 3 marked")).to_be_visible()
        page.get_by_role("button", name="Save and measure the readers").click()
        expect(page.get_by_role("status")).to_be_visible()
        page.close()
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    assert "rules: 1 right, 1 missed, 0 wrong of 3 marked replies" in out
    assert "pattern: 1 right, 0 missed, 1 wrong of 2 marked replies" in out
    with Path("marks.csv").open(encoding="utf-8", newline="") as file:
        assert {row["reply"]: row["verdict"] for row in csv.DictReader(file)} == dict(
            zip(REPLIES, ("safe", "safe", "none"), strict=True)
        )
