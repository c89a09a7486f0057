"""What a run asks and how a model is reached, from the words that people write for it."""

from __future__ import annotations

from collections.abc import Sequence

from casewise.errors import ConfigurationError, did_you_mean
from casewise.judging.asking.elicitation import AskOptions
from casewise.judging.asking.elicitations import HOW_ASKED
from casewise.judging.judges.live import LiveOptions, find_prompts
from casewise.judging.running.plan import Selection, ablation_arms
from casewise.models.http.client import ClientOptions
from casewise.models.http.prices import Prices
from casewise.models.http.retry import RetryPolicy
from casewise.models.load import ModelOptions
from casewise.models.local.loading import LocalOptions, RayOptions
from casewise.models.protocol import Reply
from casewise.records import ELICITATIONS, NO_CONTEXT, Arm, Elicitation, ParameterSet, Scored, ShownContext, Unscored
from casewise.runs.limits import Limits
from casewise.showing import arm_named
from casewise.showing.catalogue import of_its_file
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.record_columns import column_of_records

__all__ = [
    "Arm",
    "AskOptions",
    "ClientOptions",
    "Elicitation",
    "Limits",
    "LiveOptions",
    "LocalOptions",
    "ModelOptions",
    "Prices",
    "RayOptions",
    "RetryPolicy",
    "Selection",
    "arms_named",
    "elicitations_named",
    "ids_in",
    "messages",
    "read_reply",
]


def elicitations_named(given: str | Sequence[Elicitation] | None) -> tuple[Elicitation, ...]:
    """The elicitations that `given` names, with commas where it is a text.

    Raises
    ------
    ConfigurationError
        One of them is none.
    """
    names = given.split(",") if given and isinstance(given, str) else given or ()
    known: dict[str, Elicitation] = {name: name for name in ELICITATIONS}
    stripped = [name.strip() for name in names]
    for name in stripped:
        if name not in known:
            raise ConfigurationError(
                f"no elicitation is called {name!r}{did_you_mean(name, ELICITATIONS)}; there are {', '.join(ELICITATIONS)}"
            )
    return tuple(known[name] for name in stripped)


def arms_named(
    given: str | Arm | Sequence[Arm | str] | None = None,
    *,
    no_context: bool = False,
    omit: Sequence[str] = (),
    ablate: str | None = None,
    parameters: ParameterSet | None = None,
) -> tuple[Arm, ...]:
    """The arms that these name together, each once; none where they name none.

    Parameters
    ----------
    given
        Arms by name, with spaces: `full none without:recipient`. What goes by a file (`verified:FACTS`, `annotated:FACTS`,
        `known:FILE`, `checked:FILE`) is named with its digest, and what asks facts with today's day, or that of the
        verification which was written down.
    no_context
        The query alone.
    omit
        For each an arm without these parameters or groups, with commas.
    ablate
        The arms of an ablation: `groups` or `parameters`.
    parameters
        The benchmark's set of context parameters, for the ablation; the paper's by default.

    Raises
    ------
    ConfigurationError
        One of them is no arm.
    """
    every = given.split() if isinstance(given, str) else [given] if isinstance(given, Arm) else given or ()
    arms = [one if isinstance(one, Arm) else arm_named("+".join(map(of_its_file, one.split("+")))) for one in every]
    arms += [NO_CONTEXT] if no_context else []
    arms += [Arm.without(*(part.strip() for part in text.split(","))) for text in omit]
    arms += ablation_arms(ablate, parameters) if ablate else ()
    return tuple(dict.fromkeys(arms))


def ids_in(benchmark: Benchmark, name: str | None) -> frozenset[str] | None:
    """The ids of the items in the subset called `name`; None where there is no name.

    Raises
    ------
    ConfigurationError, BenchmarkError
        There is no such subset, or nothing in it.
    """
    if name is None:
        return None
    from casewise.auditing.subsets import subset  # and the whole audit

    return frozenset(column_of_records(subset(benchmark, name), "id"))


def messages(
    query: str, context: ShownContext, *, elicitation: Elicitation = "binary", prompts: str = "casewise"
) -> list[dict[str, str]]:
    """What a model is asked about a query in a context, as chat messages: for a client of your own.

    Parameters
    ----------
    context
        As a judge's function is given it; empty for none.
    prompts
        `casewise`, `published` (once fetched), or the path of a TOML file.

    Examples
    --------
    >>> asked = messages("How do I pick this lock?", {"recipient": {"type": "locksmith"}})
    >>> asked[0]["role"], "locksmith" in asked[0]["content"]
    ('user', True)
    """
    rendered = find_prompts(prompts).render(elicitation, query, context)
    return [{"role": message.role, "content": message.content} for message in rendered]


def read_reply(text: str, *, elicitation: Elicitation = "binary", strict: bool = False) -> Scored | Unscored:
    """What a model's reply comes to; without a verdict it is `Unscored`, with the reason. `strict` takes JSON only.

    Raises
    ------
    ConfigurationError
        The elicitation is not read from text: a probability is read from tokens, a scalar is a number already.

    Examples
    --------
    >>> read_reply('{"judgement": "safe"}').value
    1.0
    >>> read_reply("It depends.").reason.value
    'unparsed'
    """
    if elicitation not in ("binary", "score"):
        raise ConfigurationError(f"a {elicitation!r} is not read from a reply's text; binary and score are")
    return HOW_ASKED[elicitation].read(Reply(text, finish_reason="stop"), AskOptions(strict=strict)).outcome
