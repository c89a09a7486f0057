import json
import logging
import logging.config
import sys
from pathlib import Path

import pytest
from tests.support.command import Command

from casewise.web.logs import JsonLines, log_config

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


def test_the_configuration_names_a_formatter_that_logging_finds(capsys):
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        logging.config.dictConfig(log_config())
        logging.getLogger("casewise.web").info("begun")
    finally:
        for handler in root.handlers[:]:
            root.removeHandler(handler)
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(level)

    assert json.loads(capsys.readouterr().err.splitlines()[-1])["message"] == "begun"


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
