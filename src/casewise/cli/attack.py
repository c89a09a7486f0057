"""`casewise attack` and `casewise robustness`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from casewise import api
from casewise.api.attacks import NOISE, AttackRun, attacks_or_all
from casewise.api.replying import PlannedReplies, as_grader, chat_model
from casewise.cli import judge as output
from casewise.cli.evaluate import Numbers, NumbersOptions, end_with_code
from casewise.cli.judge import AskingOptions, HowOptions, run_options
from casewise.cli.options import (
    ASKED,
    HOW,
    ITEMS,
    MACHINE,
    MODEL,
    BenchmarkArgument,
    Calls,
    ElicitOption,
    Items,
    RunArgument,
)
from casewise.cli.printing import (
    DocumentOptions,
    Documents,
    as_json,
    command_line,
    end,
    leave,
    note,
    print_json,
    tell_pending,
    watching,
)
from casewise.cli.replies import tell_estimate
from casewise.errors import ConfigurationError
from casewise.judges.run import select
from casewise.models.local import LocalOptions
from casewise.options import Flat
from casewise.records import Arm
from casewise.replies.collect import CollectOptions, chat_plan
from casewise.replies.grade import GradeOptions
from casewise.runs.run import default_folder
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import write_text
from casewise.storage.load import source_of
from casewise.transforms.texts import Adaptive

# `casewise attack` and `casewise robustness`: lie to a judge about the context, and see what becomes of its
# verdicts.


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
    at: str | None = None
    """Date for the facts of verified: and annotated:. Default: today."""


def attack(
    benchmark: BenchmarkArgument,
    /,
    *,
    judge: str | None = None,
    model: str | None = None,
    grader: tuple[str, ...] = (),
    wanted: Annotated[AttackOptions, ASKED] = AttackOptions(),
    adaptive: Annotated[Adaptive, ASKED] = Adaptive(),
    out: Path | None = None,
    elicit: ElicitOption = None,
    items: Annotated[Items, ITEMS] = Items(),
    asking: Annotated[AskingOptions, MODEL] = AskingOptions(),
    calls: Flat[Calls] = Calls(),
    local: Annotated[LocalOptions, MACHINE] = LocalOptions(),
    how: Annotated[HowOptions, HOW] = HowOptions(),
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
        raise ConfigurationError("--attacker attacks a judge: give --judge instead of --model")
    command = Attack(benchmark, judge or str(model), wanted, adaptive, items, asking, calls, local, how, out)
    if judge is not None:
        command.on_judge(elicit)
    else:
        command.on_replies(grader)


@dataclass(frozen=True)
class Attack:
    """The command line of an attack on a judge, or on a chatbot's replies."""

    source: str
    asked: str
    wanted: AttackOptions
    adaptive: Adaptive
    items: Items
    asking: AskingOptions
    calls: Calls
    local: LocalOptions
    how: HowOptions
    out: Path | None

    @property
    def folder(self) -> Path:
        """Return the default run folder."""
        return default_folder(f"{Path(self.source).stem}-{self.asked}-attack")

    @cached_property
    def benchmark(self) -> Benchmark:
        """The benchmark that was named."""
        return api.load(self.source)

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """Every attack under every defence."""
        wanted, attacks = self.wanted, attacks_or_all(self.wanted.attacks, self.adaptive)
        return api.arms_under_attack(
            self.benchmark, attacks, defences=wanted.defences, noise=wanted.noise, at=wanted.at
        )

    def on_judge(self, elicit: str | None) -> None:
        """Have a judge decide under every attack and defence, and an attacker rewrite its claims where there is one."""
        live = self.asking.options(self.calls, self.local, seed=self.items.seed, needs_key=not self.how.dry_run)
        options = run_options(self.source, self.benchmark, live, items=self.items, calls=self.calls)
        folder = self.out or self.folder
        planned = api.plan_run(
            self.benchmark, self.asked, out=folder, elicitations=elicit or (), arms=self.arms, options=options
        )
        attack = AttackRun.of(planned, self.adaptive)
        if self.how.dry_run:
            output.print_estimates([(attack.estimate(), attack.judge)])
            return
        leave("the benchmark's queries", *attack.sends_to(), agreed=self.how.yes)
        (run,) = api.judge_several([attack], watch=lambda _: watching(f"attacking {self.asked}"))
        output.print_summary(run.summary, folder, then="robustness")
        end(run.summary)

    def on_replies(self, named: Sequence[str]) -> None:
        """Collect a chatbot's replies under every attack and defence, and have them graded."""
        reached = self.calls.model(self.asking.base_url, self.local, needs_key=not self.how.dry_run)
        bare = replace(reached, local=replace(reached.local, adapter=None))  # the adapter is the chatbot's
        graders = [as_grader(name, options=bare) for name in named]
        options = CollectOptions(
            temperature=self.asking.live.ask.temperature,
            max_tokens=self.asking.live.ask.max_tokens,
            seed=self.items.seed,
            limits=self.calls.limits,
            batch=self.calls.batches.options(),
            command=command_line(),
            benchmark_source=source_of(self.source, self.benchmark),
            makers=reached,
        )
        planned = PlannedReplies(
            self.out or Path("replies") / self.folder.name,
            self.benchmark,
            chat_model(self.asked, reached),
            chat_plan(select(self.benchmark, self.items.of(self.benchmark)), self.arms),
            options=options,
        )
        if self.how.dry_run:
            tell_estimate(planned.estimate(), self.asked, planned.estimate_before())
            return
        receivers = (*planned.sends_to(), *(by.sends_to for by in graders))
        leave("the benchmark's queries and the replies", *receivers, agreed=self.how.yes)
        with watching(f"attacking {self.asked}") as watch:
            replies = planned.perform(watch)
        if replies.summary.n_pending:
            print_json({"replies": replies.summary.as_json(), "grades": []}) if as_json() else None
            tell_pending(replies.summary, replies.path)
            end(replies.summary)
        summaries = []
        for grader in graders:
            with watching(f"grading by {grader.name}") as watch:
                grading = GradeOptions(limits=options.limits, command=options.command, watch=watch, batch=options.batch)
                summaries.append(api.grade(replies, grader, options=grading))
        if as_json():
            print_json({"replies": replies.summary.as_json(), "grades": [summary.as_json() for summary in summaries]})
        else:
            graded = sum(summary.n_usable for summary in summaries)
            print(f"{replies.summary.n_usable:,} replies, {graded:,} grades: {replies.path}")
            note(f"next: casewise robustness {shlex.quote(str(replies.path))}")
        for progress in (replies.summary, *summaries):
            end(progress)


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
    page = documents.html or run / "robustness.html"
    write_text(page, report.to_html())
    replace(documents, html=None).present(report)
    note(f"page: {shlex.quote(str(page))}")
    end_with_code(report)
