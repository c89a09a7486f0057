"""From words on the command line of `casewise judge` to what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from casewise.errors import ConfigurationError
from casewise.records import ELICITATIONS, NO_CONTEXT, Arm, Elicitation

if TYPE_CHECKING:
    from casewise.judging.asking.prompts import ContextRole
    from casewise.models.http.prices import Prices
    from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["arms_of", "elicitations_of", "ids_of", "only", "prices_of", "role_of"]


def elicitations_of(text: str | None) -> tuple[Elicitation, ...]:
    """The elicitations that `--elicit` names.

    Raises
    ------
    ConfigurationError
        One of them is none.
    """
    names = [part.strip() for part in text.split(",")] if text else []
    known: dict[str, Elicitation] = {name: name for name in ELICITATIONS}
    for name in names:
        if name not in known:
            raise ConfigurationError(f"no elicitation is called {name!r}; there are {', '.join(ELICITATIONS)}")
    return tuple(known[name] for name in names)


def arms_of(*, no_context: bool, omit: Sequence[str] | None, ablate: str | None, named: str | None) -> tuple[Arm, ...]:
    """The arms that the options name together; none where they name none.

    Raises
    ------
    ConfigurationError
        One of them is no arm.
    """
    from casewise.judging.running.plan import ablation_arms

    arms = [Arm.named(name) for name in (named or "").split()]
    arms += [NO_CONTEXT] if no_context else []
    arms += [Arm(omitted=tuple(part.strip() for part in text.split(","))) for text in omit or ()]
    arms += ablation_arms(ablate) if ablate else ()
    return tuple(dict.fromkeys(arms))


def role_of(name: str) -> ContextRole:
    """Where the context goes, by `--context-role`.

    Raises
    ------
    ConfigurationError
        It is neither `user` nor `system`.
    """
    if name == "user":
        return "user"
    if name == "system":
        return "system"
    raise ConfigurationError(f"--context-role is {name!r}; it is user or system")


def prices_of(price_in: float | None, price_out: float | None) -> Prices | None:
    """The user's own prices, where both or neither are given.

    Raises
    ------
    ConfigurationError
        One is given without the other.
    """
    from casewise.models.http.prices import Prices

    if price_in is None and price_out is None:
        return None
    if price_in is None or price_out is None:
        raise ConfigurationError("give both --price-in and --price-out, in US dollars for a million tokens")
    return Prices(price_in, price_out)


def ids_of(benchmark: Benchmark, name: str | None) -> frozenset[str] | None:
    """The ids of the items in the subset that `--items` names; None where it names none."""
    if name is None:
        return None
    from casewise.auditing.subsets import subset

    return frozenset(item.id for item in subset(benchmark, name))


def only(elicitations: Sequence[Elicitation]) -> Elicitation | None:
    """The one elicitation that was named; None where none was.

    Raises
    ------
    ConfigurationError
        Several were.
    """
    if len(elicitations) > 1:
        raise ConfigurationError("--until-precise needs one elicitation: several have several accuracies")
    return elicitations[0] if elicitations else None
