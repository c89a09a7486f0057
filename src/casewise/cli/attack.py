"""`casewise attack` and `casewise robustness`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli import judge as output
from casewise.cli.commands import with_groups
from casewise.cli.evaluate import NumbersOptions, end_with_code
from casewise.cli.judge import (
    AskingOptions,
    HowOptions,
    ItemOptions,
    LimitOptions,
    LocalModelOptions,
    run_options,
)
from casewise.cli.printing import (
    BenchmarkOption,
    DocumentOptions,
    JsonOption,
    command_line,
    end,
    leave,
    note,
    print_json,
    say,
    show,
    tell_pending,
    watching,
)
from casewise.cli.replies import AskedChatbot
from casewise.errors import ConfigurationError

# `casewise attack` and `casewise robustness`: lie to a judge about the context, and see what becomes of its
# verdicts.


@dataclass(frozen=True)
class AttackOptions:
    """With what a judge is attacked, and what guards it."""

    attacks: Annotated[
        str,
        typer.Option(
            "--attacks",
            help="Attacks with commas: all, claim:authority, twin:recipient, toml:FILE, python:MODULE:FUNCTION.",
        ),
    ] = "all"
    defences: Annotated[
        str,
        typer.Option(
            "--defences",
            help="Defences with commas: none, system, datamark, delimit, filter:MODEL, detect:MODEL, verified:FACTS and others.",
        ),
    ] = "none"
    noise: Annotated[
        str,
        typer.Option(
            "--noise",
            help="Perturbations asked besides, paraphrase:MODEL too, for the judge's own noise; none for none.",
        ),
    ] = "order:reversed,format:prose"
    at: Annotated[
        str | None,
        typer.Option("--at", help="The day on which the facts of verified: and annotated: are asked. Default: today."),
    ] = None

    def arms(self, benchmark: api.Benchmark) -> tuple[api.Arm, ...]:
        """Every attack under every defence, and each defence without one."""
        return api.arms_under_attack(benchmark, self.attacks, defences=self.defences, noise=self.noise, at=self.at)


@with_groups
def attack(
    *,
    benchmark: Annotated[
        str | None,
        typer.Argument(help="A benchmark: a folder, a file of items, 'demo', or a name of casewise data fetch."),
    ] = None,
    judge: Annotated[str | None, typer.Option("--judge", help="Who judges, as for casewise judge.")] = None,
    chatbot: Annotated[
        str | None, typer.Option("--model", help="A chatbot whose replies are attacked instead; needs --grader.")
    ] = None,
    grader: Annotated[
        list[str] | None,
        typer.Option("--grader", help="Who grades the replies, as for casewise replies grade; may be repeated."),
    ] = None,
    wanted: AttackOptions,
    list_all: Annotated[
        bool, typer.Option("--list", help="Say which attacks and defences there are, with examples, and stop.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Run folder, new or to go on with. Default: runs/BENCHMARK-JUDGE-attack."),
    ] = None,
    elicit: Annotated[str | None, typer.Option("--elicit", help="How to ask: binary, score, probability.")] = None,
    items: ItemOptions,
    model: AskingOptions,
    limits: LimitOptions,
    local: LocalModelOptions,
    how: HowOptions,
    as_json: JsonOption = False,
) -> None:
    """Have a judge decide, or a chatbot reply to, every item under every attack and defence. The same command again goes on."""
    if list_all:
        listed = api.attacks_offered(benchmark)
        print_json(listed.as_json()) if as_json else show(listed.document)
        return
    if benchmark is None or (judge is None) == (chatbot is None) or bool(chatbot) != bool(grader):
        raise ConfigurationError(
            "give a benchmark and --judge, or --model with --grader; casewise attack --list says what there is to attack with"
        )
    given = Attack(benchmark, judge or str(chatbot), wanted, items, model, limits, local, how, out, as_json)
    if judge is not None:
        given.on_judge(elicit)
    else:
        given.on_replies(grader or ())


@dataclass(frozen=True)
class Attack:
    """All that was typed of an attack on a judge, or on a chatbot's replies."""

    source: str
    asked: str
    wanted: AttackOptions
    items: ItemOptions
    asking: AskingOptions
    limits: LimitOptions
    local: LocalModelOptions
    how: HowOptions
    out: Path | None
    as_json: bool

    @property
    def folder(self) -> Path:
        """Where a run goes that was given no place."""
        return api.default_folder(f"{Path(self.source).stem}-{self.asked}-attack")

    @cached_property
    def benchmark(self) -> api.Benchmark:
        """The benchmark that was named."""
        return api.load(self.source)

    @cached_property
    def arms(self) -> tuple[api.Arm, ...]:
        """Every attack under every defence."""
        return self.wanted.arms(self.benchmark)

    def on_judge(self, elicit: str | None) -> None:
        """Have a judge decide under every attack and defence."""
        live = self.asking.live(self.limits, self.local, seed=self.items.seed, needs_key=not self.how.dry_run)
        elicitations = api.elicitations_named(elicit)
        made = api.as_judge(self.asked, self.benchmark, elicitations=elicitations, live=live)
        options = run_options(self.source, self.benchmark, live, items=self.items, limits=self.limits)
        if self.how.dry_run:
            estimate = api.estimate(self.benchmark, made, elicitations=elicitations, arms=self.arms, options=options)
            output.print_estimates([(estimate, made)], as_json=self.as_json)
            return
        others = api.others_asked(self.arms, live.model, judge=made)
        leave("the benchmark's queries", made.sends_to, *others, agreed=self.how.yes)
        folder = self.out or self.folder
        with watching(f"attacking {self.asked}", quiet=self.as_json) as watch:
            watched = replace(options, watch=watch)
            run = api.judge(
                self.benchmark, made, out=folder, elicitations=elicitations, arms=self.arms, options=watched
            )
        output.print_summary(run.summary, folder, as_json=self.as_json, then="robustness")
        end(run.summary)

    def on_replies(self, named: Sequence[str]) -> None:
        """Collect a chatbot's replies under every attack and defence, and have them graded."""
        reached = self.limits.model(self.asking.base_url, self.local, needs_key=not self.how.dry_run)
        bare = replace(reached, local=replace(reached.local, adapter=None))  # the adapter is the chatbot's
        graders = [api.replying.as_grader(name, options=bare) for name in named]
        asked = AskedChatbot(self.benchmark, self.asked, self.arms, self.items.selection(self.benchmark), reached)
        options = api.replying.CollectOptions(
            temperature=self.asking.temperature,
            max_tokens=self.asking.max_tokens,
            seed=self.items.seed,
            limits=self.limits.limits(),
            batch=self.limits.batches(),
            command=command_line(),
            benchmark_source=api.source_of(self.source, self.benchmark),
            makers=reached,
        )
        if self.how.dry_run:
            asked.tell_estimate(options, as_json=self.as_json)
            return
        senders = (one.sends_to for one in graders)
        asked.leave("the benchmark's queries and the replies", *senders, agreed=self.how.yes)
        folder = self.out or Path("replies") / self.folder.name
        with watching(f"attacking {self.asked}", quiet=self.as_json) as watch:
            kept = asked.collect(folder, replace(options, watch=watch))
        if kept.summary.n_pending:
            print_json({"replies": kept.summary.as_json(), "grades": []}) if self.as_json else None
            tell_pending(kept.summary, kept.path)
            end(kept.summary)
        self.say_graded(kept, [self.graded(kept, one) for one in graders])

    def graded(self, kept: api.Replies, grader: api.replying.Grader) -> api.replying.GradeSummary:
        """Have the replies graded by one grader."""
        with watching(f"grading by {grader.name}", quiet=self.as_json) as watch:
            limits, batch = self.limits.limits(), self.limits.batches()
            grading = api.replying.GradeOptions(limits=limits, command=command_line(), watch=watch, batch=batch)
            return api.grade(kept, grader, options=grading)

    def say_graded(self, kept: api.Replies, summaries: Sequence[api.replying.GradeSummary]) -> None:
        """What became of replies and grades."""
        if self.as_json:
            print_json({"replies": kept.summary.as_json(), "grades": [summary.as_json() for summary in summaries]})
        else:
            graded = sum(summary.n_usable for summary in summaries)
            typer.echo(f"{kept.summary.n_usable:,} replies, {graded:,} grades: {kept.path}")
            note(f"next: casewise robustness {shlex.quote(str(kept.path))}")
        for progress in (kept.summary, *summaries):
            end(progress)


@with_groups
def robustness(
    *,
    run: Annotated[Path, typer.Argument(help="A run folder that casewise attack has made.")],
    numbers: NumbersOptions,
    documents: DocumentOptions,
) -> None:
    """What attacks did to a judge's verdicts, paired with the items as they are: print the main numbers, write the page."""
    found = api.robustness(run, benchmark=numbers.benchmark, options=numbers.options())
    page = documents.html or run / "robustness.html"
    api.write_text(page, found.to_html())
    replace(documents, html=None).present(found)
    note(f"page: {shlex.quote(str(page))}")
    end_with_code(found)


def paraphrases(
    run: Annotated[Path, typer.Argument(help="A run folder for which a model has paraphrased contexts.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write, a paraphrase a line.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Write paraphrases beside what they paraphrase, for people to read; the arm checked:FILE takes those with a reviewer."""
    made = api.write_paraphrases(run, to, benchmark=benchmark)
    say(
        f"{to}: {made:,} paraphrases; whoever finds that one says the same writes their name as its reviewer", made=made
    )
    note(f"next: casewise attack … --noise checked:{shlex.quote(str(to))}")
