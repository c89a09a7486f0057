"""Messages that name an extra give a command that works for the way casewise is installed."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from casewise import extras


class Installed:
    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return json.dumps(self.origin) if self.origin else None


@pytest.fixture
def command(monkeypatch):
    def for_origin(origin, *names, prefix=sys.prefix):
        monkeypatch.setattr(extras, "distribution", lambda name: Installed(origin))
        monkeypatch.setattr(sys, "prefix", str(prefix))
        return extras.install_command(*names)

    return for_origin


def test_a_clone_is_named_by_its_path_and_stays_editable(command, tmp_path, monkeypatch):
    origin = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}

    assert command(origin, "web").endswith(f" install -e '{tmp_path}[web]'")
    monkeypatch.chdir(tmp_path)
    assert command(origin, "local", "adapter").endswith(" install -e '.[local,adapter]'")
    monkeypatch.chdir(tmp_path.parent)
    assert command(origin, "web").endswith(f" install -e './{tmp_path.name}[web]'")


def test_a_wheel_is_named_by_its_file_while_it_is_there(command, tmp_path):
    wheel = tmp_path / "casewise 1.whl"
    wheel.write_bytes(b"")

    assert command({"url": wheel.as_uri(), "archive_info": {}}, "web").endswith(f" install '{wheel}[web]'")
    wheel.unlink()
    assert command({"url": wheel.as_uri(), "archive_info": {}}, "web").endswith(" install 'casewise[web]'")


def test_a_repository_is_named_by_its_address(command):
    origin = {"url": "https://example.org/casewise.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}

    assert command(origin, "web").endswith(" install 'casewise[web] @ git+https://example.org/casewise.git'")


def test_from_an_index_the_name_is_enough(command):
    assert command({}, "web").endswith(" install 'casewise[web]'")


def test_without_metadata_the_name_is_what_there_is(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)

    assert extras.install_command("web").endswith(" install 'casewise[web]'")


def test_uvx_is_called_anew_and_a_tool_of_uv_installed_again(command, tmp_path):
    origin = {"url": tmp_path.as_uri(), "dir_info": {}}

    assert command(origin, "web", prefix=tmp_path / "archive-v0" / "x") == f"uvx --from '{tmp_path}[web]' casewise"
    assert command(origin, "web", prefix=tmp_path / "uv" / "tools" / "casewise") == f"uv tool install '{tmp_path}[web]'"


def test_an_environment_without_pip_is_named_to_uv(command, monkeypatch, tmp_path):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)

    assert command({}, "web", prefix=tmp_path) == f"uv pip install --python {tmp_path} 'casewise[web]'"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert command({}, "web", prefix=tmp_path) == "uv pip install 'casewise[web]'"


def test_pip_is_named_by_its_environment_unless_the_shell_finds_that_one(command, monkeypatch, tmp_path):
    monkeypatch.setattr("shutil.which", lambda name: "/elsewhere/bin/pip")
    assert command({}, "web") == f"{sys.executable} -m pip install 'casewise[web]'"
    monkeypatch.setattr("shutil.which", lambda name: str(tmp_path / "bin" / "pip"))
    assert command({}, "web", prefix=tmp_path) == "pip install 'casewise[web]'"


@pytest.mark.parametrize(("module", "extra"), [("uvicorn", "web"), ("torch.nn", "local"), ("json", None)])
def test_a_package_leads_to_the_extra_that_brings_it(module, extra):
    assert extras.extra_with(module) == extra
