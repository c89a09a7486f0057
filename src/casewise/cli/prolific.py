"""`casewise prolific`: create the study at Prolific, add places, approve, reconcile, keep returners out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated

from cyclopts import App, Parameter

from casewise.api.prolific import NewProlificStudy, StudyAtProlific
from casewise.cli.options import DatabaseOption, PhaseOption, SiteOption
from casewise.cli.printing import confirm, note, print_table, say
from casewise.cli.study import STUDY, StudyArgument
from casewise.errors import ConfigurationError, ExitCode, RecruiterRefused
from casewise.options import Flat
from casewise.studies.prolific import SETTLED, Action, ReconciliationLine
from casewise.text import count_of

app = App(name="prolific")

IdOption = Annotated[str | None, Parameter(help="The study's id at Prolific, if `create` did not record it.")]


@app.command
def create(
    study: StudyArgument = STUDY,
    /,
    *,
    phase: PhaseOption = "main",
    wanted: Flat[NewProlificStudy] = NewProlificStudy(),
    dry_run: bool = False,
    database: DatabaseOption = None,
    site_url: SiteOption = None,
) -> None:
    """Create the study at Prolific, unpublished, so that you can look at it first.

    Parameters
    ----------
    dry_run
        Print how many people at Prolific pass the study's filters; create nothing.
    """
    if dry_run:
        many = StudyAtProlific(study).eligible()
        say(
            "fewer than 25 people" if many == 0 else f"{count_of(many, 'person')}", people=many, fewer_than_25=many == 0
        )
        return
    if wanted.keep_out == "pilot":
        if wanted.workspace is None:
            raise ConfigurationError("--keep-out pilot makes a participant group, which needs its --workspace")
        people, group = StudyAtProlific(study, "pilot", database).keep_out(wanted.workspace, again=wanted.again)
        say(f"{count_of(people, 'person')} in the group {group} cannot take part", kept_out=people, group=group)
        wanted = replace(wanted, keep_out=group)
    created, by_hand = StudyAtProlific(study, phase, database, site_url).create(wanted)
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
        f"{fitted.taken} of {count_of(fitted.before, 'place')} taken, {fitted.needed} more people needed; "
        f"it has {count_of(fitted.after, 'place')} now",
        taken=fitted.taken,
        needed=fitted.needed,
        places=fitted.after,
        paused=fitted.paused,
        started=fitted.started,
    )
    if fitted.started:
        say("casewise started the paused study at Prolific again")
    if fitted.why:
        consequence = "casewise paused the study" if fitted.paused else "you pay people who find no item"
        note(f"Prolific cannot remove places, so {consequence}: {fitted.why}")


KINDS: dict[Action, str] = {
    "approve": "approve the submission of people who completed or stopped",
    "pay": "pay a screen-out as a bonus",
    "end": "end the part of people who left; pay a whole batch for any rating, and a screen-out for none",
    "leave out": "exclude people who returned their submission; their slots open again",
    "ask return": "ask people to return a submission, once",
    "decide": "approve people who skipped more than allowed, or rated nothing",
}
"""The kinds of action, each with its own yes, and the whole of what it does."""


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

    First it prints what each kind of action would do, to how many people and for how much. Each kind needs your
    confirmation. No action rejects a submission. A payment in doubt is only listed: see `study person --settle`.

    Parameters
    ----------
    yes
        Do all actions without asking; `--no` only lists them. Default: ask for each kind.
    doubtful
        Also approve, or never approve, people who skipped more than allowed or rated nothing. Default: ask; with
        --yes or --no: leave them.
    """
    recruiting = StudyAtProlific(study, phase, database, prolific_study=prolific_study)
    lines = recruiting.reconcile()
    unsettled = [line for line in lines if line.advice != SETTLED]
    if unsettled:
        heads = ("submission", "there", "annotator", "here", "what to do")
        print_table(heads, [reconciled_row(line) for line in unsettled])
    settled, currency = len(lines) - len(unsettled), recruiting.currency()
    say(f"{settled:,} settled, {len(unsettled):,} not", settled=settled)
    by_kind = {kind: chosen for kind in KINDS if (chosen := [line for line in unsettled if line.action == kind])}
    print_kinds(by_kind, currency)
    agreed = {kind: agrees_to(kind, by_kind[kind], currency, yes=yes, doubtful=doubtful) for kind in by_kind}
    chosen = [line for kind, of_kind in by_kind.items() if agreed[kind] for line in of_kind]
    outcomes = list(zip(chosen, recruiting.carry_out(chosen), strict=True))
    failed: dict[str, list[dict[str, str]]] = {"refused": [], "not confirmed": []}
    for line, error in outcomes:
        if error is not None:
            submission, _, annotator, *_ = reconciled_row(line)
            how = "refused" if isinstance(error, RecruiterRefused | ConfigurationError) else "not confirmed"
            failed[how].append({"submission": submission, "why": str(error)})
            note(f"{submission or annotator}: {line.action} was {how}: {error}")
    carried_out = [line for line, error in outcomes if error is None]
    counts = Counter(str(line.action) for line in carried_out)
    amounts = {kind: sum(line.amount for line in carried_out if line.action == kind) for kind in counts}
    performed = [
        f"{kind}: {many}" + (f" ({amounts[kind]:,.2f} {currency})" if amounts[kind] else "")
        for kind, many in counts.items()
    ]
    in_doubt = recruiting.in_doubt()
    say(
        "; ".join(
            [*(performed or ["nothing was done"]), *(f"{how}: {len(lost)}" for how, lost in failed.items() if lost)]
        ),
        done=dict(counts),
        amounts=amounts,
        currency=currency,
        refused=failed["refused"],
        not_confirmed=failed["not confirmed"],
        in_doubt=[
            {"annotator": each.annotator_id, "payment": each.payment, "amount": each.amount} for each in in_doubt
        ],
        lines=[
            dict(zip(("submission", "there", "annotator", "here", "advice"), reconciled_row(line), strict=True))
            | {"action": line.action, "amount": line.amount}
            for line in lines
        ],
    )
    if in_doubt:
        total = sum(payment.amount for payment in in_doubt)
        note(f"{count_of(len(in_doubt), 'payment is')} in doubt ({total:,.2f} {currency}). No total counts them.")
    if in_doubt or any(failed.values()):
        raise SystemExit(ExitCode.NO)


def print_kinds(by_kind: dict[Action, list[ReconciliationLine]], currency: str) -> None:
    """Print each kind of action with the number of people and the cost."""
    rows = [
        (
            KINDS[kind],
            f"{len(lines):,}",
            f"{cost:,.2f} {currency}" if (cost := sum(line.amount for line in lines)) else "",
            f"{ratings:,}" if (ratings := sum(line.ratings for line in lines)) else "",
        )
        for kind, lines in by_kind.items()
    ]
    if rows:
        print_table(("action", "how many", "cost without the fee", "ratings that stop counting"), rows)


def agrees_to(
    kind: Action, lines: list[ReconciliationLine], currency: str, *, yes: bool | None, doubtful: bool | None
) -> bool:
    """True if the user agrees to all actions of one kind."""
    agreed = yes if kind != "decide" else doubtful
    if kind == "decide" and agreed is None and yes is not None:
        agreed = False
    if agreed is not None:
        return agreed
    cost = sum(line.amount for line in lines)
    words = KINDS[kind][:1].upper() + KINDS[kind][1:]
    return confirm(f"{words}: {len(lines):,}" + (f", for {cost:,.2f} {currency} without the fee?" if cost else "?"))


def reconciled_row(line: ReconciliationLine) -> tuple[str, str, str, str, str]:
    submission, standing = line.submission, line.standing
    return (
        submission.id if submission else "",
        submission.status.lower() if submission else "",
        standing.annotator if standing else "",
        standing.status if standing else "",
        line.advice,
    )
