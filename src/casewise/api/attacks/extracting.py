"""From what a deployer has to what is known of a context: rules for structured sources, a named model for text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from casewise.contexts.sources.by_model import extractor, text_rows
from casewise.contexts.sources.fhir import bundle_rows
from casewise.contexts.sources.mapped import read_mapping, staff_rows, token_rows
from casewise.errors import ConfigurationError, ModelError
from casewise.models.load import ModelOptions
from casewise.records import paper_parameters
from casewise.runs.estimate import CallEstimate
from casewise.runs.limits import Limits
from casewise.runs.made_texts import Maker, estimate_made, made_in, make_texts, spent_making, text_key
from casewise.runs.waiting import finished
from casewise.storage.files.atomic import read_text
from casewise.storage.files.jsonl import write_jsonl
from casewise.verifying.facts import ANYONE, SourcedFact
from casewise.verifying.known import KnownParameter, merged

__all__ = ["DeployersSources", "extract_context", "extracting_estimate", "extractor_asked"]


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
