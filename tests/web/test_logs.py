import json
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import invoke

from casewise.database.engine import CONNECTIONS_TO_SERVER
from casewise.web.pages import JsonLines

BEGUN = """
import logging.config
from casewise.web.pages import log_config
logging.config.dictConfig(log_config())
logging.getLogger("casewise.web").info("begun")
"""
SERVED = """
import sys, uvicorn
from casewise.cli.app import main
uvicorn.run = lambda *_, **options: print(options["timeout_worker_healthcheck"], options["timeout_keep_alive"])
sys.argv = ["casewise", "serve", "--log-format", "json", "--database", sys.argv[1]]
main()
"""
DEPLOY = Path(__file__).parents[2] / "deploy"
needs_deploy = pytest.mark.skipif(not DEPLOY.is_dir(), reason="the wheel is tested without the files for deploying")


def test_a_failure_is_one_line_of_json_with_its_traceback():
    try:
        int("two\nlines")
    except ValueError:
        record = logging.LogRecord("casewise.web", logging.ERROR, __file__, 1, "a %s", ("page\n",), sys.exc_info())

    line = JsonLines().format(record)

    said = json.loads(line)
    assert "\n" not in line
    assert (said["level"], said["logger"], said["message"]) == ("error", "casewise.web", "a page\n")
    assert said["traceback"].startswith("Traceback")


@pytest.mark.slow
def test_the_configuration_names_a_formatter_that_logging_finds():
    # In a process of its own: configuring closes every handler there is, the test runner's too.
    said = subprocess.run([sys.executable, "-c", BEGUN], capture_output=True, text=True, check=True).stderr

    assert json.loads(said.splitlines()[-1])["message"] == "begun"


def test_another_format_is_refused():
    said = invoke("serve", "--log-format", "xml")

    assert said.code == 2
    assert 'Choose from: "text", "json"' in said.err


@pytest.mark.slow
def test_all_that_serve_says_before_it_serves_is_json_too_and_slow_workers_are_waited_for(tmp_path):
    command = [sys.executable, "-c", SERVED, str(tmp_path / "x.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert [json.loads(line)["level"] for line in done.stderr.splitlines()] == ["info", "warning"]
    of_a_worker, of_a_connection = map(int, done.stdout.split())
    assert of_a_worker >= 30
    assert of_a_connection > 120  # Caddy keeps its own as long


@needs_deploy
@pytest.mark.parametrize(
    ("address", "logged"),
    [
        ("/join/a-token", "/join/"),
        ("/join/a-token?next=1", "/join/"),
        ("/study/1?PROLIFIC_PID=2", "/study/1"),
        ("/people", "/people"),
    ],
)
def test_the_proxy_logs_no_address_that_lets_somebody_in(address, logged):
    pattern = re.search(r'request>uri regexp "(.+)" "\$1"', (DEPLOY / "Caddyfile").read_text())

    assert pattern is not None
    assert re.sub(pattern[1], r"\1", address) == logged


@needs_deploy
@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs Caddy")
def test_caddy_takes_its_file(tmp_path):
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]

    subprocess.run(command, env={"SITE": "study.localhost", "HOME": str(tmp_path)}, check=True, capture_output=True)


@needs_deploy
def test_the_compose_file_starts_the_app_as_the_command_line_knows_it_behind_a_proxy_with_a_backup():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]

    assert set(services) == {"proxy", "app", "database", "backup"}
    assert services["app"]["command"][0] == "serve"
    assert "casewise backup" in services["backup"]["command"][0]
    assert "${COPIES:-2}" in str(services["app"]["deploy"]["replicas"])
    assert "wheel" in (DEPLOY / "Dockerfile").read_text()
    assert connections_allowed(services["database"]["command"]) >= 2 * 2 * CONNECTIONS_TO_SERVER + 20


def connections_allowed(command):
    return int(command[-1].removeprefix("max_connections="))
