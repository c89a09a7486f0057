"""Studies from the command line."""

from __future__ import annotations

import shlex
import time
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from cyclopts import App, Parameter
from cyclopts.types import PositiveInt
from cyclopts.validators import Number

from casewise import api
from casewise.api.prolific import StudyAtProlific
from casewise.api.studies import Study, init_replies
from casewise.cli.options import FREE_TEXT, DatabaseOption, FormatOption, PhaseOption, SiteOption
from casewise.cli.printing import (
    DocumentOptions,
    confirm,
    is_json_output,
    note,
    print_json,
    print_table,
    say,
)
from casewise.errors import ConfigurationError, StudyError
from casewise.notation import percent
from casewise.options import Flat
from casewise.reports import power
from casewise.studies.design import NO_CONTACT, RatedThing
from casewise.studies.monitor import Monitor
from casewise.studies.owner import Overview
from casewise.studies.rounds import RehearsalOptions, RoundState, StudyPlan, init_study, read_plan
from casewise.text import count_of

app = App(name="study")

STUDY = Path("study.toml")

StudyArgument = Annotated[Path, Parameter(help="The study's TOML file.", name="STUDY")]


@app.command
def rehearse(
    study: StudyArgument = STUDY,
    /,
    *,
    url: str | None = None,
    options: Flat[RehearsalOptions] = RehearsalOptions(),
    database: DatabaseOption = None,
) -> None:
    """Send simulated people through the real pages. Their ratings never count.

    Parameters
    ----------
    url
        Address of `casewise serve` on the same database. Default: start one.
    """
    from casewise.web.load_test import TURNED_AWAY, rehearse_study  # an extra

    rehearsed = rehearse_study(study, options, url=url, database=database)
    result = rehearsed.result
    speed = {
        "steps": len(result.latencies_s),
        "steps_per_s": round(result.steps_per_s, 1),
        "p50_ms": round(result.percentile_ms(50), 1),
        "p99_ms": round(result.percentile_ms(99), 1),
    }
    if is_json_output():
        facts = {**asdict(rehearsed.overview), "exact": rehearsed.overview.exact, "people": result.people}
        print_json({**facts, "outcomes": dict(result.outcomes), "for_nothing": result.for_nothing, **speed})
        return
    print_overview(rehearsed.overview)
    print(
        f"{result.people:,} simulated people: "
        + ", ".join(f"{n} {outcome}" for outcome, n in sorted(result.outcomes.items()))
    )
    print(
        f"the design needs {count_of(read_plan(study).estimate.annotators, 'person')} who rate; here all pass the quiz, and the slots of "
        "people who left or failed the checks go to further people"
    )
    if not isnan(result.for_nothing):
        let_in = result.people - result.outcomes[TURNED_AWAY]
        print(f"{percent(result.for_nothing)} of {let_in:,} people who began passed the quiz and then found no place")
    print(
        f"{speed['steps']:,} full steps (answer and next page), {speed['steps_per_s']} a second; "
        f"median {speed['p50_ms']} ms, p99 {speed['p99_ms']} ms"
    )
    if not isnan(result.slowdown):
        print(f"the last thousand steps took {result.slowdown:.2f} times as long as the first")


@app.command
def report(
    ratings: str,
    /,
    *,
    out: Path = Path("study-report"),
    contrast: tuple[str, ...] = (),
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
    """Analyse a study's ratings: print the main tables; write the page, tables and figures.

    An exported study is analysed by its frozen plan. The report lists each option that differs as a departure.

    Parameters
    ----------
    ratings
        CSV or Parquet (item, query, category, condition, annotator, verdict), a table of vote strings, a benchmark folder,
        demo, or a published JSON file.
    out
        Folder for the page, tables and figures: a new one, or one with an earlier report of the same study.
    contrast
        A planned contrast FIRST:SECOND; may be repeated. Default: the first condition with each other one.
    flow
        CSV of people at each step: step, condition (or all), people.
    margin
        Largest difference that counts as equivalent (TOST). Default: as frozen, else 0.05.
    alpha
        Level of the tests. Default: as frozen, else 0.05.
    correction
        Correction for several tests: holm, bonferroni, benjamini-hochberg or none. Default: as frozen, else holm.
    labels
        Label policy: votes, published or intended. Default: as frozen, else votes.
    ties
        Treatment of ties: half, drop, safe or unsafe. Default: as frozen, else half.
    exclude
        Annotators to exclude: failed_checks or none. Default: as frozen.
    judge
        A run over all items; may be repeated. Adds rates with the judge's help where people rated a random part, and
        the judge's results on generated and revised contexts.
    crossed
        Each annotator may rate under several conditions.
    seed
        Seed of the bootstrap and of the permutations.
    """
    analysis = api.study_report(
        ratings,
        crossed=crossed,
        judges=judge,
        alpha=alpha,
        correction=correction,
        labels=labels,
        ties=ties,
        exclude=None if exclude is None else () if exclude == "none" else (exclude,),
        contrasts=api.read_contrasts(contrast) if contrast else None,
        margin=margin,
        flow=None if flow is None else api.read_flow(flow),
        seed=seed,
    )
    page = out / "report.html"
    again = page.exists()
    analysis.write(out)
    DocumentOptions(form=form).present(analysis)
    note(f"page: {page}" + (" (in place of the earlier one)" if again else ""))


@app.command
def init(
    benchmark: str,
    /,
    *,
    preset: str | None = None,
    people: PositiveInt | None = None,
    question: Literal["request", "reply"] = "request",
    actions: bool = False,
    ask_first: bool = False,
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
        demo, casebench, a benchmark folder or a published JSON file; with --question reply, a folder of replies.
    preset
        paper, paper-rest (the items that the paper did not release), prolific, lab or experts. Default: lab; for
        replies: experts.
    people
        Number of people you have. Each item gets as many ratings as they can give. Default: the preset's number of
        ratings.
    question
        The question to people: request (should a chatbot respond?) or reply (does the reply answer or refuse?).
    actions
        Ask about the actions of an agent: should it take this action? The benchmark must hold only actions.
    ask_first
        With --actions: offer "Ask me first" as a third answer, which is kept as a vote of its own.
    sample
        With --question reply: number of replies to draw at random.
    seed
        With --question reply: seed of the draw.
    to
        The file to write.
    name
        The study's name. Default: the benchmark's name.
    researcher
        The person whom annotators can write to.
    institution
        The researcher's institution.
    email
        The researcher's e-mail address.
    """
    parts = {"researcher": researcher, "institution": institution, "email": email}
    contact = NO_CONTACT.model_copy(update={part: value for part, value in parts.items() if value})
    given_name: dict[str, Any] = {"path": to, "name": name, "contact": contact}
    if ask_first and not actions:
        raise ConfigurationError("--ask-first works only with --actions: only an agent can ask its user before it acts")
    if question == "reply":
        if actions:
            raise ConfigurationError("--actions works only with --question request")
        if people is not None:
            raise ConfigurationError("--people works only with --question request")
        preset = preset or "experts"
        design = init_replies(benchmark, sample=sample, seed=seed, preset=preset, **given_name)
        say(f"{to}: {count_of(design.ratings.per_item, 'person')} a reply; drawn replies: {design.benchmark}")
    else:
        rates: RatedThing = "actions_or_ask" if ask_first else "actions" if actions else "requests"
        design = init_study(benchmark, preset=preset or "lab", people=people, rates=rates, **given_name)
        say(f"{to}: {count_of(len(design.conditions), 'condition')}: {', '.join(design.conditions)}")
    if people is not None:
        print_people(people, read_plan(to))
    first = "Fill in [contact], look through the rest, then" if contact.placeholders else "next"
    say(
        f"{first}: casewise study check {shlex.quote(str(to))}",
        file=str(to),
        benchmark=design.benchmark,
        conditions=list(design.conditions),
    )


def print_people(people: int, plan: StudyPlan) -> None:
    """Print the ratings that this number of people can give, and the smallest difference that they can find."""
    estimate, design = plan.estimate, plan.design
    say(
        f"{count_of(estimate.items, 'item')} with {count_of(design.ratings.per_item, 'rating')} each need {count_of(estimate.annotators, 'person')} who rate. About "
        f"{estimate.screened_out:,} more may not pass the quiz, so the study uses {estimate.people:,} of your {count_of(people, 'person')}.",
        per_item=design.ratings.per_item,
        people=estimate.people,
    )
    if len(design.conditions) > 1 and estimate.annotators >= 2 * len(design.conditions):
        answer = power.people(
            power.People(estimate.annotators, items=estimate.items),
            conditions=len(design.conditions),
            per_item=design.ratings.per_item,
            per_annotator=design.ratings.per_annotator,
            alpha=design.analysis.alpha,
        )
        difference = answer.numbers["safe_rate_difference"]
        say(
            f"With queries and people as in casewise's simulated crowd, they find a difference of {100 * difference:.1f} points "
            f"between two conditions with a probability of 80 %, at alpha {design.analysis.alpha:g}.",
            safe_rate_difference=difference,
        )


@app.command
def check(study: StudyArgument = STUDY, /, *, freeze: bool = False, deposit: Path | None = None) -> None:
    """Validate a study; print its ratings, people, time and cost. --freeze fixes the design.

    Parameters
    ----------
    freeze
        Fix contrasts, exclusions, stopping and label policy. Reports list every later departure.
    deposit
        With --freeze: also write a preregistration package to this new folder. It holds preregistration text, frozen
        plan, consent and texts, and codebook.
    """
    if deposit is not None and not freeze:
        raise ConfigurationError("--deposit works only with --freeze")
    plan = read_plan(study)
    departures = [str(departure) for departure in plan.departures]
    if not is_json_output():
        print_plan(plan)
    say(
        "\n".join(f"departs from the frozen plan: {departure}" for departure in departures),
        **asdict(plan.estimate),
        total=plan.estimate.total,
        currency=plan.design.pay.currency,
        problem=plan.problem,
        departures=departures,
    )
    if plan.problem:
        raise StudyError(plan.problem)
    if freeze:
        frozen = Study(study).freeze()
        say(f"{frozen} holds the frozen plan. Publish it with your preregistration.", frozen=str(frozen))
    if deposit is not None:
        package = Study(study).deposit(deposit)
        say(f"{package}: read preregistration.md before you publish it", deposit=str(package))


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
        Open a small round with a box for remarks. Its people cannot take part in the main study.
    queries
        With --pilot: number of queries, each in all conditions.
    per_item
        With --pilot: number of ratings of each item.
    """
    place = Study(study, database=database, site_url=site_url)
    opened = place.pilot(queries=queries, per_item=per_item) if pilot else place.open()
    design = opened.plan.design
    departures = [str(change) for change in opened.plan.departures]
    say(
        f"The {opened.phase} round of {design.name} {design.version} is open. People arrive at:\n  {opened.url}",
        name=design.name,
        version=design.version,
        phase=opened.phase,
        url=opened.url,
        departures=departures,
    )
    for departure in departures:
        say(f"departs from the frozen plan: {departure}")
    say("People can answer while the web app runs: casewise serve")
    if urlsplit(opened.url).hostname in ("127.0.0.1", "localhost", "::1"):
        say(
            "This address opens on this machine only. For other people, host the web app and give its address: --site-url https://…"
        )
    if design.recruiter.kind == "invitation":
        main = "" if opened.phase == "main" else f" --phase {opened.phase}"
        say(f"Make a link for each person with: casewise invite {shlex.quote(str(study))}{main}")


@app.command
def status(study: StudyArgument = STUDY, /, *, phase: PhaseOption = "main", database: DatabaseOption = None) -> None:
    """Show the progress of each condition."""
    status_now = Study(study, phase, database).status()
    overview = status_now.monitor.overview
    if is_json_output():
        print_json(
            {"state": status_now.state, **asdict(overview), "exact": overview.exact, **status_now.monitor.as_json()}
        )
        return
    print(f"{status_now.round.name} {status_now.round.version}, {status_now.round.phase} round, {status_now.state}")
    print_overview(overview)
    print_monitor(status_now.monitor, currency=status_now.round.design.pay.currency)


@app.command
def ledger(study: StudyArgument = STUDY, /, *, phase: PhaseOption = "main", database: DatabaseOption = None) -> None:
    """List the amount owed to each person, and each payment that was begun, confirmed, or is in doubt.

    Amounts are in the study's currency, without the recruiter's fee. No total counts a payment in doubt.
    `?` marks what a person has to decide.
    """
    place = Study(study, phase, database)
    lines, currency = place.ledger(), place.currency()
    columns = ("owed", "begun", "confirmed", "doubtful")
    totals = {name: round(sum(getattr(line, name) for line in lines), 2) for name in columns}
    if is_json_output():
        print_json({"currency": currency, "totals": totals, "people": [asdict(line) for line in lines]})
        return
    rows = [
        (
            line.annotator_id,
            f"{line.owed:.2f}" + (" ?" if line.decision else ""),
            *(f"{getattr(line, name):.2f}" for name in columns[1:]),
            "; ".join(line.reasons),
        )
        for line in lines
    ]
    if rows:
        print_table(("annotator", *columns, "why"), rows)
    print(
        f"{count_of(len(lines), 'person')}; "
        + ", ".join(f"{name} {amount:,.2f} {currency}" for name, amount in totals.items())
    )


@app.command(name="set")
def set_state(
    state: RoundState,
    study: StudyArgument = STUDY,
    /,
    *,
    amend: Annotated[str | None, FREE_TEXT] = None,
    condition: str | None = None,
    phase: PhaseOption = "main",
    yes: bool = False,
    database: DatabaseOption = None,
) -> None:
    """Pause, reopen or close a round, or close one condition of it.

    Parameters
    ----------
    state
        paused: no new person can begin, and people who have a batch may finish. open: people can begin again. closed: the
        study is over; people who have a batch may finish, and people in the quiz are paid.
    amend
        With open: continue with more ratings of each item, as set in study.toml. The text is the reason; every report
        prints it.
    condition
        With closed or open: only this condition. No new person gets a batch in it; the other conditions continue.
    yes
        Amend without asking for confirmation.
    """
    if condition is not None:
        if state == "paused" or amend is not None:
            raise ConfigurationError("--condition works only with closed or open, without --amend")
        Study(study, phase, database).set_condition(condition, closed=state == "closed")
        say(f"The condition {condition} is {state}.", condition=condition, state=state)
        return
    if amend is not None:
        if state != "open":
            raise ConfigurationError("--amend works only with open; pause the round and change study.toml before")
        if not amend_round(study, why=amend, phase=phase, yes=yes, database=database):
            note("Nothing was changed, and the round is still paused. To reopen it: casewise study set open")
            return

    def wait(seconds: float) -> None:
        note(f"Waiting {seconds:.0f} s, until every server has read the amendment.")
        time.sleep(seconds)

    changed = Study(study, phase, database).set_state(state, wait=wait)
    facts = {"name": changed.name, "version": changed.version, "phase": changed.phase, "state": state}
    say("{name} {version} ({phase}) is {state}".format(**facts), **facts)


def amend_round(study: Path, *, why: str, phase: str, yes: bool, database: str | None) -> bool:
    """Print the changes of study.toml to the round, and make them after consent. Return True if they were made."""
    place = Study(study, phase, database)
    amendment = place.amendment()
    (before, after), (cost_before, cost_after) = amendment.ratings, amendment.cost
    say(amendment.change, said=amendment.change)
    say(f"ratings: {before:,}, then {after:,}", ratings=[before, after])
    cost = f"{cost_before:,.2f} {amendment.currency}, then {cost_after:,.2f} {amendment.currency}"
    say(f"cost to come: {cost}", to_come=[cost_before, cost_after])
    say("Every report will list this change as a departure from the frozen design, made while people rated.")
    agreed = yes or confirm("Continue?")
    if agreed:
        place.amend(amendment, reason=why)
    say("The round is amended." if agreed else "", amended=agreed)
    return agreed


@app.command
def owners(
    study: StudyArgument = STUDY,
    /,
    *,
    add: str | None = None,
    remove: str | None = None,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Show or change who sees this study on the owners' pages.

    An owner sees the studies that they are assigned to. An owner without a study sees the studies without an owner.

    Parameters
    ----------
    add
        The e-mail address of an owner to assign to the study, in all its rounds.
    remove
        The e-mail address of an owner to remove from the study.
    """
    emails = Study(study, phase, database).owners(add=add, remove=remove)
    say("\n".join(emails) or "no owner is assigned: every owner without a study sees it", owners=emails)


@app.command
def person(
    number: str,
    study: StudyArgument = STUDY,
    /,
    *,
    leave_out: Annotated[str | None, FREE_TEXT] = None,
    take_in: Annotated[str | None, FREE_TEXT] = None,
    forget: bool = False,
    certificate: Path | None = None,
    message: Annotated[str | None, FREE_TEXT] = None,
    bonus: Annotated[float | None, Parameter(validator=Number(gte=0.01))] = None,
    again: bool = False,
    settle: Literal["paid", "not-paid"] | None = None,
    payment: str | None = None,
    ask_return: Annotated[str | None, FREE_TEXT] = None,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Exclude or include one annotator, delete their data, or message or pay them at Prolific.

    No action rejects a submission.

    Parameters
    ----------
    number
        The annotator's number in the study; with --forget also the recruiter's id of the person.
    leave_out
        Exclude the annotator for this reason. The reason is stored, so name no person in it. The slots open again, and
        reports give results with and without these ratings.
    take_in
        Include an excluded annotator again, for this reason. Ratings whose slots are filled by now stay excluded.
    forget
        Delete the data about the annotator; until the date stated in the study, the ratings as well. A list outside the
        database makes every restored backup repeat it.
    certificate
        With --forget: write a certificate of the erasure to this file.
    message
        At Prolific: send this message to the annotator.
    bonus
        At Prolific: pay this amount in the study's currency; never twice by accident.
    again
        With --bonus: pay even if a bonus was begun before.
    settle
        State whether a bonus in doubt was paid, as Prolific shows it. If it was not, it can be paid again.
    payment
        With --settle: the payment's id at Prolific, if several are in doubt.
    ask_return
        At Prolific: ask the annotator to return the submission, for this reason. The annotator reads it and may decline.
    """
    wishes = {
        "--leave-out": leave_out,
        "--take-in": take_in,
        "--forget": forget or None,
        "--message": message,
        "--bonus": bonus,
        "--settle": settle,
        "--ask-return": ask_return,
    }
    if sum(wish is not None for wish in wishes.values()) != 1:
        raise StudyError(f"give one of {', '.join(wishes)}")
    place = StudyAtProlific(study, phase, database)
    if leave_out is not None:
        reopened = place.void(number, reason=leave_out)
        say(f"{number} is excluded; {count_of(reopened, 'slot is')} open again", annotator=number, reopened=reopened)
    elif take_in is not None:
        counted = place.restore(number, reason=take_in)
        say(f"{number} is included again, with {count_of(counted, 'rating')}", annotator=number, counted=counted)
    elif message is not None:
        place.message(number, message)
        say(f"the message to {number} was sent", annotator=number)
    elif bonus is not None:
        place.bonus(number, bonus, again=again)
        say(f"{number} is paid {bonus:.2f} more", annotator=number, amount=bonus)
    elif settle is not None:
        paid = settle == "paid"
        amount = place.settle(number, paid=paid, payment=payment)
        say(f"{number}: {amount:.2f} {'is' if paid else 'was not'} paid", annotator=number, amount=amount, paid=paid)
    elif ask_return is not None:
        place.ask_return(number, ask_return)
        say(f"{number} was asked to return their submission", annotator=number)
    else:
        erasure, text = place.forget(number)
        ratings_words = "withdrawn" if erasure.ratings == "withdrawn" else "kept without a link to the person"
        say(
            f"the data about the person are deleted; the ratings are {ratings_words}",
            ratings=erasure.ratings,
            number=erasure.number,
            signature=erasure.signature,
        )
        if certificate is not None:
            certificate.write_text(text, encoding="utf-8")
            say(f"{certificate}: the certificate of erasure {erasure.number}", certificate=str(certificate))


def print_plan(plan: StudyPlan) -> None:
    """Print the result of `study check`."""
    estimate, design, left_out = plan.estimate, plan.design, plan.material.left_out
    money = design.pay.currency
    print(
        f"{count_of(estimate.items, 'item')} in {count_of(len(design.conditions), 'condition')}, {count_of(design.ratings.per_item, 'rating')} each:"
    )
    print(
        f"  {count_of(estimate.ratings, 'rating')}, by {count_of(estimate.annotators, 'annotator')} at {estimate.largest_batch} each"
    )
    full = f"at the full pay of {design.pay.per_batch:,.2f} {money}"
    if estimate.largest_batch < design.ratings.per_annotator:
        per_annotator = f"ratings.per_annotator = {design.ratings.per_annotator}"
        print(f"  no condition has so many items as {per_annotator}: each batch is short, {full}; lower both")
    if estimate.short_batches:
        print(f"  {estimate.short_batches:,} of the batches have fewer items, {full}")
    print(f"  {estimate.screened_out:,} more may not pass the quiz: {count_of(estimate.people, 'person')} in all")
    unpassed = estimate.screened_out * design.pay.screen_out
    print(
        f"  {count_of(round(estimate.hours), 'hour')} of people's time, {estimate.minutes_per_annotator:.1f} minutes each"
    )
    print(
        f"  {estimate.pay - unpassed:,.2f} {money} to those who rate, {unpassed:,.2f} {money} to those who do not pass the quiz "
        f"and {estimate.fees:,.2f} {money} in fees: {estimate.total:,.2f} {money}"
    )
    print(f"  {estimate.hourly:.2f} {money} an hour for the median annotator (floor {estimate.hourly_floor:.2f})")
    if left_out:
        verb = "is" if left_out == 1 else "are"
        print(f"  {count_of(left_out, 'item')} about child-related crimes {verb} left out ([sensitive] turns them on)")


def print_overview(overview: Overview) -> None:
    """Print a line for each condition, and the number of people at each step."""
    names = ("promised", "valid", "reserved", "open", "surplus", "void", "skipped", "people")
    rows = [
        [state.condition + (" (closed)" if state.closed else ""), *(getattr(state, name) for name in names)]
        for state in overview.conditions
    ]
    total = ["all", *(sum(getattr(state, name) for state in overview.conditions) for name in names)]
    print_table(["condition", *names], [*rows, total])
    if overview.stages:
        print("people: " + ", ".join(f"{count} {stage}" for stage, count in sorted(overview.stages.items())))
    if overview.median_seconds is not None:
        print(f"median time for an item: {overview.median_seconds:.1f} s")
    print(
        "every item has exactly the promised ratings"
        if overview.exact
        else "some items do not have the promised ratings yet"
    )


def print_monitor(now: Monitor, *, currency: str) -> None:
    """Print the speed, end and cost of a round, and the people at each step."""
    if now.overview.valid:
        ends = f"; at this pace the round is complete about {now.ends_at:%Y-%m-%d %H:%M} UTC" if now.ends_at else ""
        pace = f"the current pace is {now.valid_per_hour:,.1f} an hour"
        print(f"valid ratings: {now.valid_last_hour:,} in the last hour; {pace}{ends}")
    if now.median_minutes_before is not None:
        print(f"median from consent to the batch: {now.median_minutes_before:.1f} minutes")
    for amendment in now.amendments:
        print(f"amended {amendment}")
    money, funnel = now.money, now.funnel
    budget = "" if money.budget is None else f"; the budget is {money.budget:,.2f} {currency}"
    print(
        f"{money.spent:,.2f} {currency} spent, {money.doubtful:,.2f} in doubt, {money.promised:,.2f} promised, "
        f"{money.to_come:,.2f} to come: {money.total:,.2f} {currency}{budget}"
    )
    print(
        f"{funnel.arrived:,} arrived ({funnel.turned_away:,} more turned away), {funnel.consented:,} consented, "
        f"{funnel.quiz:,} tried the quiz, {sum(funnel.batch.values()):,} had a batch, "
        f"{sum(funnel.finished.values()):,} rated all of it"
    )
