"""Option groups: a command takes objects, typer sees their fields."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from casewise.cli.commands import with_groups


@dataclass(frozen=True)
class Limits:
    most: Annotated[float | None, typer.Option("--most", help="At most.")] = None
    names: Annotated[list[str] | None, typer.Option("--name", help="Of whom.")] = None


@dataclass(frozen=True)
class Key:
    key: Annotated[str, typer.Option("--key", help="Needed.")]


def program(seen):
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_groups
    def work(
        *, what: Annotated[str, typer.Argument(help="What.")], limits: Limits, loud: bool = False, key: Key
    ) -> None:
        """Work."""
        seen.append((what, limits, loud, key))

    return app


def test_a_command_is_given_its_groups_as_objects():
    seen: list[object] = []

    result = CliRunner().invoke(program(seen), ["it", "--most", "2.5", "--name", "a", "--name", "b", "--key", "k"])

    assert result.exit_code == 0, result.output
    assert seen == [("it", Limits(2.5, ["a", "b"]), False, Key("k"))]


def test_what_is_not_given_has_the_groups_default():
    seen: list[object] = []

    CliRunner().invoke(program(seen), ["it", "--loud", "--key", "k"])

    assert seen == [("it", Limits(), True, Key("k"))]


def test_a_field_without_a_default_is_an_option_that_is_needed():
    result = CliRunner().invoke(program([]), ["it"])

    assert result.exit_code == 2
    assert "--key" in result.output


def test_the_help_lists_the_fields_where_the_group_stands():
    said = CliRunner().invoke(program([]), ["--help"]).stdout

    places = [said.index(name) for name in ("--most", "--name", "--loud", "--key")]
    assert places == sorted(places)
    assert "Work." in said


@pytest.mark.parametrize("broken", [["it", "--most", "much", "--key", "k"]])
def test_a_value_of_the_wrong_type_is_refused_as_any_options_is(broken):
    assert CliRunner().invoke(program([]), broken).exit_code == 2
