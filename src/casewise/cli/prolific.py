"""`casewise prolific`: create the study at Prolific, add places, approve, reconcile, keep returners out."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt
from cyclopts.validators import Number

from casewise import api
from casewise.cli.options import DatabaseOption, PhaseOption, SiteOption
from casewise.cli.printing import confirmed, note, print_table, say
from casewise.cli.study import STUDY, StudyArgument
from casewise.errors import ExitCode, StudyError

app = App(name="prolific")

IdOption = Annotated[str | None, Parameter(help="The study's id at Prolific, where `create` did not put it on record.")]
AgainOption = Annotated[bool, Parameter(help="Another one, where one was made or begun for this round.")]


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
    workspace
        The workspace's id there. Default: your account's.
    project
        The project's id there. Default: the workspace's only one.
    """
    made, by_hand = api.prolific.create(
        study,
        phase=phase,
        places=places,
        keep_out=keep_out,
        workspace=workspace,
        project=project,
        again=again,
        database=database,
        site_url=site_url,
    )
    say(f"created, unpublished: {made}", created=made, by_hand=by_hand)
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
    """Let people in. From here on it costs money."""
    published = api.prolific.publish(study, phase=phase, prolific_study=prolific_study, database=database)
    say(f"{published} is published", published=published)


@app.command
def places(
    study: StudyArgument = STUDY,
    /,
    *,
    total: PositiveInt | None = None,
    phase: PhaseOption = "main",
    prolific_study: IdOption = None,
    database: DatabaseOption = None,
) -> None:
    """Raise or lower the number of places to what the round needs now, as skips, leavers and voids re-open slots.

    Parameters
    ----------
    total
        Places in all. Default: those taken, and as many as are needed.
    """
    if total is not None:
        name = api.prolific.set_places(total, study, phase=phase, prolific_study=prolific_study, database=database)
        say(f"{name} has {total} places", places=total)
        return
    found = api.prolific.fit_places(study, phase=phase, prolific_study=prolific_study, database=database)
    say(
        f"{found.taken} of {found.before} places taken, {found.needed} more people needed; "
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
        say(
            f"{found.failed_checks} were left out by the rules (failed checks, [exclusion]): whether they are paid is decided at Prolific, not here"
        )
    if counts["refused"]:
        raise SystemExit(ExitCode.NO)


QUESTIONS = {
    "approve": "Approve submissions: {many}{cost}?",
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
    prolific_study: IdOption = None,
    database: DatabaseOption = None,
) -> None:
    """List Prolific's submissions against the people here with what to do about each, and do it after a yes.

    Parameters
    ----------
    yes
        Do all of it; `--no` lists only. Default: ask for each kind.
    """
    first: list[api.prolific.Reconciled] | None = None
    done: list[api.prolific.Done] = []
    asked: set[tuple[str, str | None]] = set()
    while True:  # who is ended in one round is paid in the next
        lines = api.prolific.reconcile(study, phase=phase, prolific_study=prolific_study, database=database)
        lines = [line for line in lines if first is None or (line.action and line.key not in asked)]
        unsettled = [line for line in lines if line.advice != api.prolific.SETTLED]
        if unsettled:
            heads = ("submission", "there", "annotator", "here", "what to do")
            print_table(heads, [reconciled_row(line) for line in unsettled])
        if first is None:
            first, settled = lines, len(lines) - len(unsettled)
            say(f"{settled:,} settled, {len(unsettled):,} not", settled=settled)
        chosen = []
        for action, question in QUESTIONS.items():
            of_kind = [line for line in unsettled if line.action == action]
            asked |= {line.key for line in of_kind}
            cost = sum(line.amount for line in of_kind)
            words = question.format(many=f"{len(of_kind):,}", cost=f", for {cost:,.2f} without the fee" if cost else "")
            if of_kind and (confirmed(words) if yes is None else yes):
                chosen += of_kind
        if not chosen:
            break
        done += api.prolific.carry_out(chosen, study, phase=phase, database=database)
    refused = [result for result in done if result.refused]
    for result in refused:
        note(f"{reconciled_row(result.line)[0]}: {result.line.action} was refused: {result.refused}")
    counts = Counter(result.line.action for result in done if not result.refused)
    summary = "; ".join(f"{action}: {many}" for action, many in counts.items()) or "nothing was done"
    say(
        summary + (f"; refused: {len(refused)}" if refused else ""),
        done=dict(counts),
        refused=[{"submission": reconciled_row(result.line)[0], "why": result.refused} for result in refused],
        lines=[
            dict(zip(("submission", "there", "annotator", "here", "advice"), reconciled_row(line), strict=True))
            | {"action": line.action}
            for line in first
        ],
    )
    if refused:
        raise SystemExit(ExitCode.NO)


def reconciled_row(line: api.prolific.Reconciled) -> tuple[str, str, str, str, str]:
    there, here = line.submission, line.standing
    return (
        there.id if there else "",
        there.status.lower() if there else "",
        here.annotator if here else "",
        here.status if here else "",
        line.advice,
    )


@app.command
def person(
    number: str,
    study: StudyArgument = STUDY,
    /,
    *,
    message: str | None = None,
    bonus: Annotated[float | None, Parameter(validator=Number(gte=0.01))] = None,
    again: bool = False,
    settle: Literal["paid", "not-paid"] | None = None,
    payment: str | None = None,
    ask_return: str | None = None,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Write to an annotator there, pay a bonus, or ask for the submission to be returned. Nobody is rejected.

    Parameters
    ----------
    number
        The annotator's number in the study.
    message
        What to say.
    bonus
        An amount in the study's currency; never twice by accident.
    again
        With --bonus: even if one was begun before.
    settle
        What became of a bonus in doubt, as you saw it there: one that was not paid can be paid then.
    payment
        With --settle: its id there, where several are in doubt.
    ask_return
        Ask them to return their submission; the person reads this reason, and may decline.
    """
    if sum(wish is not None for wish in (message, bonus, settle, ask_return)) != 1:
        raise StudyError("give one of --message, --bonus, --settle and --ask-return")
    where: dict[str, Any] = {"study": study, "phase": phase, "database": database}
    if message is not None:
        api.prolific.message(number, message, **where)
        say(f"{number} was written to", annotator=number)
    elif bonus is not None:
        api.prolific.bonus(number, bonus, again=again, **where)
        say(f"{number} is paid {bonus:.2f} more", annotator=number, amount=bonus)
    elif settle is not None:
        paid = settle == "paid"
        amount = api.prolific.settle(number, paid=paid, payment=payment, **where)
        say(f"{number}: {amount:.2f} {'is' if paid else 'was not'} paid", annotator=number, amount=amount, paid=paid)
    else:
        api.prolific.ask_return(number, str(ask_return), **where)
        say(f"{number} was asked to return their submission", annotator=number)


@app.command(name="keep-out")
def keep_out(
    workspace: str,
    study: StudyArgument = STUDY,
    /,
    *,
    phase: Annotated[PhaseOption, Parameter(help="The round whose people are kept out.")] = "pilot",
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
