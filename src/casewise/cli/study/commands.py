"""`casewise study`: plan, open, watch, export and forget."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.cli.printing import JsonOption, print_json
from casewise.cli.study import prolific as study_prolific
from casewise.cli.study import report as study_report
from casewise.cli.study import simulate as study_simulate
from casewise.cli.study.opening import connected, opened, the_round
from casewise.errors import StudyError

if TYPE_CHECKING:
    from casewise.studies.running.plan import StudyPlan
    from casewise.studies.running.rounds import Phase

__all__ = ["app"]

app = typer.Typer(
    help="Have people rate items, each exactly as often as promised.", no_args_is_help=True, rich_markup_mode=None
)

StudyArgument = Annotated[Path, typer.Argument(help="The study's TOML file.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", help="A file (SQLite) or postgresql://…; else CASEWISE_DATABASE, else casewise.db."),
]
UrlOption = Annotated[str | None, typer.Option("--site-url", help="The address in a browser; else CASEWISE_SITE_URL.")]
PhaseOption = Annotated[str, typer.Option("--phase", help="main or pilot.")]

DEFAULT = Path("study.toml")


@app.command()
def init(
    benchmark: Annotated[str, typer.Argument(help="demo, casebench, a benchmark folder, or a published JSON file.")],
    preset: Annotated[str, typer.Option(help="paper, prolific or lab.")] = "lab",
    to: Annotated[Path, typer.Option("--to", help="The file to write.")] = DEFAULT,
    name: Annotated[str | None, typer.Option(help="The study's name; else the benchmark's.")] = None,
) -> None:
    """Write a commented study.toml."""
    from casewise.studies.design.presets import PRESETS
    from casewise.studies.running.plan import init_study

    if preset not in PRESETS:
        raise StudyError(f"--preset is {preset!r}; it can be {', '.join(PRESETS)}")
    design = init_study(benchmark, preset=preset, name=name, path=to, today=datetime.now(UTC).date())
    typer.echo(f"{to}: {len(design.conditions)} conditions: {', '.join(design.conditions)}")
    typer.echo(f"Fill in [contact], look through the rest, then: casewise study check {to}")


@app.command()
def check(study: StudyArgument = DEFAULT, as_json: JsonOption = False) -> None:
    """Validate a study, and say what it needs and costs."""
    from dataclasses import asdict

    from casewise.cli.study.printing import print_estimate
    from casewise.studies.running.plan import read_plan

    plan = read_plan(study)
    found = plan.estimate
    if as_json:
        departed = [str(departure) for departure in plan.departures]
        print_json({**asdict(found), "total": found.total, "problem": found.problem, "departures": departed})
    else:
        print_estimate(found, plan.design, left_out=plan.material.left_out)
        for departure in plan.departures:
            typer.echo(f"departs from what was frozen: {departure}")
    if found.problem:
        raise StudyError(found.problem)


@app.command()
def freeze(study: StudyArgument = DEFAULT) -> None:
    """Fix contrasts, exclusions, stopping and label policy; reports mark every later departure."""
    from casewise.studies.running.plan import freeze_plan, read_plan

    path = freeze_plan(read_plan(study), at=datetime.now(UTC))
    typer.echo(f"{path} keeps what is promised. Publish it with your preregistration.")


@app.command()
def pilot(
    study: StudyArgument = DEFAULT,
    queries: Annotated[int, typer.Option(min=1, help="Queries, each in all conditions.")] = 10,
    per_item: Annotated[int, typer.Option(min=1, help="Ratings of each item.")] = 2,
    database: DatabaseOption = None,
    site_url: UrlOption = None,
) -> None:
    """Open a small round with a box for remarks; its people are kept out of the main study."""
    from casewise.studies.running.plan import pilot_of, read_plan

    plan = pilot_of(read_plan(study), queries=queries, per_item=per_item)
    open_and_say(plan, "pilot", database=database, site_url=site_url)


@app.command("open")
def open_main(study: StudyArgument = DEFAULT, database: DatabaseOption = None, site_url: UrlOption = None) -> None:
    """Open the main round of a frozen study."""
    from casewise.studies.running.plan import read_plan

    open_and_say(read_plan(study), "main", database=database, site_url=site_url)


def open_and_say(plan: StudyPlan, phase: Phase, *, database: str | None, site_url: str | None) -> None:
    from casewise.studies.running.plan import open_plan

    with opened(database, site_url) as (settings, store):
        with store.write() as connection:
            study_id = open_plan(connection, plan, phase=phase, now=datetime.now(UTC))
        typer.echo(f"The {phase} round of {plan.design.name} {plan.design.version} is open. People arrive at:")
        typer.echo(f"  {settings.site_url}/study/{study_id}")
        if plan.design.recruiter.kind == "invitation":
            typer.echo("Make a link for each person with: casewise study invite")


@app.command()
def invite(
    study: StudyArgument = DEFAULT,
    people: Annotated[int, typer.Option(min=1, help="How many links.")] = 1,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
    site_url: UrlOption = None,
) -> None:
    """Print invitation links, one for each person."""
    from casewise.studies.recruiters import new_invitation
    from casewise.studies.running.privacy import derived_key

    with opened(database, site_url) as (settings, store):
        found = the_round(store, study, phase)
        key = derived_key(settings.secret_key, f"invitations {found.id}")
        for _ in range(people):
            typer.echo(f"{settings.site_url}/study/{found.id}?participant={new_invitation(key)}")


@app.command()
def status(
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """How far each condition is."""
    from dataclasses import asdict

    from casewise.cli.study.printing import print_overview
    from casewise.studies.running.answers import lapse_and_void
    from casewise.studies.running.owner import overview, purge
    from casewise.studies.running.rounds import round_state

    with opened(database) as (_settings, store):
        found = the_round(store, study, phase)
        with store.write() as connection:
            lapse_and_void(connection, found, now=datetime.now(UTC))
            purge(connection, found, now=datetime.now(UTC))
        with store.read() as connection:
            state, seen = round_state(connection, found.id), overview(connection, found)
    if as_json:
        print_json({"state": state, **asdict(seen), "exact": seen.exact})
        return
    typer.echo(f"{found.name} {found.version}, {found.phase} round, {state}")
    print_overview(seen)


@app.command()
def pause(study: StudyArgument = DEFAULT, phase: PhaseOption = "main", database: DatabaseOption = None) -> None:
    """Let nobody new begin; whoever has begun may finish."""
    change_state(study, phase, database, state="paused")


@app.command()
def resume(study: StudyArgument = DEFAULT, phase: PhaseOption = "main", database: DatabaseOption = None) -> None:
    """Let people in again."""
    change_state(study, phase, database, state="open")


def change_state(study: Path, phase: str, database: str | None, *, state: str) -> None:
    from casewise.studies.running.rounds import set_state

    with opened(database) as (_settings, store):
        found = the_round(store, study, phase)
        with store.write() as connection:
            set_state(
                connection, found.id, "paused" if state == "paused" else "open", by="owner", now=datetime.now(UTC)
            )
    typer.echo(f"{found.name} {found.version} ({found.phase}) is {state}")


@app.command()
def void(
    annotator: Annotated[str, typer.Argument(help="The annotator's number in the study.")],
    why: Annotated[str, typer.Option("--why", help="The reason; it is kept, so name nobody in it.")],
    study: Annotated[Path, typer.Option("--study", help="The study's TOML file.")] = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Leave out an annotator's ratings; the slots re-open, and reports come with and without."""
    from casewise.studies.running.annotators import annotator as find
    from casewise.studies.running.answers import void as leave_out

    with opened(database) as (_settings, store):
        found = the_round(store, study, phase)
        with store.write() as connection:
            who = find(connection, annotator)
            if who is None or who.study_id != found.id:
                raise StudyError(f"nobody in {found.name} ({found.phase}) has the number {annotator!r}")
            reopened = leave_out(connection, found, annotator, why=why, by="owner", now=datetime.now(UTC))
    typer.echo(f"{annotator} is left out; {reopened} slots are open again")


@app.command()
def forget(
    who: Annotated[str, typer.Argument(help="The recruiter's id of the person, or their number in the study.")],
    study: Annotated[Path, typer.Option("--study", help="The study's TOML file.")] = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Delete what is known about a person; until the stated date their ratings as well."""
    from casewise.studies.running.owner import forget as forget_person
    from casewise.studies.running.privacy import Vault

    with opened(database) as (settings, store):
        found = the_round(store, study, phase)
        with store.write() as connection:
            withdrawn = forget_person(
                connection, found, who, vault=Vault(settings.secret_key), by="owner", now=datetime.now(UTC)
            )
    typer.echo(f"forgotten; the ratings are {'withdrawn' if withdrawn else 'anonymous now, and kept'}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The benchmark folder to write.")],
    study: Annotated[Path, typer.Option("--study", help="The study's TOML file.")] = DEFAULT,
    phase: Annotated[str, typer.Option("--phase", help="main, pilot or rehearsal.")] = "main",
    database: DatabaseOption = None,
) -> None:
    """Write the ratings as a benchmark folder, for `casewise study report` and `casewise judge`."""
    from casewise.studies.running.export import export as write_export
    from casewise.studies.running.plan import read_plan

    plan = read_plan(study)
    with opened(database) as (_settings, store):
        found = the_round(store, study, phase)
        with store.read() as connection:
            done = write_export(connection, found, benchmark=plan.benchmark, design=plan.design, folder=folder)
    typer.echo(f"{done.folder}: {done.ratings:,} ratings, {done.excluded:,} apart in excluded.jsonl")
    if not done.exact:
        typer.echo("The study is not complete: some items have fewer ratings than promised.", err=True)


@app.command()
def preview(
    study: StudyArgument = DEFAULT, port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 0
) -> None:
    """Walk every page yourself. It all happens in a database that is deleted when you stop."""
    import secrets
    import tempfile
    import threading

    from casewise.settings import Settings
    from casewise.studies.running.plan import open_plan, read_plan
    from casewise.web.local import free_port, serving

    plan, port = read_plan(study), port or free_port()
    with tempfile.TemporaryDirectory(prefix="casewise-preview-") as folder:
        settings = Settings(
            database=str(Path(folder) / "study.db"),
            secret_key=secrets.token_urlsafe(48),
            site_url=f"http://127.0.0.1:{port}",
        )
        with connected(settings) as store, store.write() as connection:
            study_id = open_plan(connection, plan, phase="preview", now=datetime.now(UTC))
        with serving(settings, port=port):
            typer.echo(f"Look at {settings.site_url}/study/{study_id} (stop with Ctrl+C; nothing is kept)")
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                typer.echo("Nothing was kept.")


@app.command()
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
    from casewise.cli.study.rehearsing import RehearsalOptions, rehearse_study

    wanted = RehearsalOptions(
        annotators=annotators,
        careless=careless,
        dropout=dropout,
        at_once=at_once,
        lease_s=lease,
        until_full=until_full,
        seed=seed,
    )
    rehearse_study(study, wanted, url=url, database=database, as_json=as_json)


app.add_typer(study_prolific.app, name="prolific")
app.command("report")(study_report.report)
app.command("simulate")(study_simulate.simulate)
