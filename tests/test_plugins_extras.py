"""Messages that name an extra give a command that works for the way casewise is installed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from functools import partial
from importlib.metadata import PackageNotFoundError

import pytest

from casewise import plugins


class Installed:
    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return json.dumps(self.origin) if self.origin else None


def test_a_path_in_the_current_folder_is_printed_in_its_short_form(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert plugins.relative_to_here(str(tmp_path / ".venv" / "bin" / "casewise")) == ".venv/bin/casewise"
    assert plugins.relative_to_here(str(tmp_path)) == "."
    assert plugins.relative_to_here(str(tmp_path / "casewise")) == "./casewise"
    assert plugins.relative_to_here("/opt/casewise") == "/opt/casewise"


INSTALLERS = {
    "pip": f"{sys.executable} -m pip install",
    "uv": f"uv pip install --python {sys.prefix}",
    "neither": f"{sys.executable} -m ensurepip && {sys.executable} -m pip install",
}
"""The beginning of a command by what the environment has."""


@pytest.fixture(params=INSTALLERS)
def installer(request, monkeypatch):
    monkeypatch.setattr(plugins, "find_spec", lambda name: request.param == "pip" or None)
    monkeypatch.setattr(plugins, "which", lambda name: f"/bin/{name}" if request.param == "uv" else None)
    return INSTALLERS[request.param]


@pytest.fixture
def command(monkeypatch):
    def for_origin(origin, *names):
        monkeypatch.setattr(plugins, "distribution", lambda name: Installed(origin))
        return plugins.install_command(*names)

    return for_origin


def test_a_clone_or_a_wheel_is_named_by_its_path_and_anything_else_by_its_name(command, installer, tmp_path):
    clone = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    wheel = tmp_path / "casewise 1.whl"
    wheel.write_bytes(b"")

    assert command(clone, "local", "adapter") == f"{installer} -e '{tmp_path}[local,adapter]'"
    assert command({"url": wheel.as_uri(), "archive_info": {}}, "web") == f"{installer} '{wheel}[web]'"
    wheel.unlink()
    for origin in (
        {},
        {"url": wheel.as_uri()},
        {"url": "https://example.org/casewise.git", "vcs_info": {"vcs": "git"}},
    ):
        assert command(origin, "web") == f"{installer} 'casewise[web]'"


def test_a_path_with_a_quotation_mark_is_one_word_of_the_command(command, tmp_path):
    clone = tmp_path / "reader's copy"
    clone.mkdir()

    assert shlex.split(command({"url": clone.as_uri()}, "web"))[-1] == f"{clone}[web]"


def test_uvx_is_called_anew(command, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/cache/archive-v0/x")

    assert command({}, "web") == "uvx --from 'casewise[web]' casewise"


def test_without_metadata_the_name_is_what_there_is(monkeypatch, installer):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(plugins, "distribution", missing)

    assert plugins.install_command("web") == f"{installer} 'casewise[web]'"


@pytest.mark.slow
def test_the_command_runs_in_this_environment_from_any_folder(tmp_path):
    """Whether pip or uv made it: `--help` reaches the installer of this environment."""
    run = partial(subprocess.run, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run(f"{plugins.add_command('casewise')} --help")

    assert (done.returncode, "install" in done.stdout.lower()) == (0, True), done.stderr


@pytest.mark.parametrize(("module", "extra"), [("uvicorn", "web"), ("torch.nn", "local"), ("json", None)])
def test_a_package_leads_to_the_extra_that_brings_it(module, extra):
    assert plugins.extra_with(module) == extra
