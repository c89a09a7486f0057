"""A study as it stands on disk: `study.toml`, its texts, its benchmark, and what was frozen; and rounds made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from casewise.errors import ConfigurationError, StudyError
from casewise.records.item import CONDITIONS, NO_CONTEXT_CONDITION
from casewise.records.translation import Translation
from casewise.storage import Benchmark, load_benchmark
from casewise.storage.files.atomic import read_text
from casewise.storage.files.strict_json import parse
from casewise.studies.design.cost import StudyEstimate, estimate
from casewise.studies.design.design import Contact, Design, read_design
from casewise.studies.design.freeze import (
    Departure,
    Frozen,
    Promise,
    departures,
    freeze,
    plain,
    read_frozen,
    write_frozen,
)
from casewise.studies.design.languages import LanguageCode
from casewise.studies.design.material import Material, collect, pilot_sample
from casewise.studies.design.presets import NOBODY, UNRELEASED, Preset, study_toml
from casewise.studies.design.replies import RatedThing
from casewise.studies.design.translating import (
    Translated,
    check_alike,
    read_translations,
    to_translate,
    translated_material,
    words_of,
)
from casewise.studies.design.wording import StudyWording, read_wording
from casewise.studies.running.rounds import NewRound, Phase, open_round

__all__ = [
    "StudyPlan",
    "freeze_plan",
    "init_study",
    "open_plan",
    "pilot_of",
    "read_plan",
    "rehearsal_of",
    "translations_wanted",
]


@dataclass(frozen=True)
class StudyPlan:
    """Everything that a round needs."""

    path: Path
    design: Design
    wording: StudyWording
    benchmark: Benchmark
    material: Material
    frozen: Frozen | None
    translated: Mapping[LanguageCode, Translated] = field(default_factory=dict)
    """The texts in the design's languages but the first."""

    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"<StudyPlan {self.design.name} {self.design.version}: {len(self.material.items):,} items{frozen}>"

    @property
    def estimate(self) -> StudyEstimate:
        """What the design needs and costs."""
        return estimate(self.design, self.material.ledger_items())

    @property
    def promise(self) -> Promise:
        """What freezing fixes, or has fixed."""
        return Promise(self.design, self.wording, self.material.items, self.translated)

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Where the study is no longer what was frozen; empty also where nothing was."""
        return departures(self.promise, self.frozen) if self.frozen else ()

    @property
    def problem(self) -> str | None:
        """Why people cannot be asked to take part in it as it is, or None."""
        blanks = self.design.contact.placeholders
        if blanks:
            return f"{self.path}: [contact] still has {' and '.join(blanks)}; people write to whoever stands there"
        return self.estimate.problem


def init_study(
    source: str,
    *,
    preset: Preset,
    name: str | None,
    path: Path,
    today: date,
    contact: Contact = NOBODY,
    rates: RatedThing = "requests",
) -> Design:
    """Write a first `study.toml` for the benchmark at `source`.

    Raises ConfigurationError: there is a file at `path` already; StudyError: the preset is for generated contexts, and
    the benchmark has none.
    """
    if path.exists():
        raise ConfigurationError(f"{path} exists; choose another place with --to")
    benchmark = load_benchmark(source)
    there = {item.condition for item in benchmark.items} | ({NO_CONTEXT_CONDITION} if rates == "requests" else set())
    conditions = [name for name in CONDITIONS if name in there] + sorted(there - set(CONDITIONS))
    if preset == "paper-rest":
        if missing := set(UNRELEASED) - there:
            raise StudyError(
                f"{source} has no items in {' and '.join(sorted(missing))}; generate contexts for its queries "
                "(casewise contexts select, generate, release --unreviewed) and name that release"
            )
        conditions = list(UNRELEASED)
    is_path = Path(source).exists()
    text = study_toml(
        preset,
        name=name or slug(benchmark.name),
        benchmark=str(Path(source).resolve()) if is_path else source,
        conditions=conditions,
        today=today,
        contact=contact,
        rates=rates,
    )
    path.write_text(text, encoding="utf-8")
    return read_design(path)


def slug(name: str) -> str:
    letters = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name.lower())
    return letters.strip("-")[:60] or "study"


def read_plan(path: Path) -> StudyPlan:
    """The study that `study.toml` at `path` describes.

    Raises ConfigurationError: a setting or a text is wrong; DataError: the benchmark cannot be read; StudyError: a
    condition has no item, or the frozen policy was tampered with.
    """
    design = read_design(path)
    inside = path.parent / design.benchmark
    benchmark = load_benchmark(inside if inside.exists() else design.benchmark)
    beside = frozen_path(path)
    frozen = None
    if beside.exists():
        frozen = read_frozen(parse(read_text(beside), path=beside), source=str(beside))
    translations = read_translations(path.parent / design.translations) if design.translations else []
    material = translated_material(design, collect(design, benchmark), translations)
    translated = {
        language: Translated(read_wording(design, path.parent, language), words_of(translations, language))
        for language in design.languages[1:]
    }
    wording = read_wording(design, path.parent)
    for language, there in translated.items():
        check_alike(wording, there.wording, language)
    return StudyPlan(path, design, wording, benchmark, material, frozen, translated)


def translations_wanted(path: Path, language: LanguageCode) -> list[Translation]:
    """Everything that is to be translated for the study at `path`, with what there is of it already."""
    design = read_design(path)
    inside = path.parent / design.benchmark
    material = collect(design, load_benchmark(inside if inside.exists() else design.benchmark))
    there = read_translations(path.parent / design.translations) if design.translations else []
    known = {one.of: one for one in there if one.language == language}
    return [known.get(one.of, one) for one in to_translate(design, material, language)]


def frozen_path(path: Path) -> Path:
    return path.with_suffix(".frozen.json")


def freeze_plan(plan: StudyPlan, *, at: datetime) -> Path:
    """Freeze the policy of a study; returns the file that keeps it. Freezing twice is an error."""
    if plan.problem:
        raise StudyError(plan.problem)
    path = frozen_path(plan.path)
    write_frozen(freeze(plan.promise, at=at), path)
    return path


def open_plan(connection: Connection, plan: StudyPlan, *, phase: Phase, now: datetime) -> str:
    """Open a round of `plan`; returns its id.

    Raises StudyError: the main round is not frozen yet, nobody can be asked to take part as it is, or it is there
    already.
    """
    if phase == "main" and plan.frozen is None:
        raise StudyError(f"{plan.path} is not frozen; fix what you promise first: casewise study freeze {plan.path}")
    if phase in {"main", "pilot"} and plan.problem:
        raise StudyError(plan.problem)
    new = NewRound(
        design=plan.design,
        phase=phase,
        wording=plan.wording,
        material=plan.material,
        translated=plan.translated,
        frozen=plain(plan.frozen) if plan.frozen else None,
    )
    return open_round(connection, new, now=now)


def pilot_of(plan: StudyPlan, *, queries: int, per_item: int) -> StudyPlan:
    """A small round of the same design: a few random queries in all conditions, each rated a few times."""
    rng = np.random.default_rng(plan.design.seed)
    ratings = plan.design.ratings.model_copy(update={"per_item": per_item})
    design = plan.design.model_copy(update={"ratings": ratings})
    return replace(plan, design=design, material=pilot_sample(plan.material, queries=queries, rng=rng), frozen=None)


def rehearsal_of(plan: StudyPlan, *, lease_s: float, stamp: str) -> StudyPlan:
    """The whole design with short leases, under a version of its own."""
    ratings = plan.design.ratings.model_copy(update={"lease_minutes": lease_s / 60})
    design = plan.design.model_copy(update={"ratings": ratings, "version": f"{plan.design.version} {stamp}"})
    return replace(plan, design=design, frozen=None)
