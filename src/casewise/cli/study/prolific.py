"""`casewise study prolific`: create the study at Prolific, add places, approve, keep returners out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.errors import ConfigurationError

if TYPE_CHECKING:
    from casewise.studies.recruiters.prolific_client import ProlificClient

__all__ = ["app"]

app = typer.Typer(help="Recruit at Prolific.", no_args_is_help=True, rich_markup_mode=None)

StudyArgument = Annotated[Path, typer.Argument(help="The study's TOML file.")]
PhaseOption = Annotated[str, typer.Option("--phase", help="main or pilot.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", help="A file (SQLite) or postgresql://…; else CASEWISE_DATABASE, else casewise.db."),
]
IdArgument = Annotated[str, typer.Argument(help="The study's id at Prolific.")]

DEFAULT = Path("study.toml")


def client() -> ProlificClient:
    """The client with the token in the environment."""
    from casewise.studies.recruiters.prolific_client import API, ProlificClient

    token = os.environ.get("CASEWISE_PROLIFIC_TOKEN")
    if not token:
        raise ConfigurationError("set CASEWISE_PROLIFIC_TOKEN to your API token from Prolific's settings")
    return ProlificClient(token, api=os.environ.get("CASEWISE_PROLIFIC_API", API))


@app.command()
def create(
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "main",
    places: Annotated[int | None, typer.Option(min=1, help="People; else as many as the estimate needs.")] = None,
    keep_out: Annotated[str | None, typer.Option("--keep-out", help="A participant group to keep out.")] = None,
    database: DatabaseOption = None,
    site_url: Annotated[str | None, typer.Option("--site-url", help="The address that people reach.")] = None,
) -> None:
    """Create the study there, unpublished: look at it, then publish it."""
    import asyncio

    from casewise.cli.study.opening import opened, the_round
    from casewise.studies.recruiters.prolific_client import study_request, to_set_by_hand
    from casewise.studies.running.plan import read_plan

    plan = read_plan(study)
    with opened(database, site_url) as (settings, store):
        found = the_round(store, study, phase)
    if plan.design.recruiter.kind != "prolific":
        raise ConfigurationError(f"{study}: [recruiter] kind is {plan.design.recruiter.kind!r}, not 'prolific'")
    url = f"{settings.site_url}/study/{found.id}"
    needed = plan.estimate
    request = study_request(
        plan.design, url=url, places=places or needed.annotators, minutes=needed.minutes_per_annotator, group=keep_out
    )

    async def talk() -> str:
        async with client() as prolific:
            return await prolific.create_study(request)

    typer.echo(f"created, unpublished: {asyncio.run(talk())}")
    if by_hand := to_set_by_hand(plan.design):
        typer.echo(f"Before you publish it, choose on Prolific's page: {by_hand}")


@app.command()
def publish(prolific_study: IdArgument) -> None:
    """Let people in. From here on it costs money."""
    import asyncio

    async def talk() -> None:
        async with client() as prolific:
            await prolific.publish(prolific_study)

    asyncio.run(talk())
    typer.echo(f"{prolific_study} is published")


@app.command()
def places(
    prolific_study: IdArgument, total: Annotated[int, typer.Argument(min=1, help="Places in all; more than before.")]
) -> None:
    """Raise the number of places, as skips, leavers and voids re-open slots."""
    import asyncio

    async def talk() -> None:
        async with client() as prolific:
            await prolific.raise_places(prolific_study, total)

    asyncio.run(talk())
    typer.echo(f"{prolific_study} has {total} places")


@app.command()
def approve(study: StudyArgument = DEFAULT, phase: PhaseOption = "main", database: DatabaseOption = None) -> None:
    """Pay everybody who finished or stopped early. Nobody is ever rejected from here."""
    import asyncio

    from casewise.cli.study.opening import opened, the_round
    from casewise.studies.running.owner import to_be_paid
    from casewise.studies.running.privacy import Vault

    with opened(database) as (settings, store):
        found = the_round(store, study, phase)
        with store.read() as connection:
            people = to_be_paid(connection, found, vault=Vault(settings.secret_key))

    async def talk() -> None:
        async with client() as prolific:
            for person in people:
                await prolific.approve(person.session)

    asyncio.run(talk())
    typer.echo(f"{len(people)} submissions approved")


@app.command("keep-out")
def keep_out(
    project: Annotated[str, typer.Argument(help="The project's id at Prolific.")],
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "pilot",
    database: DatabaseOption = None,
) -> None:
    """Put a round's people into a participant group there, to be kept out of a later round."""
    import asyncio

    from casewise.cli.study.opening import opened, the_round
    from casewise.studies.running.owner import everybody
    from casewise.studies.running.privacy import Vault

    with opened(database) as (settings, store):
        found = the_round(store, study, phase)
        with store.read() as connection:
            people = everybody(connection, found, vault=Vault(settings.secret_key))

    async def talk() -> str:
        async with client() as prolific:
            group = await prolific.create_group(project, f"{found.name} {found.version} {found.phase}")
            await prolific.add_to_group(group, [person.person for person in people])
            return group

    typer.echo(f"{len(people)} people are in the group {asyncio.run(talk())}")
