"""`casewise judge`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from casewise.cli.printing import JsonOption, note, print_json

__all__ = ["judge"]

MODEL = "The model"
PLAN = "What to ask"
LIMITS = "Limits"


def judge(
    benchmark: Annotated[str, typer.Argument(help="demo, casebench, a benchmark folder, or a published JSON file.")],
    judge: Annotated[
        str,
        typer.Option(
            "--judge", help="Who judges: openai/MODEL, vllm/MODEL, hf:PATH, linear, constant:safe, recorded:FILE, ..."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Run folder, new or to go on with. Default: runs/BENCHMARK-JUDGE.")
    ] = None,
    elicit: Annotated[
        str | None,
        typer.Option("--elicit", help="How to ask: binary, score, probability, scalar; several with commas."),
    ] = None,
    no_context: Annotated[
        bool, typer.Option("--no-context", help="Show the query alone.", rich_help_panel=PLAN)
    ] = False,
    omit: Annotated[
        list[str] | None,
        typer.Option("--omit", help="An arm without these parameters or groups, with commas.", rich_help_panel=PLAN),
    ] = None,
    ablate: Annotated[
        str | None,
        typer.Option("--ablate", help="Arms for an ablation: groups or parameters.", rich_help_panel=PLAN),
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option("--arms", help="Arms by name, with spaces: 'full none without:recipient'.", rich_help_panel=PLAN),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often to ask each item.")] = 1,
    retry_unscored: Annotated[
        int,
        typer.Option("--retry-unscored", min=0, help="How often to ask again at most where there was no verdict."),
    ] = 0,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first so many items only.")] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="So many items at random, whole queries at a time.")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Items of this category only; may be repeated.")
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", help="Only these items: clear, close, low-margin or hard (casewise audit).")
    ] = None,
    until_precise: Annotated[
        float | None,
        typer.Option(
            "--until-precise",
            help="Ask queries only until accuracy on the whole benchmark is known to within this, such as 0.03.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the sample; where it is given, models get it too.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Address of a chat-completions server, up to and with /v1.")
    ] = None,
    prompts: Annotated[
        str, typer.Option("--prompts", help="casewise, published (once fetched), or a TOML file of your own.")
    ] = "casewise",
    context_role: Annotated[
        str, typer.Option("--context-role", help="The message that holds the context: user or system.")
    ] = "user",
    temperature: Annotated[float, typer.Option("--temperature", min=0.0, help="Of the model's replies.")] = 0.0,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of a reply, thinking included.")] = 1024,
    price_in: Annotated[
        float | None, typer.Option("--price-in", min=0.0, help="US dollars for a million tokens in.")
    ] = None,
    price_out: Annotated[
        float | None, typer.Option("--price-out", min=0.0, help="US dollars for a million tokens out.")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0.0, help="US dollars that the run may cost, all sessions together."),
    ] = None,
    max_tokens_total: Annotated[
        int | None, typer.Option("--max-tokens-total", min=1, help="Tokens that the run may take, in and out.")
    ] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Calls at a time, at most.")] = 32,
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds to wait for a reply.")] = 120.0,
    tries: Annotated[int, typer.Option("--retries", min=0, help="Further tries of a call that fails.")] = 6,
    device: Annotated[str, typer.Option("--device", help="For hf: models: auto, cpu, cuda, mps.")] = "auto",
    dtype: Annotated[str, typer.Option("--dtype", help="For hf: models: auto, float32, bfloat16, float16.")] = "auto",
    batch_tokens: Annotated[
        int, typer.Option("--batch-tokens", min=1, help="For hf: models: tokens that go through at once.")
    ] = 8192,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take; call nobody.")] = False,
    test_connection: Annotated[
        bool, typer.Option("--test-connection", help="Make one call, say what the endpoint can do, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to send harmful text to the provider.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Have a judge decide every item of a benchmark. The same command again goes on where it stopped."""
    from casewise import api
    from casewise.cli.judge import output
    from casewise.cli.judge.options import arms_of, elicitations_of, ids_of, prices_of, role_of
    from casewise.cli.watching import person, watching
    from casewise.judging.asking.elicitation import AskOptions
    from casewise.judging.judges.live import LiveOptions
    from casewise.judging.running.plan import Selection
    from casewise.models.http.client import ClientOptions
    from casewise.models.http.retry import RetryPolicy
    from casewise.models.load import ModelOptions
    from casewise.models.local.loading import LocalOptions
    from casewise.runs.consent import allow_sending
    from casewise.runs.limits import Limits

    live = LiveOptions(
        prompts,
        role_of(context_role),
        AskOptions(temperature, max_tokens, seed),
        ModelOptions(
            base_url,
            prices_of(price_in, price_out),
            ClientOptions(concurrency, timeout, RetryPolicy(retries=tries)),
            LocalOptions(dtype, device, batch_tokens),
            needs_key=not dry_run,
        ),
    )
    found = api.load(benchmark)
    elicitations = elicitations_of(elicit)
    made = api.as_judge(judge, found, elicitations=elicitations, live=live)
    if test_connection:
        allow_sending("the benchmark's queries", made.sends_to, agreed=yes, ask=person())
        output.print_probe(api.try_connection(made), as_json=as_json)
        return
    chosen = arms_of(no_context=no_context, omit=omit, ablate=ablate, named=arms)
    options = api.RunOptions(
        seed=seed or 0,
        limits=Limits(concurrency, max_cost, max_tokens_total),
        selection=Selection(tuple(category or ()), sample, seed or 0, limit, ids_of(found, items)),
        retry_unscored=retry_unscored,
        live=live,
        command=command_line(),
    )
    if dry_run:
        estimate = api.estimate(found, made, elicitations=elicitations, arms=chosen, repeats=repeats, options=options)
        output.print_estimate(estimate, made, as_json=as_json)
        return
    allow_sending("the benchmark's queries", made.sends_to, agreed=yes, ask=person())
    folder = out or default_folder(benchmark, judge)
    if until_precise is not None:
        from casewise.api.until_precise import judge_until_precise
        from casewise.cli.judge.options import only

        quiet = replace(options, benchmark_source=api.source_of(benchmark, found))
        precise = judge_until_precise(
            found, judge, half_width=until_precise, out=folder, elicitation=only(elicitations), options=quiet
        )
        if as_json:
            print_json(precise.as_json())
            return
        typer.echo(precise.sentence())
        note(f"next: casewise report {shlex.quote(str(folder))}")
        return
    with watching(f"judging {benchmark}", quiet=as_json) as watch:
        watched = replace(options, watch=watch, benchmark_source=api.source_of(benchmark, found))
        run = api.judge(
            found, made, out=folder, elicitations=elicitations, arms=chosen, repeats=repeats, options=watched
        )
    if as_json:
        print_json(run.summary.as_json())
        return
    output.print_summary(run.summary, folder)
    note(f"next: casewise report {shlex.quote(str(folder))}")


def default_folder(benchmark: str, judge: str) -> Path:
    name = f"{Path(benchmark).stem}-{judge}".replace("/", "-").replace(":", "-")
    return Path("runs") / "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name)


def command_line() -> str:
    """What was typed."""
    return shlex.join(["casewise", *sys.argv[1:]])
