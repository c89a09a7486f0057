"""`casewise attack` and `casewise robustness`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts.types import PositiveInt

from casewise import api
from casewise.api.attacks import NOISE, AttackRun, attacks_or_all
from casewise.api.replying import PlannedReplies, chat_model, make_grader
from casewise.cli import judge as output
from casewise.cli.calls import Calls, Items
from casewise.cli.evaluate import Numbers, NumbersOptions, end_with_code
from casewise.cli.judge import AskingOptions, BeforeRunOptions, run_options
from casewise.cli.options import ASKED, BEFORE_RUN, ITEMS, MACHINE, MODEL, BenchmarkArgument, ElicitOption, RunArgument
from casewise.cli.printing import (
    DocumentOptions,
    Documents,
    confirm_sending,
    exit_with_status,
    is_json_output,
    note,
    print_estimate,
    print_json,
    print_unfinished,
    progress_display,
)
from casewise.cli.replies import grade_each
from casewise.errors import ConfigurationError
from casewise.judges.plan import select
from casewise.models.local import LocalOptions
from casewise.options import Flat
from casewise.replies.behaviour import REPLIES
from casewise.replies.collect import CollectOptions, chat_plan
from casewise.replies.grade import GradeOptions, grading_spend
from casewise.replies.graders import Grader
from casewise.runs.limits import run_sync
from casewise.runs.run import default_folder, run_spend
from casewise.runs.texts import makers_spend
from casewise.storage.load import source_of
from casewise.text import count_of
from casewise.transforms.texts import AdaptiveAttack


@dataclass(frozen=True)
class AttackOptions:
    """Attacks on a judge, and defences."""

    attacks: str | None = None
    """Attacks, separated by commas: all, claim:authority, twin:recipient, FILE (.jsonl, .toml, PyRIT's .yaml),
    python:MODULE:FUNCTION. Default: all; with --attacker: none."""
    defences: str = "none"
    """Defences, separated by commas: none, system, datamark, delimit, filter:MODEL, detect:MODEL, verified:FACTS and
    others."""
    noise: str = NOISE
    """Perturbations that measure the judge's own noise, such as paraphrase:MODEL; none turns them off."""
    repeats: PositiveInt = 1
    """Times to ask each item in each arm; more of them tell a judge that errs by chance from one that believes an attack."""
    at: str | None = None
    """Date for the facts of verified: and annotated:. Default: today."""


def attack(
    benchmark: BenchmarkArgument,
    /,
    *,
    judge: str | None = None,
    model: str | None = None,
    grader: tuple[str, ...] = (),
    attacking: Annotated[AttackOptions, ASKED] = AttackOptions(),
    adaptive: Annotated[AdaptiveAttack, ASKED] = AdaptiveAttack(),
    out: Path | None = None,
    elicit: ElicitOption = None,
    items: Annotated[Items, ITEMS] = Items(),
    asking: Annotated[AskingOptions, MODEL] = AskingOptions(),
    calls: Flat[Calls] = Calls(),
    local: Annotated[LocalOptions, MACHINE] = LocalOptions(),
    before: Annotated[BeforeRunOptions, BEFORE_RUN] = BeforeRunOptions(),
) -> None:
    """Judge every item under every attack and defence, or collect a chatbot's replies. The same command resumes the run.

    Parameters
    ----------
    judge
        The judge, as for casewise judge.
    model
        Instead of --judge: a chatbot whose replies are attacked; needs --grader.
    grader
        A grader of the replies, as for casewise replies grade; may be repeated.
    out
        Run folder, new or to resume. Default: runs/BENCHMARK-JUDGE-attack.
    """
    if (judge is None) == (model is None) or bool(model) != bool(grader):
        raise ConfigurationError(
            "give --judge, or --model with --grader; casewise show attacks says what there is to attack with"
        )
    if model is not None and adaptive.attacker is not None:
        raise ConfigurationError("--attacker works only on a judge; give --judge instead of --model")
    loaded = api.load(benchmark)
    arms = api.parse_attack_arms(
        loaded,
        attacks_or_all(attacking.attacks, adaptive),
        defences=attacking.defences,
        noise=attacking.noise,
        at=attacking.at,
    )
    folder = default_folder(f"{Path(benchmark).stem}-{judge or model}-attack")
    if len(asking.prompts) > 1:
        raise ConfigurationError("--prompts may be repeated in casewise judge only: attack one wording at a time")
    if judge is not None:
        live = asking.options(calls, local, seed=items.seed, needs_key=not before.dry_run)
        options = run_options(benchmark, loaded, live, items=items, calls=calls)
        planned = api.plan_run(
            loaded,
            judge,
            out=out or folder,
            elicitations=elicit or (),
            arms=arms,
            repeats=attacking.repeats,
            options=options,
        )
        attack_judge(AttackRun.from_plan(planned, adaptive), before)
        return
    reached = calls.model(asking.base_url, local, needs_key=not before.dry_run)
    collecting = CollectOptions(
        temperature=asking.live.ask.temperature,
        max_tokens=asking.live.ask.max_tokens,
        seed=items.seed,
        benchmark_source=source_of(benchmark, loaded),
        makers=reached,
        **calls.common(),
    )
    plan = chat_plan(select(loaded, items.select_from(loaded)), arms, attacking.repeats)
    chatbot = chat_model(str(model), reached)
    replies = PlannedReplies(out or Path("replies") / folder.name, loaded, chatbot, plan, options=collecting)
    bare = replace(reached, local=replace(local, adapter=None))  # the adapter is the chatbot's
    attack_replies(replies, [make_grader(name, options=bare) for name in grader], before)


def attack_judge(attack: AttackRun, before: BeforeRunOptions) -> None:
    """Have a judge decide under every attack and defence, and an attacker rewrite its claims where there is one."""
    beyond = attack.beyond_address()
    for host in beyond:
        note(
            f"--base-url is the address of {attack.run.judge.name} only; calls to the other provider's model go to {host}"
        )
    if before.dry_run:
        output.print_planned([attack.run], [attack.estimate()])
        for line in attack.notes_before():
            note(line)
        return
    confirm_sending("the benchmark's queries", None, *beyond, remembered=False)
    confirm_sending("the benchmark's queries", *attack.sends_to(), agreed=before.yes)
    with progress_display(f"attacking {attack.run.judge.name}") as watch:
        observed = replace(attack.run, options=replace(attack.run.options, watch=watch))
        run = run_sync(replace(attack, run=observed).perform())
    output.print_summary(run.summary, run.path, then="robustness")
    exit_with_status(run.summary)


def attack_replies(planned: PlannedReplies, graders: Sequence[Grader], before: BeforeRunOptions) -> None:
    """Collect a chatbot's replies under every attack and defence, and have them graded."""
    chatbot = planned.model.model.name
    if before.dry_run:
        print_estimate(planned.estimate(), chatbot, planned.estimate_before(), planned.unseen)
        if unseen := planned.unseen_note():
            note(unseen)
        return
    receivers = (*planned.sends_to(), *(grader.sends_to for grader in graders))
    confirm_sending("the benchmark's queries and the replies", *receivers, agreed=before.yes)
    options, folder = planned.options, planned.folder
    limits = options.limits.reduced_by(grading_spend(folder, graders))
    with progress_display(f"attacking {chatbot}") as watch:
        replies = replace(planned, options=replace(options, limits=limits)).perform(watch)
    print_unfinished(replies.summary, replies.path)
    limits = options.limits.reduced_by(run_spend(folder, REPLIES) + makers_spend(folder))
    grading = GradeOptions(limits=limits, command=options.command, batch=options.batch)
    gradable = replies.summary.n_done and not replies.summary.n_pending
    summaries = grade_each(replies.path, graders, grading, benchmark=replies.benchmark) if gradable else []
    if is_json_output():
        print_json({"replies": replies.summary.as_json(), "grades": [summary.as_json() for summary in summaries]})
    elif gradable:
        print(f"{count_of(replies.summary.n_usable, 'reply')}: {replies.path}")
        note(f"next: casewise robustness {shlex.quote(str(replies.path))}")
    for progress in (replies.summary, *summaries):
        exit_with_status(progress)


def robustness(
    run: RunArgument, /, *, numbers: Numbers = NumbersOptions(), documents: Documents = DocumentOptions()
) -> None:
    """Report how attacks changed verdicts, compared with the same items without attack.

    Parameters
    ----------
    run
        A run folder of casewise attack.
    """
    report = api.robustness(run, benchmark=numbers.benchmark, options=numbers.options())
    documents.present_with_page(report, run / "robustness.html")
    end_with_code(nothing_scored=report.numbers.nothing_scored)
