"""Roles and permissions: whether a policy lets the role that facts give a recipient ask about a category of query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError, DataError
from casewise.records import Context
from casewise.storage.files.atomic import read_text
from casewise.verifying.facts import Facts
from casewise.verifying.structured import HeldClaim, subjects_of

__all__ = ["ROLE", "Permission", "Policy"]

ROLE = "recipient.role"
"""The field of a fact that says who a recipient is, for a policy."""

MODEL = """[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = g(r.sub, p.sub) && keyMatch(r.obj, p.obj) && keyMatch(r.act, p.act)
"""


@dataclass(frozen=True)
class Permission:
    """What a policy says of one context."""

    context_id: str
    role: str | None
    """By a fact about `recipient.role`, or by the one that supports `recipient.type`; None where no fact says."""
    category: str
    allowed: bool | None
    """None where the role is not known: that is never taken for forbidden."""
    rule: str
    """The line that decided; empty where none allows it."""

    @property
    def flagged(self) -> bool:
        """Whether the role is known and may not ask this."""
        return self.allowed is False


class Policy:
    """A pycasbin policy file: `p, ROLE, CATEGORY, ask, allow` or `deny` a line, `g, ROLE, GROUP` for roles within others.

    A category may end with `*`. What no line allows is forbidden, and a line that denies counts before all that allow.

    Raises ConfigurationError: the extra `[verify]` is not installed. DataError: the file cannot be read, or a line is
    no rule.
    """

    def __init__(self, path: Path) -> None:
        try:
            from casbin import Enforcer
            from casbin.model import Model
            from casbin.persist.adapters import FileAdapter
        except ImportError as error:
            raise ConfigurationError(f"a policy needs pycasbin: pip install 'casewise[verify]' ({error})") from error
        check_lines(path)
        model = Model()
        model.load_model_from_text(MODEL)
        self._enforcer: Any = Enforcer(model, FileAdapter(str(path)))

    def of(self, context: Context, held: Iterable[HeldClaim], category: str, *, facts: Facts, at: date) -> Permission:
        """Whether the recipient of a context may ask a query of this category."""
        role = role_of(context, held, facts, at)
        if role is None:
            return Permission(context.id, None, category, None, "")
        allowed, rule = self._enforcer.enforce_ex(role, category, "ask")
        return Permission(context.id, role, category, bool(allowed), ", ".join(rule))


def role_of(context: Context, held: Iterable[HeldClaim], facts: Facts, at: date) -> str | None:
    stated = (one for one in facts.about(subjects_of(context)) if one.field == ROLE and one.holds(at))
    supports = (
        one.fact
        for one in held
        if one.fact is not None and one.status == "supported" and one.claim.parameter == "recipient.type"
    )
    fact = next(stated, None) or next(supports, None)
    return None if fact is None else str(fact.value)


WIDTHS = {"p": (5,), "g": (3,)}


def check_lines(path: Path) -> None:
    for number, line in enumerate(read_text(path).splitlines(), 1):
        parts = [part.strip() for part in line.partition("#")[0].split(",")]
        if parts == [""]:
            continue
        if len(parts) not in WIDTHS.get(parts[0], ()) or (parts[0] == "p" and parts[4] not in ("allow", "deny")):
            raise DataError(
                path, number, "is no rule: write 'p, ROLE, CATEGORY, ask, allow' (or deny), or 'g, ROLE, GROUP'"
            )
