"""The help of commands: the usual options, and every one."""

import re

import pytest
from tests.support.command import invoke

from casewise.cli.app import SECTIONS, app, show_docstring_as_help
from casewise.cli.help import MOST_SHOWN, USUAL


def options(text):
    return set(re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", text, re.MULTILINE))


def leaves(command, *above):
    inner = [name for name in command if not name.startswith("-")]
    return [leaf for name in inner for leaf in leaves(command[name], *above, name)] if inner else [above]


@pytest.fixture(scope="module")
def commands():
    names = [name for section in SECTIONS.values() for name in section]
    for name in names:
        show_docstring_as_help(name)
    return [leaf for name in names for leaf in leaves(app[name], name)]


def test_no_command_shows_more_options_than_a_screen_holds(commands):
    many = {" ".join(names): len(options(invoke(*names, "--help").out)) for names in commands}
    assert {name: number for name, number in many.items() if number > MOST_SHOWN} == {}


@pytest.mark.slow
@pytest.mark.parametrize("command", USUAL)
def test_what_is_left_out_is_shown_by_help_all(command):
    short, whole = (invoke(*command.split(), flag).out for flag in ("--help", "--help-all"))

    assert "--help-all shows every one" in short
    assert "--help-all" not in whole
    assert options(short) < options(whole)
    assert set(USUAL[command].split()) <= options(whole)
