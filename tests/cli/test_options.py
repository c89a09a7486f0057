"""Arguments that several commands share."""

import io
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from cyclopts import App
from cyclopts.exceptions import ValidationError

from casewise.cli.options import (
    ASKED,
    BEFORE_RUN,
    COUNTED,
    FREE_TEXT,
    ITEMS,
    MACHINE,
    MODEL,
    MONEY,
    SPEED,
    WRITTEN,
    Share,
    given_options,
    options_group,
    values_by_name,
)
from casewise.errors import ConfigurationError


def run(hint, *tokens):
    """Return what a command with an option of this kind is given."""
    app = App(result_action="return_value", exit_on_error=False, print_error=False)

    def command(*, value):
        return value

    command.__annotations__["value"] = hint
    app.default(command)
    return app(["--value", *tokens])


@pytest.mark.parametrize(
    ("typed", "text"), [("plain", "plain"), ("- so", "- so"), ("--x", "--x"), ("-", "from a file")]
)
def test_a_text_is_as_typed_or_standard_input(monkeypatch, typed, text):
    monkeypatch.setattr(sys, "stdin", io.StringIO("  from a file\n"))

    assert run(Annotated[str, FREE_TEXT], typed) == text


@pytest.mark.parametrize("share", ["0", "0.25", "1"])
def test_a_share_lies_from_0_to_1(share):
    assert run(Share, share) == float(share)


@pytest.mark.parametrize("share", ["-0.1", "1.1"])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(ValidationError, match=r"[<>]="):
        run(Share, share)


def test_a_column_states_the_parameter_that_stands_behind_it():
    assert values_by_name(("Role=recipient.type", "a=b=c")) == {"Role": "recipient.type", "a": "b=c"}
    for text in ("Role", "=recipient.type", "Role="):
        with pytest.raises(ConfigurationError, match=f"--parameter is {text!r}; write COLUMN=group.parameter"):
            values_by_name((text,))


def test_a_group_of_options_has_a_heading_and_a_place():
    groups: Any = options_group("Cost", 4).group

    assert [(group.name, group.sort_key) for group in groups] == [("Cost", 4)]


@dataclass(frozen=True)
class Planned:
    from_: str | None = None
    per_item: int = 5
    seed: int = 0


def test_options_that_were_given_are_those_that_differ_from_their_defaults():
    assert given_options(Planned()) == []
    assert given_options(Planned(from_="pilot.csv", per_item=6)) == ["--from", "--per-item"]


def test_help_shows_the_groups_in_the_order_of_a_run():
    groups = [*map(heading, (ASKED, ITEMS, MODEL, MONEY, SPEED, MACHINE, BEFORE_RUN, COUNTED, WRITTEN))]

    assert [group.sort_key for group in groups] == [*range(1, 10)]


def heading(parameter: Any) -> Any:
    group: Any = parameter.group
    return group[0]
