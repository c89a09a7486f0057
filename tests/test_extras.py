"""Messages that name an extra give a command that works for the way casewise is installed."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from casewise import plugins


class Installed:
    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return json.dumps(self.origin) if self.origin else None


@pytest.fixture
def command(monkeypatch):
    def for_origin(origin, *names):
        monkeypatch.setattr(plugins, "distribution", lambda name: Installed(origin))
        return plugins.install_command(*names)

    return for_origin


def test_a_clone_or_a_wheel_is_named_by_its_path_and_anything_else_by_its_name(command, tmp_path):
    clone = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    wheel = tmp_path / "casewise 1.whl"
    wheel.write_bytes(b"")

    assert command(clone, "local", "adapter").endswith(f"install -e '{tmp_path}[local,adapter]'")
    assert command({"url": wheel.as_uri(), "archive_info": {}}, "web").endswith(f"install '{wheel}[web]'")
    wheel.unlink()
    for origin in (
        {},
        {"url": wheel.as_uri()},
        {"url": "https://example.org/casewise.git", "vcs_info": {"vcs": "git"}},
    ):
        assert command(origin, "web").endswith("install 'casewise[web]'")


@pytest.mark.parametrize(
    ("prefix", "pip", "begins"),
    [
        ("/venv", True, f"{shlex.quote(sys.executable)} -m pip install 'casewise"),
        ("/venv", False, "uv pip install --python /venv 'casewise"),
        ("/cache/archive-v0/x", False, "uvx --from 'casewise[web]' casewise"),
    ],
)
def test_the_installer_is_the_environments_own(command, monkeypatch, prefix, pip, begins):
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(plugins, "find_spec", lambda name: pip)

    assert command({}, "web").startswith(begins)


def test_without_metadata_the_name_is_what_there_is(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(plugins, "distribution", missing)

    assert plugins.install_command("web").endswith("install 'casewise[web]'")


@pytest.mark.parametrize(("module", "extra"), [("uvicorn", "web"), ("torch.nn", "local"), ("json", None)])
def test_a_package_leads_to_the_extra_that_brings_it(module, extra):
    assert plugins.extra_with(module) == extra
