import re
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.command import invoke as run

from casewise import database
from casewise.cli.serve import free_port, kind_of
from casewise.database.staff import Role, has_no_active_people, open_invitation
from casewise.errors import ConfigurationError

CONTACT = ("--researcher", "Ada", "--institution", "A school", "--email", "ada@school.net")


def test_the_first_administrator_is_invited_at_the_command_line(tmp_path):
    path = tmp_path / "x.db"

    result = run("invite", "root@example.org", "--role", "administrator", "--database", path)

    found = re.fullmatch(r"http://127\.0\.0\.1:8000/join/(\S+)\n", result.output)
    assert found is not None, result.output
    opened = database.open(str(path))
    with opened.read() as connection:
        invitation = open_invitation(connection, found[1], now=datetime.now(UTC))
        assert has_no_active_people(connection)
    opened.close()
    assert invitation is not None
    assert invitation.roles == {Role.ADMINISTRATOR}


def test_the_key_is_kept_beside_the_database_for_its_owner_alone(tmp_path):
    run("invite", "root@example.org", "--role", "administrator", "--database", tmp_path / "x.db")

    assert (tmp_path / "x.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "is not an e-mail address"),
        (["a@b"], "at least one role"),
        (["a@b", "--role", "king"], "no role is called"),
    ],
)
def test_a_wrong_invitation_is_explained(arguments, says, tmp_path):
    result = run("invite", *arguments, "--database", tmp_path / "x.db")

    assert result.code == 2
    assert says in result.err


def test_several_workers_need_a_database_server(tmp_path):
    result = run("serve", "--workers", 2, "--database", tmp_path / "x.db")

    assert result.code == 2
    assert "postgresql" in result.err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_served_study_ends_with_a_signal_also_where_a_shell_started_it_in_the_background(number, tmp_path):
    run("study", "init", "demo", "--to", tmp_path / "study.toml", *CONTACT)
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "casewise", "serve"]
    served = subprocess.Popen([*command, tmp_path / "study.toml"], stdout=subprocess.PIPE)
    assert served.stdout is not None
    assert b"Look at http://127.0.0.1" in served.stdout.readline()
    served.send_signal(number)

    assert b"Nothing was kept" in served.communicate(timeout=60)[0]
    assert served.returncode == 0


@pytest.mark.parametrize(
    ("what", "kind"),
    [((), "app"), (("d.json",), "decider"), (("s.toml",), "study"), (("run",), "runs"), (("a", "b"), "runs")],
)
def test_what_is_served_follows_from_what_is_named(what, kind):
    assert kind_of(tuple(map(Path, what))) == kind


@pytest.mark.parametrize("what", [("a.json", "b.json"), ("s.toml", "t.toml"), ("a.json", "run")])
def test_one_thing_at_a_time_is_served_but_for_runs(what):
    with pytest.raises(ConfigurationError, match="casewise serve opens one thing at a time"):
        kind_of(tuple(map(Path, what)))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("serve --timeout 3", "--timeout does not apply to the web app"),
        ("serve --fail ask", "--fail does not apply to the web app"),
        ("serve d.json --workers 2", "--workers does not apply to a decider"),
        ("serve run --without-keys", "--without-keys does not apply to runs"),
        ("serve s.toml --only x", "--only does not apply to a study"),
        ("serve run --host 0.0.0.0", "runs listens on 127.0.0.1 only; leave --host out"),
        ("serve s.toml --host 0.0.0.0", "a study listens on 127.0.0.1 only; leave --host out"),
    ],
)
def test_an_option_of_another_kind_is_refused(words, problem):
    done = run(*words.split())

    assert (done.code, done.err) == (2, f"error: {problem}\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_that_another_program_uses_is_refused(host):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        taken.bind((host, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen on {host}:{port}: Address already in use; choose"):
            free_port(host, port)
    assert free_port(host, port) == port
