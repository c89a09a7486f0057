"""TODO"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from casewise.api.benchmarks import Source, as_benchmark
from casewise.api.evaluating import Displayed
from casewise.contexts.sources import (
    Forged,
    Forgery,
    bundle_rows,
    extractor,
    forge,
    read_mapping,
    staff_rows,
    text_rows,
    token_rows,
)
from casewise.errors import ConfigurationError, ModelError
from casewise.evaluate.verification import VerificationNumbers
from casewise.models.load import ModelOptions
from casewise.records import Arm, paper_parameters
from casewise.reports.verification import verification_page
from casewise.runs.limits import Limits, Watch, finished
from casewise.runs.run import CallEstimate
from casewise.runs.texts import Maker, estimate_made, made_in, make_texts, spent_making, text_key
from casewise.storage.files import read_jsonl, read_text, write_jsonl
from casewise.storage.load import write_benchmark
from casewise.transforms.catalogue import attacks_named
from casewise.transforms.verified import (
    ANYONE,
    KnownParameter,
    ModelStep,
    Policy,
    SourcedFact,
    check_verifier,
    classified,
    day,
    merged,
    read_facts,
    replied,
    rubric_maker,
)

__all__ = [
    "DeployersSources",
    "ForgedFiles",
    "Verification",
    "VerifyOptions",
    "extract_context",
    "extracting_estimate",
    "extractor_asked",
    "forge_contexts",
    "verifiers_asked",
    "verify_contexts",
    "verifying_estimate",
]


# From what a deployer has to what is known of a context: rules for structured sources, a named model for text.


@dataclass(frozen=True)
class DeployersSources:
    """What there is to extract from; sources named earlier here count before later ones."""

    staff: Path | None = None
    """A CSV of staff, with `mapping`."""
    token: Path | None = None
    """An identity token, with `mapping` and the `key` that verifies it."""
    mapping: Path | None = None
    key: Path | None = None
    fhir: Path | None = None
    """A FHIR bundle, R5 or R4B (extra `[health]`)."""
    texts: tuple[Path, ...] = ()
    """System prompts, notes, logs of chats, read by `model`."""
    model: str | None = None
    subject: str = ANYONE
    """The context that all of it is about, where a source does not say."""
    calls: Path = Path("runs/extracted")
    """The folder where the model's replies are kept, and found again."""
    reached: ModelOptions = field(default_factory=ModelOptions)
    limits: Limits = field(default_factory=Limits)
    command: str | None = None

    def structured(self) -> Iterator[KnownParameter]:
        """What the structured sources say, by rules."""
        if (self.staff or self.token) and self.mapping is None:
            raise ConfigurationError("a CSV of staff or a token needs --map, which says what its columns or claims are")
        if not (self.staff or self.token or self.fhir or self.texts):
            raise ConfigurationError("name a source: --staff, --token, --fhir or --text")
        if self.staff and self.mapping:
            yield from staff_rows(self.staff, read_mapping(self.mapping), subject=self.subject)
        if self.token and self.mapping:
            yield from token_rows(self.token, read_mapping(self.mapping), key=self.key, subject=self.subject)
        if self.fhir:
            yield from bundle_rows(self.fhir, subject=self.subject)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that are looked for: the paper's."""
        return paper_parameters().names

    def maker(self) -> Maker | None:
        """Who reads the texts; None where there are none.

        Raises
        ------
        ConfigurationError
            There are texts, and no model is named.
        """
        if not self.texts:
            return None
        if self.model is None:
            raise ConfigurationError("--text needs --model: what free text says of a context a model has to be asked")
        return extractor(self.model, self.names, self.reached)


def extract_context(
    sources: DeployersSources, out: str | Path, *, facts: str | Path | None = None
) -> tuple[KnownParameter, ...]:
    """Write what the sources know, a line a parameter, unknown ones too; and as facts where a file is named for them.

    Raises
    ------
    ConfigurationError, DataError
        A source cannot be read, a token is not verified, a model or mapping is not named.
    ModelError
        The model was stopped before it had read all.
    """
    rows = merged([*sources.structured(), *finished(read_by_model(sources))], sources.names)
    write_jsonl(Path(out), rows)
    if facts is not None:
        write_jsonl(
            Path(facts),
            [
                SourcedFact(subject=one.subject, field=one.parameter, value=one.value, source=one.source)
                for one in rows
                if one.value is not None
            ],
        )
    return rows


async def read_by_model(sources: DeployersSources) -> Sequence[KnownParameter]:
    maker = sources.maker()
    if maker is None:
        return ()
    texts = {path.name: read_text(path) for path in sources.texts}
    limits = sources.limits.less(spent_making(sources.calls, but=maker.name))
    try:
        summary = await make_texts(sources.calls, maker, texts.values(), limits=limits, command=sources.command)
    finally:
        await maker.loaded.model.close()
    if summary.stopped:
        raise ModelError(f"{maker.name} was stopped: {summary.stopped}; the same command goes on with what is left")
    made, rows = made_in(sources.calls), list[KnownParameter]()
    for name, text in texts.items():
        said = made[maker.name, text_key(text)].made
        if said is None:
            raise ModelError(f"{maker.name} gave nothing for {name}: {made[maker.name, text_key(text)].problem}")
        source = f"{name}, read by {sources.model}"
        rows += text_rows(text, said, sources.names, source=source, subject=sources.subject)
    return rows


def extracting_estimate(sources: DeployersSources) -> CallEstimate | None:
    """What the model would take; None where none is asked. Nobody is called."""
    maker = sources.maker()
    return None if maker is None else estimate_made(maker, [read_text(path) for path in sources.texts])


def extractor_asked(sources: DeployersSources) -> str | None:
    """Whom texts are sent to; None where they do not leave this machine."""
    maker = sources.maker()
    return None if maker is None else maker.loaded.model.sends_to


# Hold a benchmark's contexts against facts, and forge contexts to see how well that works.


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
