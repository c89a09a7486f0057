"""Studies from the command line."""

from __future__ import annotations

import time
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from cyclopts.types import NormFloat, PositiveInt
from cyclopts.validators import Number

from casewise import api
from casewise.cli.options import DatabaseOption, FormatOption, PhaseOption, SiteOption
from casewise.cli.printing import (
    DocumentOptions,
    as_json,
    confirmed,
    note,
    print_estimate,
    print_json,
    print_monitor,
    print_overview,
    say,
)
from casewise.errors import StudyError

if TYPE_CHECKING:
    from casewise.web.load_test import Rehearsed

# `casewise study rehearse` and `simulate`: a study tried out on simulated people.


app = App(name="study")

STUDY = Path("study.toml")

StudyArgument = Annotated[Path, Parameter(help="The study's TOML file.", name="STUDY")]
StudyOption = Annotated[Path, Parameter(help="The study's TOML file.")]


@app.command
def rehearse(
    study: StudyArgument = STUDY,
    /,
    *,
    url: str | None = None,
    annotators: PositiveInt = 100,
    careless: NormFloat = 0.1,
    dropout: NormFloat = 0.15,
    at_once: PositiveInt = 16,
    lease: Annotated[float, Parameter(validator=Number(gte=1))] = 15,
    until_full: Annotated[bool, Parameter(negative="--no-until-full")] = True,
    seed: int = 1,
    database: DatabaseOption = None,
) -> None:
    """Send simulated people through the real pages. Nothing of it counts in the study.

    Parameters
    ----------
    url
        Where `casewise serve` answers on the same database; else one is started.
    annotators
        Simulated people in the first wave.
    careless
        Share who press at random.
    dropout
        Share who leave in the middle.
    at_once
        How many are on the pages at once.
    lease
        Seconds until slots of those who left re-open.
    until_full
        Send more people until every item has its ratings.
    seed
        Of the simulated people.
    """
    from casewise.web.load_test import RehearsalOptions, rehearse_study  # an extra

    wanted = RehearsalOptions(
        annotators=annotators,
        careless=careless,
        dropout=dropout,
        at_once=at_once,
        lease_s=lease,
        until_full=until_full,
        seed=seed,
    )
    print_rehearsal(rehearse_study(study, wanted, url=url, database=database))


def print_rehearsal(done: Rehearsed) -> None:
    result = done.result
    speed = {
        "steps": len(result.latencies_s),
        "steps_per_s": round(result.steps_per_s, 1),
        "p50_ms": round(result.percentile_ms(50), 1),
        "p99_ms": round(result.percentile_ms(99), 1),
    }
    if as_json():
        seen = {**asdict(done.overview), "exact": done.overview.exact, "people": done.people}
        print_json({**seen, "outcomes": dict(result.outcomes), "for_nothing": done.for_nothing, **speed})
        return
    print_overview(done.overview)
    print(
        f"{done.people:,} simulated people: " + ", ".join(f"{n} {what}" for what, n in sorted(result.outcomes.items()))
    )
    print(f"{done.for_nothing:.1%} of those who arrived passed the quiz and found no place")
    print(
        f"{speed['steps']:,} full steps (answer and next page), {speed['steps_per_s']} a second; "
        f"median {speed['p50_ms']} ms, p99 {speed['p99_ms']} ms"
    )
    if not isnan(result.slowdown):
        print(f"the last thousand steps took {result.slowdown:.2f} times as long as the first")


@app.command
def simulate(
    *,
    design: Path,
    out: Path | None = None,
    repeat: int | None = None,
    seed: int = 0,
    form: FormatOption = None,
) -> None:
    """Try a design on a simulated crowd, before a cent is spent.

    Parameters
    ----------
    design
        TOML with [simulation.safe_rates], and [simulation] and [crowd] if wanted.
    out
        Write one study's ratings here (.csv or .parquet).
    repeat
        Repeat the study so often, and report what each analysis is worth.
    seed
        What the crowd is drawn from.
    """
    plan = api.simulation_plan(design)
    if out is not None or repeat is None:
        table = api.simulated_table(plan, seed=seed)
        place = out or Path("simulated-ratings.csv")
        api.write_ratings(table, place)
        note(f"{len(table):,} ratings by {table['annotator_id'].n_unique():,} simulated annotators: {place}")
        note(f"next: casewise study report {place}")
    if repeat is None:
        return
    found = api.simulate_studies(plan, repeats=repeat, seed=seed)
    parts: dict[str, Any] = {"repeats": repeat, "seed": seed, "contrasts": found.contrasts, "tasks": found.tasks}
    DocumentOptions(form=form).present(api.Look(api.simulation_page(found), api.plain(parts)))


# `casewise study report`.


@app.command
def report(
    ratings: str,
    /,
    *,
    out: Path = Path("study-report"),
    contrast: tuple[str, ...] = (),
    category: tuple[str, ...] = (),
    flow: Path | None = None,
    margin: float | None = None,
    alpha: float | None = None,
    correction: str | None = None,
    labels: str | None = None,
    ties: str | None = None,
    exclude: str | None = None,
    judge: tuple[Path, ...] = (),
    crossed: bool = False,
    seed: int = 0,
    form: FormatOption = None,
) -> None:
    """The whole analysis of a study's ratings: print the main tables, and write page, tables and figures.

    An exported study is analysed as it was frozen; an option that differs is a departure, and the report says so.

    Parameters
    ----------
    ratings
        CSV or Parquet (item, query, category, condition, annotator, verdict), a table of vote strings, a benchmark folder,
        demo, or a published JSON file.
    out
        Folder for the page, tables and figures: a new one, or that of an earlier report of the same study.
    contrast
        A planned contrast FIRST:SECOND, once for each. Default: first against each.
    category
        Show this category query by query, once for each.
    flow
        CSV of people at each step: step, condition (or all), people.
    margin
        Largest difference that would not matter (TOST). Default: as frozen, else 0.05.
    alpha
        Level of the tests. Default: as the study froze it, else 0.05.
    correction
        holm, bonferroni, benjamini-hochberg or none. Default: as frozen, else holm.
    labels
        votes, published or intended. Default: as frozen, else votes.
    ties
        half, drop, safe or unsafe. Default: as frozen, else half.
    exclude
        Whose ratings to leave out: failed_checks or nobody. Default: as frozen.
    judge
        A run over all items, once for each: rates with its help where people rated a random part, and how it does on
        generated and revised contexts.
    crossed
        Annotators may rate under several conditions.
    seed
        For the bootstrap and the shuffles.
    """
    wanted = api.choose_options(
        alpha=alpha,
        correction=correction,
        labels=labels,
        ties=ties,
        exclude=None if exclude is None else () if exclude == "nobody" else (exclude,),
        contrasts=api.read_contrasts(contrast) if contrast else None,
        margin=margin,
        flow=None if flow is None else api.read_flow(flow),
        seed=seed,
    )
    found = api.study_report(ratings, crossed=crossed, case_studies=category, judges=judge, **wanted)
    page = out / "report.html"
    again = page.exists()
    found.write(out)
    DocumentOptions(form=form).present(found)
    note(f"page: {page}" + (" (in place of the earlier one)" if again else ""))


# `casewise study`: plan, open, watch, export and forget.


@app.command
def init(
    benchmark: str,
    /,
    *,
    preset: str | None = None,
    question: Literal["request", "reply"] = "request",
    sample: PositiveInt = 200,
    seed: int = 1,
    to: Path = STUDY,
    name: str | None = None,
    researcher: str | None = None,
    institution: str | None = None,
    email: str | None = None,
) -> None:
    """Write a commented study.toml.

    Parameters
    ----------
    benchmark
        demo, casebench, a benchmark folder, a published JSON file; with --question reply, replies.
    preset
        paper, paper-rest (what was never released), prolific, lab or experts. Default: lab; experts for replies.
    question
        What people are asked: request (should a chatbot respond?) or reply (what does the reply do?).
    sample
        With --question reply: how many replies to draw at random.
    seed
        Of that draw.
    to
        The file to write.
    name
        The study's name; else the benchmark's.
    researcher
        Whom annotators write to.
    institution
        Where they are.
    email
        Their address.
    """
    given = {"researcher": researcher, "institution": institution, "email": email}
    contact = api.studies.NOBODY.model_copy(update={part: value for part, value in given.items() if value})
    given_name: dict[str, Any] = {"to": to, "name": name, "contact": contact}
    if question == "reply":
        preset = preset or "experts"
        design = api.studies.init_replies(benchmark, sample=sample, seed=seed, preset=preset, **given_name)
        say(f"{to}: what replies do, by {design.ratings.per_item} people each; the replies drawn: {design.benchmark}")
    else:
        design = api.studies.init(benchmark, preset=preset or "lab", **given_name)
        say(f"{to}: {len(design.conditions)} conditions: {', '.join(design.conditions)}")
    first = "Fill in [contact], look through the rest, then" if contact.placeholders else "next"
    say(
        f"{first}: casewise study check {to}",
        file=str(to),
        benchmark=design.benchmark,
        conditions=list(design.conditions),
    )


@app.command
def check(study: StudyArgument = STUDY, /) -> None:
    """Validate a study, and say what it needs and costs."""
    plan = api.studies.check(study)
    found = plan.estimate
    if as_json():
        departed = [str(departure) for departure in plan.departures]
        print_json({**asdict(found), "total": found.total, "problem": plan.problem, "departures": departed})
    else:
        print_estimate(plan)
        for departure in plan.departures:
            print(f"departs from what was frozen: {departure}")
    if plan.problem:
        raise StudyError(plan.problem)


@app.command
def freeze(study: StudyArgument = STUDY, /, *, deposit: Path | None = None) -> None:
    """Fix contrasts, exclusions, stopping and label policy; reports mark every later departure.

    Parameters
    ----------
    deposit
        Also write a package for a registry to this new folder, or file that ends in .zip: preregistration text, frozen
        plan, consent and texts, codebook, analysis.
    """
    frozen = api.studies.freeze(study)
    say(f"{frozen} keeps what is promised. Publish it with your preregistration.", file=str(frozen))
    if deposit is not None:
        package = api.studies.deposit(study, deposit)
        say(f"{package}: read preregistration.md before you publish it", package=str(package))


@app.command(name="open")
def open_round(
    study: StudyArgument = STUDY,
    /,
    *,
    pilot: bool = False,
    queries: PositiveInt = 10,
    per_item: PositiveInt = 2,
    database: DatabaseOption = None,
    site_url: SiteOption = None,
) -> None:
    """Open the main round of a frozen study, or a pilot.

    Parameters
    ----------
    pilot
        A small round with a box for remarks; its people are kept out of the main study.
    queries
        Of the pilot: queries, each in all conditions.
    per_item
        Of the pilot: ratings of each item.
    """
    where: dict[str, Any] = {"database": database, "site_url": site_url}
    if pilot:
        say_open(api.studies.pilot(study, queries=queries, per_item=per_item, **where), study)
    else:
        say_open(api.studies.open_main(study, **where), study)


def say_open(opened: api.studies.OpenRound, study: Path) -> None:
    design = opened.plan.design
    departures = [str(one) for one in opened.plan.departures]
    say(
        f"The {opened.phase} round of {design.name} {design.version} is open. People arrive at:\n  {opened.url}",
        name=design.name,
        version=design.version,
        phase=opened.phase,
        url=opened.url,
        departures=departures,
    )
    for departure in departures:
        say(f"departs from what was frozen: {departure}")
    if design.recruiter.kind == "invitation":
        main = "" if opened.phase == "main" else f" --phase {opened.phase}"
        say(f"Make a link for each person with: casewise invite {study}{main}")


@app.command
def status(study: StudyArgument = STUDY, /, *, phase: PhaseOption = "main", database: DatabaseOption = None) -> None:
    """How far each condition is."""
    found = api.studies.status(study, phase=phase, database=database)
    seen = found.overview
    if as_json():
        print_json({"state": found.state, **asdict(seen), "exact": seen.exact, **found.monitor.as_json()})
        return
    print(f"{found.round.name} {found.round.version}, {found.round.phase} round, {found.state}")
    print_overview(seen)
    print_monitor(found.monitor, currency=found.round.design.pay.currency)


@app.command
def amend(
    study: StudyArgument = STUDY,
    /,
    *,
    why: str,
    phase: PhaseOption = "main",
    yes: bool = False,
    database: DatabaseOption = None,
) -> None:
    """Have a paused round go on with more ratings of each item, as study.toml has it now.

    Parameters
    ----------
    why
        The reason; it stands in every report.
    yes
        Do it without asking.
    """
    with api.studies.amending(study, why=why, phase=phase, database=database) as (found, go_on):
        say(found.said, said=found.said)
        before, after = found.before, found.after
        say(f"ratings: {before.ratings:,}, then {after.ratings:,}", ratings=[before.ratings, after.ratings])
        to_come, money = [before.cost, after.cost], found.currency
        say(f"cost to come: {before.cost:,.2f} {money}, then {after.cost:,.2f} {money}", to_come=to_come)
        for power in found.power:
            first, second = power.contrast
            say(f"power to tell {first} from {second} by 0.05: {power.before:.0%}, then {power.after:.0%}")
        say(
            "Every report will say that this was changed while people rated; what was frozen is departed from.",
            amended=yes,
        )
        if yes or confirmed("Go on so?"):
            go_on()
            say("The round is amended. Let people in again: casewise study set open", amended=True)
        else:
            note("Nothing was changed; the round is still paused: casewise study set open lets people in again.")


@app.command(name="set")
def set_state(
    state: api.studies.RoundState,
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Pause a round, let people in again, or say that it is over.

    Parameters
    ----------
    state
        paused: nobody new begins, and whoever has a batch may finish. open: people are let in again. closed: the study is
        over; whoever has a batch may finish, and whoever is in the quiz is paid.
    """

    def wait(seconds: float) -> None:
        note(f"Waiting {seconds:.0f} s, until every server has read the amendment.")
        time.sleep(seconds)

    found = api.studies.change_state(study, state, phase=phase, database=database, wait=wait)
    facts = {"name": found.name, "version": found.version, "phase": found.phase, "state": state}
    say("{name} {version} ({phase}) is {state}".format(**facts), **facts)


@app.command
def person(
    number: str,
    study: StudyArgument = STUDY,
    /,
    *,
    leave_out: str | None = None,
    take_in: str | None = None,
    forget: bool = False,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Leave out an annotator's ratings, take them in again, or delete what is known about the person.

    Parameters
    ----------
    number
        The annotator's number in the study; with --forget also the recruiter's id of the person.
    leave_out
        Leave out their ratings for this reason, which is kept, so name nobody in it: the slots re-open, and reports come
        with and without.
    take_in
        Take in again somebody who was left out, for this reason; what has no room any more stays apart.
    forget
        Delete what is known about them; until the stated date their ratings as well.
    """
    if sum((leave_out is not None, take_in is not None, forget)) != 1:
        raise StudyError("give one of --leave-out WHY, --take-in WHY and --forget")
    where: dict[str, Any] = {"study": study, "phase": phase, "database": database}
    if leave_out is not None:
        reopened = api.studies.void(number, why=leave_out, **where)
        say(f"{number} is left out; {reopened} slots are open again", annotator=number, reopened=reopened)
    elif take_in is not None:
        counted = api.studies.restore(number, why=take_in, **where)
        say(f"{number} is taken in again; {counted} ratings count", annotator=number, counted=counted)
    else:
        withdrawn = api.studies.forget(number, **where)
        say(
            f"forgotten; the ratings are {'withdrawn' if withdrawn else 'anonymous now, and kept'}",
            ratings="withdrawn" if withdrawn else "kept",
        )
