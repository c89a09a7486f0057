"""A judge by what the user calls it: `linear`, `constant:safe`, `recorded:FILE`, `python:module:function`, …"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from casewise.errors import JudgeError, did_you_mean
from casewise.judges.baselines import CallableJudge, ConstantJudge
from casewise.judges.guard import FORM, ModerationJudge, guard_judge, reward_judge
from casewise.judges.judge import Judge
from casewise.judges.llm import LiveOptions, live_judge
from casewise.models.endpoints import with_prefix
from casewise.models.load import BACKENDS, names_model
from casewise.plugins import plugin, plugins
from casewise.records import Elicitation
from casewise.storage.benchmark import Benchmark


@dataclass(frozen=True)
class Wish:
    """What the user asked for: the judge's name after its kind, and what it is to judge."""

    rest: str
    benchmark: Benchmark | None
    """None where requests are judged that no benchmark holds."""
    elicitation: Elicitation | None = None
    live: LiveOptions = field(default_factory=LiveOptions)


def benchmark_of(wish: Wish, judge: str) -> Benchmark:
    if wish.benchmark is None:
        raise JudgeError(f"{judge} judges the items of one benchmark, and nothing else")
    return wish.benchmark


def linear(wish: Wish) -> Judge:
    from casewise.judges.baselines import LinearJudge

    return LinearJudge(benchmark_of(wish, "linear"), features=wish.rest or None)  # type: ignore[arg-type]  # checked there


def constant(wish: Wish) -> Judge:
    if wish.rest not in ("safe", "unsafe", "intended"):
        raise JudgeError(
            f"constant:{wish.rest}{did_you_mean(wish.rest, ('safe', 'unsafe', 'intended'))}: it can be constant:safe, constant:unsafe or constant:intended"
        )
    return ConstantJudge(wish.rest)  # type: ignore[arg-type]  # checked above


def recorded(wish: Wish) -> Judge:
    from casewise.judges.baselines import RecordedJudge

    return RecordedJudge.read(Path(wish.rest), benchmark_of(wish, "recorded"), elicitation=wish.elicitation)


def python(wish: Wish) -> Judge:
    return CallableJudge.named(wish.rest, elicitation=wish.elicitation)


def moderation(wish: Wish) -> Judge:
    return ModerationJudge.named(f"moderation:{wish.rest}", wish.rest, options=wish.live.model)


def guard(wish: Wish) -> Judge:
    return guard_judge(wish.rest, wish.live)


def reward(wish: Wish) -> Judge:
    return reward_judge(wish.rest, wish.live)


KINDS: dict[str, tuple[str, Callable[[Wish], Judge]]] = {
    "linear": ("linear, linear:query, linear:context, linear:query+context", linear),
    "constant": ("constant:safe, constant:unsafe, constant:intended", constant),
    "recorded": (
        "recorded:FILE (a run folder, a table of verdicts in CSV or JSON Lines, Inspect's .eval log, or a published output file)",
        recorded,
    ),
    "python": ("python:MODULE:FUNCTION (your own callable)", python),
    "guard": (f"{FORM} (casewise show guards lists them)", guard),
    "reward": ("reward:hf:PATH (a reward model's preference of an answer over a refusal)", reward),
    "moderation": (
        "moderation:openai/MODEL, moderation:openai/MODEL#CATEGORY (a moderation endpoint's scores)",
        moderation,
    ),
}
"""What there is: kind to what to write, and what makes it."""


def all_forms() -> str:
    """What one can write, a line each."""
    models = [form for backend in BACKENDS for form in backend.forms]
    own = [f"{judge.name} (of {judge.package})" for judge in plugins("judges")]
    return "\n".join(f"  {form}" for form in (*(form for form, _ in KINDS.values()), *models, *own))


def literal_names(wanted: str) -> set[str]:
    """What could have been meant by `wanted`: names that are written just so, and its own rest behind each kind and prefix."""
    forms = [form for form, _ in KINDS.values()] + [form for backend in BACKENDS for form in backend.forms]
    words = {word.partition(" ")[0] for form in forms for word in form.split(", ")}
    separator = ":" if ":" in wanted else "/"
    rest = wanted.partition(separator)[2]
    starts = {word.partition(separator)[0] for word in words if separator in word}
    meant = {word for word in words if word == word.lower()} | {f"{start}{separator}{rest}" for start in starts if rest}
    return meant - {wanted}


def judge_named(
    name: str, benchmark: Benchmark | None, *, elicitation: Elicitation | None = None, live: LiveOptions | None = None
) -> Judge:
    """The judge that `name` names.

    Raises JudgeError: there is no such judge; the message lists those that there are.
    """
    asked = live or LiveOptions()
    kind, _, rest = name.partition(":")
    make = KINDS[kind][1] if kind in KINDS else plugin("judges", kind)
    if make is not None:
        return make(Wish(rest, benchmark, elicitation, asked))
    if names_model(name, asked.model):
        return live_judge(name, asked)
    meant = with_prefix(name)
    hint = f" (did you mean {meant!r}?)" if meant else did_you_mean(name, literal_names(name))
    raise JudgeError(f"no judge is called {name!r}{hint}; there are:\n{all_forms()}")
