"""`casewise prolific`: create the study at Prolific, add places, approve, keep returners out."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from casewise import api
from casewise.cli.commands import DEFAULT, PhaseOption, StudyArgument, StudyOption
from casewise.cli.printing import DatabaseOption, UrlOption, confirmed, note, print_table, say
from casewise.errors import ExitCode

app = typer.Typer(help="Recruit a study's people at Prolific.", no_args_is_help=True, rich_markup_mode=None)

IdArgument = Annotated[str, typer.Argument(help="The study's id at Prolific.")]

AgainOption = Annotated[bool, typer.Option("--again", help="Another one, where one was made or begun for this round.")]


@app.command()
def create(
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "main",
    places: Annotated[int | None, typer.Option(min=1, help="People; else as many as the estimate needs.")] = None,
    keep_out: Annotated[str | None, typer.Option("--keep-out", help="A participant group to keep out.")] = None,
    again: AgainOption = False,
    database: DatabaseOption = None,
    site_url: UrlOption = None,
) -> None:
    """Create the study there, unpublished: look at it, then publish it."""
    made, by_hand = api.prolific.create(
        study, phase=phase, places=places, keep_out=keep_out, again=again, database=database, site_url=site_url
    )
    say(f"created, unpublished: {made}", created=made, by_hand=by_hand)
    if by_hand:
        say(f"Before you publish it, choose on Prolific's page: {by_hand}")


@app.command()
def publish(prolific_study: IdArgument) -> None:
    """Let people in. From here on it costs money."""
    api.prolific.publish(prolific_study)
    say(f"{prolific_study} is published", published=prolific_study)


@app.command()
def places(
    prolific_study: IdArgument,
    total: Annotated[
        int | None, typer.Argument(min=1, help="Places in all. Default: those taken, and as many as are needed.")
    ] = None,
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Raise or lower the number of places to what the round needs now, as skips, leavers and voids re-open slots."""
    if total is not None:
        api.prolific.set_places(prolific_study, total)
        say(f"{prolific_study} has {total} places", places=total)
        return
    found = api.prolific.fit_places(prolific_study, study, phase=phase, database=database)
    say(
        f"{prolific_study}: {found.taken} of {found.before} places taken, {found.needed} more people needed; "
        f"it has {found.after} places now",
        taken=found.taken,
        needed=found.needed,
        places=found.after,
        paused=found.paused,
        started=found.started,
    )
    if found.started:
        say("it was paused there, and is started again")
    if found.why:
        what = "it is paused there instead" if found.paused else "they stay, and whoever finds no item is paid"
        note(f"Prolific lets no place be taken away, so {what}: {found.why}")


@app.command()
def eligible(study: StudyArgument = DEFAULT) -> None:
    """How many people there pass the study's filters, before you pay for anything."""
    many = api.prolific.eligible(study)
    say("fewer than 25 people" if many == 0 else f"{many:,} people", people=many, fewer_than_25=many == 0)


@app.command()
def approve(
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "main",
    doubtful: Annotated[
        bool | None,
        typer.Option(help="Pay those too who skipped more than allowed, or rated nothing. Default: ask."),
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Pay everybody who finished or stopped early; again at will. Nobody is ever rejected from here."""
    found = api.prolific.payable(study, phase=phase, database=database)
    if found.doubtful and doubtful is None:
        many = len(found.doubtful)
        doubtful = confirmed(f"{many} skipped more than allowed, or rated nothing. Pay them too?")
    done = api.prolific.approve([*found.people, *(found.doubtful if doubtful else ())])
    if done:
        print_table(("submission", "state", "why"), [(one.submission, one.state, one.why) for one in done])
    counts = Counter(one.state for one in done)
    left = found.doubtful if not doubtful else ()
    say(
        f"{counts['approved']} approved, {counts['already approved']} approved before, {counts['refused']} refused",
        counts=dict(counts),
        submissions=[{"submission": one.submission, "state": one.state, "why": one.why} for one in done],
        left_to_decide=len(left),
        failed_checks=found.failed_checks,
    )
    if left:
        say(f"{len(left)} left to decide: look at them under People and flags")
    if found.failed_checks:
        say(f"{found.failed_checks} failed attention checks: whether they are paid is decided at Prolific, not here")
    if counts["refused"]:
        raise typer.Exit(ExitCode.NO)


AnnotatorArgument = Annotated[str, typer.Argument(help="The annotator's number in the study.")]


@app.command()
def message(
    annotator: AnnotatorArgument,
    text: Annotated[str, typer.Option("--text", help="What to say.")],
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Write to an annotator there."""
    api.prolific.message(annotator, text, study=study, phase=phase, database=database)
    say(f"{annotator} was written to", annotator=annotator)


@app.command()
def bonus(
    annotator: AnnotatorArgument,
    amount: Annotated[float, typer.Option("--amount", min=0.01, help="In the study's currency.")],
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    again: Annotated[bool, typer.Option("--again", help="Even if a bonus was begun before.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Pay an annotator a bonus; never twice by accident."""
    api.prolific.bonus(annotator, amount, study=study, phase=phase, again=again, database=database)
    say(f"{annotator} is paid {amount:.2f} more", annotator=annotator, amount=amount)


@app.command()
def settle(
    annotator: AnnotatorArgument,
    paid: Annotated[bool, typer.Option("--paid/--not-paid", help="What you saw at Prolific.")],
    payment: Annotated[str | None, typer.Option("--payment", help="Its id there, where several are in doubt.")] = None,
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Say what became of a bonus in doubt, as you saw it there: one that was not paid can be paid then."""
    amount = api.prolific.settle(annotator, paid=paid, payment=payment, study=study, phase=phase, database=database)
    say(f"{annotator}: {amount:.2f} {'is' if paid else 'was not'} paid", annotator=annotator, amount=amount, paid=paid)


@app.command("ask-return")
def ask_return(
    annotator: AnnotatorArgument,
    why: Annotated[str, typer.Option("--why", help="What the person reads.")],
    study: StudyOption = DEFAULT,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Ask an annotator to return their submission; they may decline, and nobody is rejected."""
    api.prolific.ask_return(annotator, why, study=study, phase=phase, database=database)
    say(f"{annotator} was asked to return their submission", annotator=annotator)


@app.command("keep-out")
def keep_out(
    workspace: Annotated[str, typer.Argument(help="The workspace's id at Prolific.")],
    study: StudyArgument = DEFAULT,
    phase: PhaseOption = "pilot",
    again: AgainOption = False,
    database: DatabaseOption = None,
) -> None:
    """Put a round's people into a participant group there, to be kept out of a later round; later those who came since."""
    people, group = api.prolific.keep_out(workspace, study, phase=phase, again=again, database=database)
    say(f"{people} people are in the group {group}", people=people, group=group)
