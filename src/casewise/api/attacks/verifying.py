"""Hold a benchmark's contexts against facts, and forge contexts to see how well that works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from casewise.api.benchmarks import Source, as_benchmark
from casewise.api.displayed import Displayed
from casewise.contexts.forging import Forged, Forgery, forge
from casewise.errors import ModelError
from casewise.evaluation.robustness.verification import VerificationNumbers
from casewise.models.load import ModelOptions
from casewise.records import Arm
from casewise.reporting.robustness.verification import verification_page
from casewise.runs.estimate import CallEstimate
from casewise.runs.limits import Limits
from casewise.runs.made_texts import estimate_made, make_texts, spent_making
from casewise.runs.progress import Watch
from casewise.runs.waiting import finished
from casewise.showing.catalogue import attacks_named
from casewise.storage.benchmarks.folder import write_benchmark
from casewise.storage.files.jsonl import read_jsonl, write_jsonl
from casewise.verifying.by_model import ModelStep, check_verifier, classified, replied, rubric_maker
from casewise.verifying.facts import day, read_facts
from casewise.verifying.permissions import Policy

__all__ = [
    "ForgedFiles",
    "Verification",
    "VerifyOptions",
    "forge_contexts",
    "verifiers_asked",
    "verify_contexts",
    "verifying_estimate",
]


class Verification(VerificationNumbers, Displayed):
    """What facts say of a benchmark's contexts."""

    laid_out = staticmethod(verification_page)


@dataclass(frozen=True)
class ForgedFiles:
    """Where a benchmark of forgeries lies, with its facts and the truth."""

    folder: Path
    facts: Path
    truth: Path
    forged: Forged


@dataclass(frozen=True)
class VerifyOptions:
    """What decides besides the structured step, and how its models are asked."""

    verifiers: tuple[str, ...] = ()
    """`hf:PATH` and `rubric:MODEL`, in the order in which they are asked."""
    policy: str | Path | None = None
    """A pycasbin policy of what a role may ask."""
    attacks: str = ""
    """Attacks whose claims verifiers are asked about too, so that arms that go by this have them decided."""
    calls: str | Path = "runs/verified"
    """The folder where replies of `rubric:` models are kept, and found again."""
    model: ModelOptions = field(default_factory=ModelOptions)
    limits: Limits = field(default_factory=Limits)
    watch: Watch | None = None
    command: str | None = None


def verify_contexts(
    benchmark: Source,
    facts: str | Path,
    *,
    at: date | str | None = None,
    truth: str | Path | None = None,
    options: VerifyOptions = VerifyOptions(),
) -> Verification:
    """Hold every claim of every context against facts.

    Parameters
    ----------
    facts
        A file with a fact a line.
    at
        The day on which they are asked; today by default.
    truth
        What was forged, as `forge_contexts` writes it: then precision and recall are known.

    Raises
    ------
    DataError
        A line of a file is no fact; the message names it.
    """
    known = tuple(read_jsonl(Path(truth), Forgery)) if truth is not None else ()
    policy = None if options.policy is None else Policy(Path(options.policy))
    loaded = as_benchmark(benchmark)
    attacks = attacks_named(options.attacks, loaded.parameters) if options.attacks else ()
    arms = tuple(Arm(transforms=(one,)) for one in attacks)
    found = Verification(loaded, read_facts(Path(facts)), day(at), known, policy=policy, attacks=arms)
    for name in map(check_verifier, options.verifiers):
        step = finished(asked_of(name, found.open_pairs, options))
        found = replace(found, model_steps=(*found.model_steps, step))
    return found


async def asked_of(name: str, pairs: Sequence[str], options: VerifyOptions) -> ModelStep:
    if name.startswith("hf:"):
        return await classified(name, pairs, options.model)
    within, maker = Path(options.calls), rubric_maker(name, options.model)
    try:
        limits = options.limits.less(spent_making(within, but=name))
        summary = await make_texts(within, maker, pairs, limits=limits, watch=options.watch, command=options.command)
    finally:
        await maker.loaded.model.close()
    if summary.stopped:
        raise ModelError(f"{name} was stopped: {summary.stopped}; the same command goes on with what is left")
    return replied(within, name, pairs)


def verifying_estimate(found: Verification, options: VerifyOptions) -> dict[str, CallEstimate]:
    """What `rubric:` models would be asked at most, by name: each all that the structured step left open. Nobody is called."""
    rubrics = [one for one in map(check_verifier, options.verifiers) if one.startswith("rubric:")]
    return {name: estimate_made(rubric_maker(name, options.model), found.open_pairs) for name in rubrics}


def verifiers_asked(options: VerifyOptions) -> tuple[str, ...]:
    """Whom facts and claims are sent to."""
    rubrics = [one for one in map(check_verifier, options.verifiers) if one.startswith("rubric:")]
    makers = [rubric_maker(name, options.model) for name in rubrics]
    return tuple(dict.fromkeys(to for one in makers if (to := one.loaded.model.sends_to) is not None))


def forge_contexts(
    benchmark: Source,
    out: str | Path,
    *,
    parameter: str = "recipient.type",
    at: date | str | None = None,
    seed: int = 0,
) -> ForgedFiles:
    """Write a benchmark of forgeries with known truth, and facts that know better or do not, into a new folder.

    Raises
    ------
    ConfigurationError, BenchmarkError
        There is no such parameter, no pair differs in it, or the folder holds something else.
    """
    folder = Path(out)
    made = forge(as_benchmark(benchmark), parameter=parameter, at=day(at), seed=seed)
    write_benchmark(made.benchmark, folder)
    files = ForgedFiles(folder, folder / "facts.jsonl", folder / "truth.jsonl", made)
    write_jsonl(files.facts, made.facts)
    write_jsonl(files.truth, made.truth)
    return files
