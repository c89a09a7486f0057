"""Contexts of actions: four for each, by a recipient and a purpose that are right or wrong."""

from __future__ import annotations

from functools import cache

from casewise.contexts.checks import Remark, Wording, is_identical_pair, is_same, wording_difference
from casewise.records import ParameterSet, Query

# An action has two reviewed texts: one where recipient and purpose are right, and one where both are wrong. They share every word
# but these two, so that the two contexts with one thing wrong are made of the same words.


VARIED = ("recipient", "transmission_principle")
"""The groups of parameters that are right in the one text and wrong in the other."""

RIGHT, WRONG_RECIPIENT, WRONG_PURPOSE, BOTH_WRONG = "right", "wrong_recipient", "wrong_purpose", "both_wrong"

CELLS = (RIGHT, WRONG_RECIPIENT, WRONG_PURPOSE, BOTH_WRONG)
"""The conditions of the four items of an action."""


def is_flow(query: Query, parameters: ParameterSet) -> bool:
    """Return whether contexts of this query are made as four: it is an action, and contexts state recipient and purpose."""
    return query.judged == "action" and set(VARIED) <= set(parameters.group_names)


@cache
def varied_parameters(parameters: ParameterSet) -> ParameterSet:
    """Return the parameters that differ between the two texts of an action."""
    groups = tuple(group for group in parameters.groups if group.name in VARIED)
    return ParameterSet(name=parameters.name, groups=groups)


def with_groups_of(right: Wording, wrong: Wording, parameters: ParameterSet, *groups: str) -> Wording:
    """Return the right text with these groups of the wrong one."""
    names = [name for name in parameters.names if name.partition(".")[0] in groups]
    other = wrong.fields()
    return Wording.from_fields(right.fields() | {name: other.get(name, "") for name in names}, parameters)


def texts_by_condition(right: Wording, wrong: Wording, parameters: ParameterSet) -> dict[str, Wording]:
    """Return the four texts of an action by condition."""
    return {
        RIGHT: right,
        WRONG_RECIPIENT: with_groups_of(right, wrong, parameters, "recipient"),
        WRONG_PURPOSE: with_groups_of(right, wrong, parameters, "transmission_principle"),
        BOTH_WRONG: wrong,
    }


def flow_remark(wording: Wording, other: Wording, parameters: ParameterSet) -> Remark | None:
    """Find that the two texts of an action differ in more than recipient and purpose, or in less."""
    if is_identical_pair(wording, other):
        return Remark(check="identical pair", message="The context of the other intent says the same.")
    pieces = wording_difference(other, wording, parameters)
    for name, difference in pieces.items():
        if name.partition(".")[0] not in VARIED and not is_same(difference):
            message = "This differs from the context of the other intent. Only the recipient and the purpose may."
            return Remark(check="not minimal", message=message, parameter=name)
    for group in VARIED:
        if all(is_same(pieces[name]) for name in pieces if name.partition(".")[0] == group):
            message = "This is the same in both contexts, so that a wrong one and a right one cannot be told apart."
            return Remark(
                check="not varied",
                message=message,
                parameter=next((name for name in pieces if name.startswith(group)), None),
            )
    return None
