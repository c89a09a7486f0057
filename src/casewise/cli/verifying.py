"""`casewise contexts verify`, `forge` and `extract`: what contexts claim, against what is known elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.judge.options import BaseUrlOption, LocalModelOptions, ReachOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkArgument, JsonOption, note, print_json, say
from casewise.cli.watching import DryRunOption, YesOption, command_line, leave, print_cost, watching

__all__ = ["extract", "forge", "verify"]

FactsOption = Annotated[
    Path,
    typer.Option("--facts", help="What is known outside: JSONL with subject, field, value, source, issued, expires."),
]
AtOption = Annotated[
    str | None, typer.Option("--at", help="The day on which facts are asked, such as 2026-01-31. Default: today.")
]


@dataclass(frozen=True)
class MakerOptions(ReachOptions):
    """How a model is reached that reads texts; whether it is asked, or only reckoned."""

    base_url: BaseUrlOption = None
    dry_run: DryRunOption = False
    yes: YesOption = False

    def reached(self, local: LocalModelOptions) -> api.ModelOptions:
        """How a model is reached. Raises as `ReachOptions.model`."""
        return self.model(self.base_url, local, needs_key=not self.dry_run)


@with_groups
def verify(
    *,
    benchmark: BenchmarkArgument,
    facts: FactsOption,
    at: AtOption = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="What was forged (truth.jsonl of casewise contexts forge).")
    ] = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(
            "--verifier",
            help="Asked where the structured step decides nothing: hf:PATH (a local cross-encoder) or rubric:MODEL; may be repeated.",
        ),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="A pycasbin policy of what a role may ask (extra [verify]).")
    ] = None,
    attacks: Annotated[
        str,
        typer.Option("--attacks", help="Ask verifiers about the claims of these attacks too, for verified:FILE.json."),
    ] = "",
    calls: Annotated[
        Path, typer.Option("--calls", help="Folder where replies of rubric: models are kept, and found again.")
    ] = Path("runs/verified"),
    asking: MakerOptions,
    local: LocalModelOptions,
    documents: DocumentOptions,
) -> None:
    """Hold what contexts claim against facts: supported, contradicted, expired, or not stated."""
    options = api.VerifyOptions(
        tuple(verifier or ()), policy, attacks, calls, asking.reached(local), asking.limits(), command=command_line()
    )
    if asking.dry_run:
        structured = api.verify_contexts(benchmark, facts, at=at, options=replace(options, verifiers=()))
        estimates = api.verifying_estimate(structured, options)
        if documents.as_json:
            print_json({name: asdict(one) for name, one in estimates.items()})
        for name, one in () if documents.as_json else estimates.items():
            typer.echo(f"{name}: {one.n_calls:,} pairs of a fact and a claim at most")
            print_cost(one)
        return
    leave("facts, and claims of the benchmark's contexts", *api.verifiers_asked(options), agreed=asking.yes)
    with watching("verifying", quiet=documents.as_json) as watch:
        found = api.verify_contexts(benchmark, facts, at=at, truth=truth, options=replace(options, watch=watch))
    documents.present(found)


def forge(
    benchmark: BenchmarkArgument,
    out: Annotated[Path, typer.Option("--out", help="A new folder for the benchmark, facts.jsonl and truth.jsonl.")],
    parameter: Annotated[str, typer.Option("--parameter", help="The parameter that is forged.")] = "recipient.type",
    at: AtOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Which contexts are forged how.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Forge contexts with known truth, and facts that know better or do not: how well are forgeries found?"""
    made = api.forge_contexts(benchmark, out, parameter=parameter, at=at, seed=seed)
    if as_json:
        print_json({"folder": str(made.folder), "facts": str(made.facts), "truth": str(made.truth)})
        return
    typer.echo(f"{len(made.forged.truth):,} contexts, {len(made.forged.facts):,} facts: {made.folder}")
    note(
        f"next: casewise contexts verify {made.folder} --facts {made.facts} --truth {made.truth}"
        + (f" --at {at}" if at else "")
    )


@with_groups
def extract(
    *,
    out: Annotated[Path, typer.Option("--out", help="The file to write: a line a parameter, unknown ones too.")],
    facts: Annotated[Path | None, typer.Option("--facts", help="Write what is known as facts too.")] = None,
    staff: Annotated[Path | None, typer.Option("--staff", help="A CSV of staff; needs --map.")] = None,
    token: Annotated[Path | None, typer.Option("--token", help="An identity token; needs --map and --key.")] = None,
    mapping: Annotated[
        Path | None, typer.Option("--map", help="TOML: which columns or claims are which parameters.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The secret or public key that verifies the token.")] = None,
    fhir: Annotated[Path | None, typer.Option("--fhir", help="A FHIR bundle, R5 or R4B (extra [health]).")] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option("--text", help="A system prompt, note or chat log; needs --model; may be repeated."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Who reads the texts.")] = None,
    subject: Annotated[
        str, typer.Option("--subject", help="The context's id that it is all about; * for every context.")
    ] = "*",
    calls: Annotated[
        Path, typer.Option("--calls", help="Folder where the model's replies are kept, and found again.")
    ] = Path("runs/extracted"),
    asking: MakerOptions,
    local: LocalModelOptions,
) -> None:
    """What your own systems know of a context: parameters, each with its source, unknown ones kept as unknown."""
    sources = api.DeployersSources(
        staff,
        token,
        mapping,
        key,
        fhir,
        tuple(text or ()),
        model,
        subject,
        calls,
        asking.reached(local),
        asking.limits(),
        command_line(),
    )
    if asking.dry_run:
        estimate = api.extracting_estimate(sources)
        n = 0 if estimate is None else estimate.n_calls
        say(f"{n:,} texts for a model to read", texts=n)
        if estimate is not None:
            print_cost(estimate)
        return
    leave("your own texts, such as prompts and logs,", api.extractor_asked(sources), agreed=asking.yes)
    rows = api.extract_context(sources, out, facts=facts)
    said = sum(one.value is not None for one in rows)
    unknown = len(rows) - said
    say(f"{said:,} parameters known, {unknown:,} unknown: {out}", file=str(out), known=said, unknown=unknown)
