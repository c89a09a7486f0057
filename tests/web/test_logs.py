import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import Command

from casewise.web.logs import JsonLines

BEGUN = """
import logging.config
from casewise.web.logs import log_config
logging.config.dictConfig(log_config())
logging.getLogger("casewise.web").info("begun")
"""
DEPLOY = Path(__file__).parents[2] / "deploy"


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


def test_the_configuration_names_a_formatter_that_logging_finds():
    # In a process of its own: configuring closes every handler there is, the test runner's too.
    said = subprocess.run([sys.executable, "-c", BEGUN], capture_output=True, text=True, check=True).stderr

    assert json.loads(said.splitlines()[-1])["message"] == "begun"


def test_another_format_is_refused(monkeypatch, capsys):
    said = Command(monkeypatch, capsys)("serve", "--log-format", "xml")

    assert said.code == 2
    assert "text or json" in said.err


@pytest.mark.skipif(not DEPLOY.is_dir(), reason="the wheel is tested without the files for deploying")
def test_the_compose_file_starts_the_app_as_the_command_line_knows_it_behind_a_proxy_with_a_backup():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]

    assert set(services) == {"proxy", "app", "database", "backup"}
    assert services["app"]["command"][0] == "serve"
    assert "casewise backup" in services["backup"]["command"][0]
    assert "${COPIES:-2}" in str(services["app"]["deploy"]["replicas"])
    assert "wheel" in (DEPLOY / "Dockerfile").read_text()
