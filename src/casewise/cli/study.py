"""Studies from the command line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casewise import api
from casewise.cli import prolific
from casewise.cli.commands import DEFAULT, PhaseOption, StudyArgument, StudyOption
from casewise.cli.printing import (
    DatabaseOption,
    DocumentOptions,
    FormatOption,
    JsonOption,
    UrlOption,
    announce,
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


def rehearse(
    study: StudyArgument = DEFAULT,
    url: Annotated[
        str | None, typer.Option(help="Where `casewise serve` answers on the same database; else one is started.")
    ] = None,
    annotators: Annotated[int, typer.Option(min=1, help="Simulated people in the first wave.")] = 100,
    careless: Annotated[float, typer.Option(min=0, max=1, help="Share who press at random.")] = 0.1,
    dropout: Annotated[float, typer.Option(min=0, max=1, help="Share who leave in the middle.")] = 0.15,
    at_once: Annotated[int, typer.Option(min=1, help="How many are on the pages at once.")] = 16,
    lease: Annotated[float, typer.Option(min=1, help="Seconds until slots of those who left re-open.")] = 15,
    until_full: Annotated[bool, typer.Option(help="Send more people until every item has its ratings.")] = True,
    seed: Annotated[int, typer.Option(help="Of the simulated people.")] = 1,
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send simulated people through the real pages. Nothing of it counts in the study."""
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
    print_rehearsal(rehearse_study(study, wanted, url=url, database=database), as_json=as_json)


def print_rehearsal(done: Rehearsed, *, as_json: bool) -> None:
    result = done.result
    speed = {
        "steps": len(result.latencies_s),
        "steps_per_s": round(result.steps_per_s, 1),
        "p50_ms": round(result.percentile_ms(50), 1),
        "p99_ms": round(result.percentile_ms(99), 1),
    }
    if as_json:
        seen = {**asdict(done.overview), "exact": done.overview.exact, "people": done.people}
        print_json({**seen, "outcomes": dict(result.outcomes), "for_nothing": done.for_nothing, **speed})
        return
    print_overview(done.overview)
    typer.echo(
        f"{done.people:,} simulated people: " + ", ".join(f"{n} {what}" for what, n in sorted(result.outcomes.items()))
    )
    typer.echo(f"{done.for_nothing:.1%} of those who arrived passed the quiz and found no place")
    typer.echo(
        f"{speed['steps']:,} full steps (answer and next page), {speed['steps_per_s']} a second; "
        f"median {speed['p50_ms']} ms, p99 {speed['p99_ms']} ms"
    )
    if not isnan(result.slowdown):
        typer.echo(f"the last thousand steps took {result.slowdown:.2f} times as long as the first")


def simulate(
    design: Annotated[
        Path,
        typer.Option("--design", help="TOML with [simulation.safe_rates], and [simulation] and [crowd] if wanted."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write one study's ratings here (.csv or .parquet).")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option("--repeat", help="Repeat the study so often, and report what each analysis is worth.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="What the crowd is drawn from.")] = 0,
    form: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a design on a simulated crowd, before a cent is spent."""
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
    DocumentOptions(form=form, as_json=as_json).present(api.Look(api.simulation_page(found), api.plain(parts)))


# `casewise study report`.


def report(
    ratings: Annotated[
        str,
        typer.Argument(
            help="CSV or Parquet (item, query, category, condition, annotator, verdict), a table of vote strings, a "
            "benchmark folder, demo, or a published JSON file."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder for the page, tables and figures: a new one, or that of an earlier report of the same study.",
        ),
    ] = Path("study-report"),
    contrast: Annotated[
        list[str] | None,
        typer.Option("--contrast", help="A planned contrast FIRST:SECOND, once for each. Default: first against each."),
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Show this category query by query, once for each.")
    ] = None,
    flow: Annotated[
        Path | None, typer.Option("--flow", help="CSV of people at each step: step, condition (or all), people.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin", help="Largest difference that would not matter (TOST). Default: as frozen, else 0.05."
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="Level of the tests. Default: as the study froze it, else 0.05.")
    ] = None,
    correction: Annotated[
        str | None,
        typer.Option(
            "--correction", help="holm, bonferroni, benjamini-hochberg or none. Default: as frozen, else holm."
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", help="votes, published or intended. Default: as frozen, else votes.")
    ] = None,
    ties: Annotated[
        str | None, typer.Option("--ties", help="half, drop, safe or unsafe. Default: as frozen, else half.")
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option("--exclude", help="Whose ratings to leave out: failed_checks or nobody. Default: as frozen."),
    ] = None,
    judge: Annotated[
        list[Path] | None,
        typer.Option(
            "--judge",
            help="A run over all items, once for each: rates with its help where people rated a random part, and how it "
            "does on generated and revised contexts.",
        ),
    ] = None,
    crossed: Annotated[bool, typer.Option("--crossed", help="Annotators may rate under several conditions.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="For the bootstrap and the shuffles.")] = 0,
    form: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """The whole analysis of a study's ratings: print the main tables, and write page, tables and figures.

    An exported study is analysed as it was frozen; an option that differs is a departure, and the report says so.
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
    found = api.study_report(ratings, crossed=crossed, case_studies=tuple(category or ()), judges=judge or (), **wanted)
    page = out / "report.html"
    again = page.exists()
    found.write(out)
    DocumentOptions(form=form, as_json=as_json).present(found)
    note(f"page: {page}" + (" (in place of the earlier one)" if again else ""))


# `casewise study`: plan, open, watch, export and forget.


app = typer.Typer(
    help="Have people rate items, each exactly as often as promised.", no_args_is_help=True, rich_markup_mode=None
)


@app.command()
def init(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="demo, casebench, a benchmark folder, a published JSON file; with --question reply, replies."
        ),
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            help="paper, paper-rest (what was never released), prolific, lab or experts. Default: lab; experts for replies."
        ),
    ] = None,
    question: Annotated[
        str,
        typer.Option(
            help="What people are asked: request (should a chatbot respond?) or reply (what does the reply do?)."
        ),
    ] = "request",
    sample: Annotated[
        int, typer.Option(min=1, help="With --question reply: how many replies to draw at random.")
    ] = 200,
    seed: Annotated[int, typer.Option(help="Of that draw.")] = 1,
    to: Annotated[Path, typer.Option("--to", help="The file to write.")] = DEFAULT,
    name: Annotated[str | None, typer.Option(help="The study's name; else the benchmark's.")] = None,
    researcher: Annotated[str | None, typer.Option(help="Whom annotators write to.")] = None,
    institution: Annotated[str | None, typer.Option(help="Where they are.")] = None,
    email: Annotated[str | None, typer.Option(help="Their address.")] = None,
) -> None:
    """Write a commented study.toml."""
    given = {"researcher": researcher, "institution": institution, "email": email}
    contact = api.studies.NOBODY.model_copy(update={part: value for part, value in given.items() if value})
    if question not in ("request", "reply"):
        raise StudyError(f"--question is {question!r}; it is request or reply")
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


@app.command()
def check(study: StudyArgument = DEFAULT, as_json: JsonOption = False) -> None:
    """Validate a study, and say what it needs and costs."""
    plan = api.studies.check(study)
    found = plan.estimate
    if as_json:
        departed = [str(departure) for departure in plan.departures]
        print_json({**asdict(found), "total": found.total, "problem": plan.problem, "departures": departed})
    else:
        print_estimate(plan)
        for departure in plan.departures:
            typer.echo(f"departs from what was frozen: {departure}")
    if plan.problem:
        raise StudyError(plan.problem)


@app.command()
def freeze(study: StudyArgument = DEFAULT) -> None:
    """Fix contrasts, exclusions, stopping and label policy; reports mark every later departure."""
    frozen = api.studies.freeze(study)
    say(f"{frozen} keeps what is promised. Publish it with your preregistration.", file=str(frozen))


@app.command()
def deposit(
    to: Annotated[Path, typer.Argument(help="A new folder, or a file that ends in .zip.")], study: StudyOption = DEFAULT
) -> None:
    """Write a package for a registry: preregistration text, frozen plan, consent and texts, codebook, analysis."""
    done = api.studies.deposit(study, to)
    say(f"{done}: read preregistration.md before you publish it", path=str(done))


@app.command()
def pilot(
    study: StudyArgument = DEFAULT,
    queries: Annotated[int, typer.Option(min=1, help="Queries, each in all conditions.")] = 10,
    per_item: Annotated[int, typer.Option(min=1, help="Ratings of each item.")] = 2,
    database: DatabaseOption = None,
    site_url: UrlOption = None,
) -> None:
    """Open a small round with a box for remarks; its people are kept out of the main study."""
    say_open(api.studies.pilot(study, queries=queries, per_item=per_item, database=database, site_url=site_url))


@app.command("open")
def open_main(study: StudyArgument = DEFAULT, database: DatabaseOption = None, site_url: UrlOption = None) -> None:
    """Open the main round of a frozen study."""
    say_open(api.studies.open_main(study, database=database, site_url=site_url))


def say_open(opened: api.studies.OpenRound) -> None:
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
        say(f"Make a link for each person with: casewise study invite{main}")


@app.command()
def invite(
    study: StudyArgument = DEFAULT,
    people: Annotated[int, typer.Option(min=1, help="How many links.")] = 1,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
    site_url: UrlOption = None,
) -> None:
    """Print invitation links, one for each person."""
    links = list(api.studies.invite(study, people=people, phase=phase, database=database, site_url=site_url))
    say("\n".join(links), links=links)


@app.command()
def status(
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """How far each condition is."""
    found = api.studies.status(study, phase=phase, database=database)
    seen = found.overview
    if as_json:
        print_json({"state": found.state, **asdict(seen), "exact": seen.exact, **found.monitor.as_json()})
        return
    typer.echo(f"{found.round.name} {found.round.version}, {found.round.phase} round, {found.state}")
    print_overview(seen)
    print_monitor(found.monitor, currency=found.round.design.pay.currency)


@app.command()
def amend(
    why: Annotated[str, typer.Option("--why", help="The reason; it stands in every report.")],
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "main",
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Have a paused round go on with more ratings of each item, as study.toml has it now."""
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
            say("The round is amended. Let people in again after a minute: casewise study resume", amended=True)
        else:
            note("Nothing was changed; the round is still paused: casewise study resume lets people in again.")


def changing_to(state: api.studies.RoundState) -> Callable[..., None]:
    def change(study: StudyArgument = DEFAULT, phase: PhaseOption = "main", database: DatabaseOption = None) -> None:
        found = api.studies.change_state(study, state, phase=phase, database=database)
        said = {"name": found.name, "version": found.version, "phase": found.phase, "state": state}
        say("{name} {version} ({phase}) is {state}".format(**said), **said)

    return change


app.command("pause", help="Let nobody new begin; whoever has a batch may finish.")(changing_to("paused"))
app.command("resume", help="Let people in again.")(changing_to("open"))
OVER = "Say that the study is over; whoever has a batch may finish, whoever is in the quiz is paid."
app.command("close", help=OVER)(changing_to("closed"))


@app.command()
def void(
    annotator: Annotated[str, typer.Argument(help="The annotator's number in the study.")],
    why: Annotated[str, typer.Option("--why", help="The reason; it is kept, so name nobody in it.")],
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Leave out an annotator's ratings; the slots re-open, and reports come with and without."""
    reopened = api.studies.void(annotator, why=why, study=study, phase=phase, database=database)
    say(f"{annotator} is left out; {reopened} slots are open again", annotator=annotator, reopened=reopened)


@app.command()
def restore(
    annotator: Annotated[str, typer.Argument(help="The annotator's number in the study.")],
    why: Annotated[str, typer.Option("--why", help="The reason; it is kept, so name nobody in it.")],
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Take in again somebody who was left out; what has no room any more stays apart."""
    counted = api.studies.restore(annotator, why=why, study=study, phase=phase, database=database)
    say(f"{annotator} is taken in again; {counted} ratings count", annotator=annotator, counted=counted)


@app.command()
def forget(
    who: Annotated[str, typer.Argument(help="The recruiter's id of the person, or their number in the study.")],
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Delete what is known about a person; until the stated date their ratings as well."""
    withdrawn = api.studies.forget(who, study=study, phase=phase, database=database)
    say(
        f"forgotten; the ratings are {'withdrawn' if withdrawn else 'anonymous now, and kept'}",
        ratings="withdrawn" if withdrawn else "kept",
    )


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The benchmark folder to write.")],
    study: StudyOption = DEFAULT,
    phase: Annotated[str, typer.Option("--phase", help="main, pilot or rehearsal.")] = "main",
    database: DatabaseOption = None,
) -> None:
    """Write the ratings as a benchmark folder, for `casewise study report` and `casewise judge`."""
    done = api.studies.export(folder, study=study, phase=phase, database=database)
    say(
        f"{done.folder}: {done.ratings:,} ratings, {done.excluded:,} apart in excluded.jsonl",
        folder=str(done.folder),
        ratings=done.ratings,
        excluded=done.excluded,
        exact=done.exact,
    )
    if not done.exact:
        note("The study is not complete: some items have fewer ratings than promised.")


@app.command()
def preview(
    study: StudyArgument = DEFAULT, port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 0
) -> None:
    """Walk every page yourself. It all happens in a database that is deleted when you stop."""
    from casewise.web.app import previewing  # an extra

    with previewing(study, port=port) as address:
        announce(f"Look at {address} (stop with Ctrl+C; nothing is kept)", address=address)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            say("Nothing was kept.")


# Where these commands were first; `casewise prolific` is where they are shown.
app.add_typer(prolific.app, name="prolific", hidden=True)
app.command()(rehearse)
app.command()(report)
app.command()(simulate)
