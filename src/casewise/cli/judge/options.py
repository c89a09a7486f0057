"""From words on the command line of `casewise judge` to what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from casewise.errors import ConfigurationError
from casewise.records import ELICITATIONS, NO_CONTEXT, Arm, Elicitation

if TYPE_CHECKING:
    from casewise.judging.judges.live import LiveOptions
    from casewise.models.http.prices import Prices
    from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["arms_of", "elicitations_of", "ids_of", "live_options", "only"]


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


def live_options(
    *,
    base_url: str | None,
    prompts: str,
    context_role: str,
    ask: tuple[float, int, int | None],
    prices: tuple[float | None, float | None],
    client: tuple[int, float, int],
    local: tuple[str, str, int],
    needs_key: bool,
) -> LiveOptions:
    """The options of `casewise judge` that speak of a model.

    Raises
    ------
    ConfigurationError
        The context's role is neither `user` nor `system`, or one price is given without the other.
    """
    from casewise.judging.asking.elicitation import AskOptions
    from casewise.judging.judges.live import LiveOptions
    from casewise.models.http.openai_compatible import ClientOptions
    from casewise.models.http.retry import RetryPolicy
    from casewise.models.local.local_options import LocalOptions

    if context_role not in ("user", "system"):
        raise ConfigurationError(f"--context-role is {context_role!r}; it is user or system")
    concurrency, timeout_s, retries = client
    return LiveOptions(
        base_url=base_url,
        prompts=prompts,
        context_role="user" if context_role == "user" else "system",
        ask=AskOptions(*ask),
        prices=prices_of(*prices),
        client=ClientOptions(concurrency, timeout_s, RetryPolicy(retries=retries)),
        local=LocalOptions(*local),
        needs_key=needs_key,
    )


def prices_of(price_in: float | None, price_out: float | None) -> Prices | None:
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
