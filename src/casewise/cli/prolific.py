"""`casewise prolific`: create the study at Prolific, add places, approve, reconcile, keep returners out."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt

from casewise.api.prolific import StudyAtProlific
from casewise.cli.options import DatabaseOption, PhaseOption, SiteOption
from casewise.cli.printing import confirmed, note, print_table, say
from casewise.cli.study import STUDY, StudyArgument
from casewise.errors import ConfigurationError, ExitCode
from casewise.studies.prolific import SETTLED, Reconciled

app = App(name="prolific")

IdOption = Annotated[str | None, Parameter(help="The study's id at Prolific, if `create` did not record it.")]


@app.command
def create(
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    places: PositiveInt | None = None,
    keep_out: str | None = None,
    workspace: str | None = None,
    project: str | None = None,
    again: bool = False,
    dry_run: bool = False,
    database: DatabaseOption = None,
    site_url: SiteOption = None,
) -> None:
    """Create the study at Prolific, unpublished, so that you can look at it first.

    Parameters
    ----------
    places
        Number of places. Default: the number of people in the estimate.
    keep_out
        Exclude a participant group: its id, or pilot, which puts the people of the pilot into a group of --workspace.
    again
        Create another study, even if one was created or begun for this round.
    dry_run
        Print how many people at Prolific pass the study's filters; create nothing.
    workspace
        The workspace's id at Prolific. Default: the workspace of your account.
    project
        The project's id at Prolific. Default: the only project of the workspace.
    """
    if dry_run:
        many = StudyAtProlific(study).eligible()
        say("fewer than 25 people" if many == 0 else f"{many:,} people", people=many, fewer_than_25=many == 0)
        return
    if keep_out == "pilot":
        if workspace is None:
            raise ConfigurationError("--keep-out pilot makes a participant group: name its --workspace")
        people, keep_out = StudyAtProlific(study, "pilot", database).keep_out(workspace, again=again)
        say(f"{people} people are in the group {keep_out}, which is kept out", kept_out=people, group=keep_out)
    created, by_hand = StudyAtProlific(study, phase, database, site_url).create(
        places=places, keep_out=keep_out, workspace=workspace, project=project, again=again
    )
    say(f"created, unpublished: {created}", created=created, by_hand=by_hand)
    if by_hand:
        say(f"Before you publish it, choose on Prolific's page: {by_hand}")


@app.command
def publish(
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    prolific_study: IdOption = None,
    database: DatabaseOption = None,
) -> None:
    """Publish the study at Prolific. From then on it costs money."""
    published = StudyAtProlific(study, phase, database, prolific_study=prolific_study).publish()
    say(f"{published} is published", published=published)


@app.command
def places(
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    prolific_study: IdOption = None,
    database: DatabaseOption = None,
) -> None:
    """Set the number of places at Prolific to the places taken plus the people that the round needs now."""
    fitted = StudyAtProlific(study, phase, database, prolific_study=prolific_study).fit_places()
    say(
        f"{fitted.taken} of {fitted.before} places taken, {fitted.needed} more people needed; "
        f"it has {fitted.after} places now",
        taken=fitted.taken,
        needed=fitted.needed,
        places=fitted.after,
        paused=fitted.paused,
        started=fitted.started,
    )
    if fitted.started:
        say("it was paused there, and is started again")
    if fitted.why:
        consequence = "it is paused there instead" if fitted.paused else "they stay, and whoever finds no item is paid"
        note(f"Prolific lets no place be taken away, so {consequence}: {fitted.why}")


QUESTIONS = {
    "approve": "Approve submissions: {many}{cost}?",
    "decide": "Approve those who skipped more than allowed, or rated nothing: {many}{cost}?",
    "pay": "Pay a screen-out as a bonus, people: {many}{cost}?",
    "ask return": "Ask for the return of submissions: {many}?",
    "end": "End the part of those who left, and count what they rated: {many}?",
    "leave out": "Leave out those who returned their submission, and re-open their slots: {many}?",
}


@app.command
def reconcile(
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    yes: Annotated[bool | None, Parameter(negative="--no")] = None,
    doubtful: Annotated[bool | None, Parameter(negative="--no-doubtful")] = None,
    prolific_study: IdOption = None,
    database: DatabaseOption = None,
) -> None:
    """Compare Prolific's submissions with the annotators in the database, and propose an action for each difference.

    Each kind of action needs your confirmation. No action rejects a submission.

    Parameters
    ----------
    yes
        Do all actions without asking; `--no` only lists them. Default: ask for each kind.
    doubtful
        Also approve, or never approve, people who skipped more than allowed or rated nothing. Default: ask; with
        --yes or --no: leave them.
    """
    recruiting = StudyAtProlific(study, phase, database, prolific_study=prolific_study)
    first: list[Reconciled] | None = None
    outcomes: list[tuple[Reconciled, str]] = []
    proposed: set[tuple[str, str | None]] = set()
    while True:  # who is ended in one round is paid in the next
        lines = recruiting.reconcile()
        lines = [line for line in lines if first is None or (line.action and line.key not in proposed)]
        unsettled = [line for line in lines if line.advice != SETTLED]
        if unsettled:
            heads = ("submission", "there", "annotator", "here", "what to do")
            print_table(heads, [reconciled_row(line) for line in unsettled])
        if first is None:
            first, settled = lines, len(lines) - len(unsettled)
            say(f"{settled:,} settled, {len(unsettled):,} not", settled=settled)
        chosen = []
        for action, question in QUESTIONS.items():
            of_kind = [line for line in unsettled if line.action == action]
            proposed |= {line.key for line in of_kind}
            cost = sum(line.amount for line in of_kind)
            words = question.format(many=f"{len(of_kind):,}", cost=f", for {cost:,.2f} without the fee" if cost else "")
            answer = yes if action != "decide" or doubtful is None else doubtful
            if of_kind and (confirmed(words) if answer is None else answer and (action != "decide" or bool(doubtful))):
                chosen += of_kind
        if not chosen:
            break
        outcomes += zip(chosen, recruiting.carry_out(chosen), strict=True)
    refused = [(reconciled_row(line)[0], line.action, why) for line, why in outcomes if why]
    for submission, refused_action, why in refused:
        note(f"{submission}: {refused_action} was refused: {why}")
    counts = Counter(line.action for line, why in outcomes if not why)
    summary = "; ".join(f"{action}: {many}" for action, many in counts.items()) or "nothing was done"
    say(
        summary + (f"; refused: {len(refused)}" if refused else ""),
        done=dict(counts),
        refused=[{"submission": submission, "why": why} for submission, _, why in refused],
        lines=[
            dict(zip(("submission", "there", "annotator", "here", "advice"), reconciled_row(line), strict=True))
            | {"action": line.action}
            for line in first
        ],
    )
    if refused:
        raise SystemExit(ExitCode.NO)


def reconciled_row(line: Reconciled) -> tuple[str, str, str, str, str]:
    submission, standing = line.submission, line.standing
    return (
        submission.id if submission else "",
        submission.status.lower() if submission else "",
        standing.annotator if standing else "",
        standing.status if standing else "",
        line.advice,
    )
