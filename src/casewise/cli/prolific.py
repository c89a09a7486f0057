"""`casewise prolific`: create the study at Prolific, add places, approve, keep returners out."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt
from cyclopts.validators import Number

from casewise import api
from casewise.cli.options import DatabaseOption, SiteOption
from casewise.cli.printing import confirmed, note, print_table, say
from casewise.cli.study import STUDY, PhaseOption, StudyArgument, StudyOption
from casewise.errors import ExitCode

app = App(name="prolific")

IdArgument = Annotated[str, Parameter(help="The study's id at Prolific.", name="PROLIFIC_STUDY")]
AnnotatorArgument = Annotated[str, Parameter(help="The annotator's number in the study.", name="ANNOTATOR")]
AgainOption = Annotated[bool, Parameter(help="Another one, where one was made or begun for this round.")]


@app.command
def create(
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    places: PositiveInt | None = None,
    keep_out: str | None = None,
    again: AgainOption = False,
    database: DatabaseOption = None,
    site_url: SiteOption = None,
) -> None:
    """Create the study there, unpublished: look at it, then publish it.

    Parameters
    ----------
    places
        People; else as many as the estimate needs.
    keep_out
        A participant group to keep out.
    """
    made, by_hand = api.prolific.create(
        study, phase=phase, places=places, keep_out=keep_out, again=again, database=database, site_url=site_url
    )
    say(f"created, unpublished: {made}", created=made, by_hand=by_hand)
    if by_hand:
        say(f"Before you publish it, choose on Prolific's page: {by_hand}")


@app.command
def publish(prolific_study: IdArgument, /) -> None:
    """Let people in. From here on it costs money."""
    api.prolific.publish(prolific_study)
    say(f"{prolific_study} is published", published=prolific_study)


@app.command
def places(
    prolific_study: IdArgument,
    total: PositiveInt | None = None,
    /,
    *,
    study: StudyOption = STUDY,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Raise or lower the number of places to what the round needs now, as skips, leavers and voids re-open slots.

    Parameters
    ----------
    total
        Places in all. Default: those taken, and as many as are needed.
    """
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


@app.command
def eligible(study: StudyArgument = STUDY, /) -> None:
    """How many people there pass the study's filters, before you pay for anything."""
    many = api.prolific.eligible(study)
    say("fewer than 25 people" if many == 0 else f"{many:,} people", people=many, fewer_than_25=many == 0)


@app.command
def approve(
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    doubtful: Annotated[bool | None, Parameter(negative="--no-doubtful")] = None,
    database: DatabaseOption = None,
) -> None:
    """Pay everybody who finished or stopped early; again at will. Nobody is ever rejected from here.

    Parameters
    ----------
    doubtful
        Pay those too who skipped more than allowed, or rated nothing. Default: ask.
    """
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
        raise SystemExit(ExitCode.NO)


@app.command
def message(
    annotator: AnnotatorArgument,
    /,
    *,
    text: str,
    study: StudyOption = STUDY,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Write to an annotator there.

    Parameters
    ----------
    text
        What to say.
    """
    api.prolific.message(annotator, text, study=study, phase=phase, database=database)
    say(f"{annotator} was written to", annotator=annotator)


@app.command
def bonus(
    annotator: AnnotatorArgument,
    /,
    *,
    amount: Annotated[float, Parameter(validator=Number(gte=0.01))],
    study: StudyOption = STUDY,
    phase: PhaseOption = "main",
    again: bool = False,
    database: DatabaseOption = None,
) -> None:
    """Pay an annotator a bonus; never twice by accident.

    Parameters
    ----------
    amount
        In the study's currency.
    again
        Even if a bonus was begun before.
    """
    api.prolific.bonus(annotator, amount, study=study, phase=phase, again=again, database=database)
    say(f"{annotator} is paid {amount:.2f} more", annotator=annotator, amount=amount)


@app.command
def settle(
    annotator: AnnotatorArgument,
    /,
    *,
    paid: Annotated[bool, Parameter(negative="--not-paid")],
    payment: str | None = None,
    study: StudyOption = STUDY,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Say what became of a bonus in doubt, as you saw it there: one that was not paid can be paid then.

    Parameters
    ----------
    paid
        What you saw at Prolific.
    payment
        Its id there, where several are in doubt.
    """
    amount = api.prolific.settle(annotator, paid=paid, payment=payment, study=study, phase=phase, database=database)
    say(f"{annotator}: {amount:.2f} {'is' if paid else 'was not'} paid", annotator=annotator, amount=amount, paid=paid)


@app.command(name="ask-return")
def ask_return(
    annotator: AnnotatorArgument,
    /,
    *,
    why: str,
    study: StudyOption = STUDY,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Ask an annotator to return their submission; they may decline, and nobody is rejected.

    Parameters
    ----------
    why
        What the person reads.
    """
    api.prolific.ask_return(annotator, why, study=study, phase=phase, database=database)
    say(f"{annotator} was asked to return their submission", annotator=annotator)


@app.command(name="keep-out")
def keep_out(
    workspace: str,
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "pilot",
    again: AgainOption = False,
    database: DatabaseOption = None,
) -> None:
    """Put a round's people into a participant group there, to be kept out of a later round; later those who came since.

    Parameters
    ----------
    workspace
        The workspace's id at Prolific.
    """
    people, group = api.prolific.keep_out(workspace, study, phase=phase, again=again, database=database)
    say(f"{people} people are in the group {group}", people=people, group=group)
