import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from casewise.database.engine import CONNECTIONS_TO_SERVER

SERVED = """
import sys, uvicorn
from casewise.cli.app import main
uvicorn.run = lambda *_, **options: print(options["timeout_worker_healthcheck"], options["timeout_keep_alive"])
sys.argv = ["casewise", "serve", "--database", sys.argv[1]]
main()
"""
DEPLOY = Path(__file__).parents[2] / "deploy"
needs_deploy = pytest.mark.skipif(not DEPLOY.is_dir(), reason="the wheel is tested without the files for deploying")


@pytest.mark.slow
def test_slow_workers_and_proxies_are_waited_for(tmp_path):
    command = [sys.executable, "-c", SERVED, str(tmp_path / "x.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "There is no account yet" in done.stderr
    of_a_worker, of_a_connection = map(int, done.stdout.splitlines()[-1].split())
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
