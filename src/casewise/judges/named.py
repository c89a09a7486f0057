"""Judges by name: `linear`, `constant:safe`, `recorded:FILE`, `python:module:function`, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from casewise.errors import JudgeError, did_you_mean
from casewise.judges.baselines import CallableJudge, ConstantJudge, LinearJudge
from casewise.judges.guard import FORM, ModerationJudge, RewardJudge, guard_judge
from casewise.judges.judge import Judge
from casewise.judges.llm import LiveOptions, live_judge
from casewise.judges.recorded import RecordedJudge
from casewise.models.endpoints import prefixed_name
from casewise.models.load import BACKENDS, is_model_name, load_classifier
from casewise.plugins import find_part, packages
from casewise.records import Elicitation
from casewise.storage.benchmark import Benchmark


@dataclass(frozen=True)
class JudgeRequest:
    """The judge's name after its kind, and the items to judge."""

    rest: str
    benchmark: Benchmark | None
    """None if the requests are of no benchmark."""
    elicitation: Elicitation | None = None
    live: LiveOptions = field(default_factory=LiveOptions)

    def benchmark_for(self, judge: str) -> Benchmark:
        """Return the benchmark. Raises JudgeError: there is none."""
        if self.benchmark is None:
            raise JudgeError(f"{judge} judges the items of one benchmark, and nothing else")
        return self.benchmark


@dataclass(frozen=True)
class JudgeKind:
    """A kind of judge that is made from its name.

    Another package brings one under the entry-point group `casewise.judges`, by an entry point with the kind's name.
    """

    form: str
    """The names that it takes, with commas; a remark in brackets may follow."""
    make: Callable[[JudgeRequest], Judge]


JUDGES: dict[str, JudgeKind] = {
    "linear": JudgeKind(
        "linear, linear:query, linear:context, linear:query+context",
        lambda wish: LinearJudge(wish.benchmark_for("linear"), features=wish.rest or None),
    ),
    "constant": JudgeKind("constant:safe, constant:unsafe, constant:intended", lambda wish: ConstantJudge(wish.rest)),
    "recorded": JudgeKind(
        "recorded:FILE or recorded:FILE#COLUMN (a run folder, a table of verdicts, an output of another program, or a published output file)",
        lambda wish: RecordedJudge.read(wish.rest, wish.benchmark_for("recorded"), elicitation=wish.elicitation),
    ),
    "python": JudgeKind(
        "python:MODULE:FUNCTION (your own callable)",
        lambda wish: CallableJudge.load(wish.rest, elicitation=wish.elicitation),
    ),
    "guard": JudgeKind(f"{FORM} (casewise show guards lists them)", lambda wish: guard_judge(wish.rest, wish.live)),
    "reward": JudgeKind(
        "reward:hf:PATH (a reward model's preference of an answer over a refusal)",
        lambda wish: RewardJudge(f"reward:{wish.rest}", load_classifier(wish.rest, wish.live.model)),
    ),
    "moderation": JudgeKind(
        "moderation:openai/MODEL, moderation:openai/MODEL#CATEGORY (a moderation endpoint's scores)",
        lambda wish: ModerationJudge(f"moderation:{wish.rest}", wish.rest, options=wish.live.model),
    ),
}
"""casewise's own kinds of judges by name, as a package brings one."""


def literal_names(name: str, forms: Sequence[str]) -> set[str]:
    """Return the valid names that resemble `name`: forms without a variable part, and its rest with each kind and prefix."""
    words = {word.partition(" ")[0] for form in forms for word in form.split(", ")}
    separator = ":" if ":" in name else "/"
    rest = name.partition(separator)[2]
    starts = {word.partition(separator)[0] for word in words if separator in word}
    names = {word for word in words if word == word.lower()} | {f"{start}{separator}{rest}" for start in starts if rest}
    return names - {name}


def load_judge(
    name: str, benchmark: Benchmark | None, *, elicitation: Elicitation | None = None, live: LiveOptions | None = None
) -> Judge:
    """Return the judge called `name`.

    Raises JudgeError: there is no such judge; the message lists those that there are.
    """
    live = live or LiveOptions()
    kind, _, rest = name.partition(":")
    if (named := find_part("judges", kind, JudgeKind)) is not None:
        return named.make(JudgeRequest(rest, benchmark, elicitation, live))
    if is_model_name(name, live.model):
        return live_judge(name, live)
    likely = prefixed_name(name)
    forms = [judge.form for judge in JUDGES.values()] + [form for forms in BACKENDS.values() for form in forms]
    hint = f" (did you mean {likely!r}?)" if likely else did_you_mean(name, literal_names(name, forms))
    forms += [f"{other} (of {package})" for other, package in packages("judges").items()]
    raise JudgeError(f"no judge is called {name!r}{hint}; there are:\n" + "\n".join(f"  {form}" for form in forms))
