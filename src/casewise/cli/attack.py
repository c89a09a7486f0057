"""`casewise attack` and `casewise robustness`: lie to a judge about the context, and see what becomes of its verdicts."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.evaluate.report import NumbersOptions
from casewise.cli.judge import output
from casewise.cli.judge.options import AskingOptions, HowOptions, ItemOptions, LimitOptions, LocalModelOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkOption, DatabaseOption, JsonOption, end, note, print_json, show, tell_pending
from casewise.cli.watching import command_line, person, print_cost, watching
from casewise.errors import ConfigurationError

__all__ = ["attack", "paraphrases", "robustness"]


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
    if judge is None:
        whom = Chatbot(benchmark, str(chatbot), tuple(grader or ()), out, as_json=as_json)
        attack_replies(whom, wanted, items, model, limits, local, how)
        return
    live = model.live(limits, local, seed=items.seed, needs_key=not how.dry_run)
    found = api.load(benchmark)
    elicitations = api.elicitations_named(elicit)
    made = api.as_judge(judge, found, elicitations=elicitations, live=live)
    arms = wanted.arms(found)
    options = api.RunOptions(
        seed=items.seed or 0,
        limits=limits.limits(),
        selection=items.selection(found),
        live=live,
        batch=limits.batches(),
        command=command_line(),
        benchmark_source=api.source_of(benchmark, found),
    )
    if how.dry_run:
        estimate = api.estimate(found, made, elicitations=elicitations, arms=arms, options=options)
        output.print_estimates([(estimate, made)], as_json=as_json)
        return
    for to in (made.sends_to, *api.others_asked(arms, live.model, judge=made)):
        api.allow_sending("the benchmark's queries", to, agreed=how.yes, ask=person())
    folder = out or api.default_folder(f"{Path(benchmark).stem}-{judge}-attack")
    with watching(f"attacking {judge}", quiet=as_json) as watch:
        run = api.judge(
            found, made, out=folder, elicitations=elicitations, arms=arms, options=replace(options, watch=watch)
        )
    output.print_summary(run.summary, folder, as_json=as_json, then="robustness")
    end(run.summary)


@dataclass(frozen=True)
class Chatbot:
    """Whose replies are attacked, and who grades them."""

    benchmark: str
    name: str
    graders: tuple[str, ...]
    out: Path | None
    as_json: bool

    @property
    def folder(self) -> Path:
        """Where the replies go."""
        default = api.default_folder(f"{Path(self.benchmark).stem}-{self.name}-attack").name
        return self.out or Path("replies") / default


def attack_replies(
    chatbot: Chatbot,
    wanted: AttackOptions,
    items: ItemOptions,
    asking: AskingOptions,
    limits: LimitOptions,
    local: LocalModelOptions,
    how: HowOptions,
) -> None:
    """Collect a chatbot's replies under every attack and defence, and have them graded."""
    found = api.load(chatbot.benchmark)
    reached = limits.model(asking.base_url, local, needs_key=not how.dry_run)
    loaded = api.replying.chat_model(chatbot.name, reached)
    bare = replace(reached, local=replace(reached.local, adapter=None))  # the adapter is the chatbot's
    graders = [api.replying.as_grader(name, options=bare) for name in chatbot.graders]
    arms = wanted.arms(found)
    options = api.replying.CollectOptions(
        temperature=asking.temperature,
        max_tokens=asking.max_tokens,
        seed=items.seed,
        limits=limits.limits(),
        batch=limits.batches(),
        command=command_line(),
        benchmark_source=api.source_of(chatbot.benchmark, found),
        makers=reached,
    )
    selection = items.selection(found)
    if how.dry_run:
        estimate = api.replying.collecting_estimate(found, loaded, arms=arms, selection=selection, options=options)
        before = api.before_collecting(found, loaded, arms=arms, selection=selection, options=options)
        if chatbot.as_json:
            made = {"before": {name: asdict(one) for name, one in before.items()}} if before else {}
            print_json({"asked": chatbot.name, **asdict(estimate), **made})
        else:
            typer.echo(f"{chatbot.name}: {estimate.n_calls:,} replies, each to be graded by {len(graders)}")
            print_cost(estimate)
            output.print_before(before)
        return
    for whom in (loaded.model.sends_to, *(one.sends_to for one in graders), *api.others_asked(arms, reached)):
        api.allow_sending("the benchmark's queries and the replies", whom, agreed=how.yes, ask=person())
    with watching(f"attacking {chatbot.name}", quiet=chatbot.as_json) as watch:
        kept = api.collect(
            found, loaded, out=chatbot.folder, arms=arms, selection=selection, options=replace(options, watch=watch)
        )
    if kept.summary.n_pending:
        print_json({"replies": kept.summary.as_json(), "grades": []}) if chatbot.as_json else None
        tell_pending(kept.summary)
        end(kept.summary)
    summaries = []
    for one in graders:
        with watching(f"grading by {one.name}", quiet=chatbot.as_json) as watch:
            grading = api.replying.GradeOptions(
                limits=limits.limits(), command=command_line(), watch=watch, batch=limits.batches()
            )
            summaries.append(api.grade(kept, one, options=grading))
    if chatbot.as_json:
        print_json({"replies": kept.summary.as_json(), "grades": [summary.as_json() for summary in summaries]})
    else:
        graded = sum(summary.n_usable for summary in summaries)
        typer.echo(f"{kept.summary.n_usable:,} replies, {graded:,} grades: {chatbot.folder}")
        note(f"next: casewise robustness {shlex.quote(str(chatbot.folder))}")
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


def paraphrases(
    run: Annotated[Path, typer.Argument(help="A run folder for which a model has paraphrased contexts.")],
    into_room: Annotated[bool, typer.Option("--into-room", help="Put the paraphrases into the review room.")] = False,
    to: Annotated[
        Path | None, typer.Option("--to", help="The file for those that were accepted there, for --noise checked:FILE.")
    ] = None,
    benchmark: BenchmarkOption = None,
    database: DatabaseOption = None,
) -> None:
    """Have people read paraphrases beside what they paraphrase, in the review room; and take those that they accepted."""
    found = api.check_paraphrases(run, to=to, into_room=into_room, benchmark=benchmark, database=database)
    typer.echo(f"{found.made:,} paraphrases, {found.accepted:,} of them accepted by a person")
    if to is not None:
        note(f"next: casewise attack … --noise checked:{shlex.quote(str(to))}")
