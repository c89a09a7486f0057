"""`casewise decider`: thresholds fitted on a run, and what is done with them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from casewise import api
from casewise.cli.commands import with_groups
from casewise.cli.printing import BenchmarkOption, DocumentOptions, JsonOption, announce, note, print_json
from casewise.errors import ConfigurationError

app = typer.Typer(
    help="Deploy a judge: fit its thresholds, ask it, serve it, watch it.", no_args_is_help=True, rich_markup_mode=None
)

DeciderArgument = Annotated[Path, typer.Argument(help="What casewise decider fit wrote.")]

BaseUrlOption = Annotated[
    str | None, typer.Option("--base-url", help="Address of the model's server, where its name does not say.")
]


@app.command()
def fit(
    *,
    run: Annotated[Path, typer.Argument(help="The judge's run folder.")],
    decider: Annotated[Path, typer.Option("--out", help="Where the decider goes.")] = Path("decider.json"),
    ratio: Annotated[
        float | None,
        typer.Option("--ratio", help="How many over-refusals one harm is worth: take the cheapest threshold."),
    ] = None,
    ask_cost: Annotated[
        float | None, typer.Option("--ask-cost", help="What asking a person costs, in over-refusals; with --ratio.")
    ] = None,
    max_harm: Annotated[
        float | None, typer.Option("--max-harm", help="Promise that harm is at most this share, such as 0.02.")
    ] = None,
    max_over_refusal: Annotated[
        float | None,
        typer.Option(
            "--max-over-refusal",
            help="Promise that over-refusal is at most this share; with both, it asks between.",
        ),
    ] = None,
    level: Annotated[float, typer.Option("--level", help="With which probability promises hold, all together.")] = 0.95,
    chosen_from: Annotated[
        int,
        typer.Option(
            "--chosen-from",
            help="How many judges you compared on these queries: promises then hold for the best of them.",
        ),
    ] = 1,
    on_average: Annotated[
        bool, typer.Option("--on-average", help="Promise on average only, which takes fewer queries.")
    ] = False,
    fail: Annotated[
        str, typer.Option("--fail", help="What to do where the judge gives no value: refuse, answer or ask.")
    ] = "refuse",
    elicit: Annotated[str | None, typer.Option("--elicit", help="Which of the run's elicitations.")] = None,
    arm: Annotated[
        str | None, typer.Option("--arm", help="Which of the run's arms; default: the whole context.")
    ] = None,
    calibrate: Annotated[
        str | None, typer.Option("--calibrate", help="platt or isotonic; default: the better on held-out queries.")
    ] = None,
    prompts: Annotated[
        str | None, typer.Option("--prompts", help="The prompts' file, where the run was judged with one's own.")
    ] = None,
    base_url: BaseUrlOption = None,
    refuse_unmeasured: Annotated[
        bool, typer.Option("--refuse-unmeasured", help="Refuse requests of a kind that was not measured.")
    ] = False,
    benchmark: BenchmarkOption = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the page here too.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write Markdown here too.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit thresholds on a judge's run and write them, with what they were measured to cost on held-out queries."""
    elicitations = api.elicitations_named(elicit)
    wanted = api.deciding.Wanted(
        ratio=ratio,
        ask_cost=ask_cost,
        max_harm=max_harm,
        max_over_refusal=max_over_refusal,
        level=None if on_average else level,
        chosen_from=chosen_from,
        fail=cast("Any", fail),
    )
    options = api.deciding.FitOptions(
        elicitation=elicitations[0] if elicitations else None,
        arm=arm,
        method=calibrate,
        prompts=prompts,
        base_url=base_url,
        refuse_unmeasured=refuse_unmeasured,
    )
    found = api.deciding.fit_decider(run, wanted, benchmark=benchmark, options=options)
    found.write(decider)
    note(f"written: {decider}")
    DocumentOptions(html=html, markdown=markdown, as_json=as_json).present(found)


@app.command()
def ask(
    *,
    decider: DeciderArgument,
    query: Annotated[str | None, typer.Option("--query", help="What the user asks.")] = None,
    context: Annotated[
        str | None,
        typer.Option(
            "--context", help="The circumstances: a text, JSON (group to parameter to statement), or a JSON file."
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", help="A parameter of the context, as recipient.type='a nurse'; may be repeated."),
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="The query's category, in the benchmark's words.")
    ] = None,
    messages: Annotated[
        Path | None, typer.Option("--messages", help="A chat instead of a query: a JSON list of role and content.")
    ] = None,
    reply: Annotated[
        Path | None, typer.Option("--reply", help="A chatbot's reply, for a guard that reads replies.")
    ] = None,
    base_url: BaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """What to do with one request: answer, refuse, or ask a person."""
    known = context_in(context, parameter or [])
    words = read_as("text", reply, str) if reply is not None else None
    made = api.deciding.Decider.load(decider, model=api.ModelOptions(base_url=base_url))
    if (query is None) == (messages is None):
        raise ConfigurationError("give either --query or --messages")
    if messages is not None and reply is not None:
        raise ConfigurationError("with --messages the reply is the last of them: leave --reply out")
    if messages is not None:
        request = replace(api.deciding.from_messages(read_json(messages), known), category=category)
    else:
        request = api.deciding.DecisionRequest(str(query), known, reply=words, category=category)
    try:
        found = made.ask(request)
    finally:
        made.close()
    if as_json:
        print_json({**found.as_json(), "measured": made.measured})
        return
    typer.echo(f"{found.decision}\n  {found.why}")
    for difference in found.unmeasured:
        typer.echo(f"  not measured: {difference}")
    harm, over = made.file.measured.harm, made.file.measured.over_refusal
    typer.echo(f"  measured on {made.file.benchmark.name}: harm {harm.as_share}, over-refusal {over.as_share}")


@app.command()
def serve(
    *,
    decider: DeciderArgument,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 8108,
    keys: Annotated[
        Path | None,
        typer.Option("--keys", help="A file with keys, one a line, of which one must come with each request."),
    ] = None,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Answer whoever reaches the port, also from other machines.")
    ] = False,
    per_minute: Annotated[int | None, typer.Option("--per-minute", min=1, help="Requests a minute of one key.")] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds to wait for the judge.")] = 10.0,
    fail: Annotated[
        str | None,
        typer.Option("--fail", help="refuse, answer or ask where the judge gives no value; default: as fitted."),
    ] = None,
    ask_as: Annotated[
        str, typer.Option("--ask-as", help="What ask is at /v1/moderations: flagged or passed.")
    ] = "flagged",
    shadow: Annotated[bool, typer.Option("--shadow", help="Decide and count, and let everything through.")] = False,
    capture: Annotated[
        Path | None,
        typer.Option(
            "--capture", help="Write a line a decision here; with CASEWISE_CAPTURE_KEY the texts too, encrypted."
        ),
    ] = None,
    base_url: BaseUrlOption = None,
) -> None:
    """Answer requests over HTTP: /v1/decide, and /v1/moderations as OpenAI's clients ask."""
    import uvicorn  # an extra

    from casewise.web.deciding import ServiceOptions, create_service, keys_in

    if keys is None and not without_keys and host not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigurationError(
            f"{host} is reached from other machines: give --keys FILE, or --without-keys if you mean it"
        )
    if fail not in (None, "refuse", "answer", "ask") or ask_as not in ("flagged", "passed"):
        raise ConfigurationError("--fail is refuse, answer or ask, and --ask-as is flagged or passed")
    retry = api.RetryPolicy(retries=1)
    client = api.ClientOptions(concurrency=256, timeout_s=timeout, retry=retry, longest_outage_s=0.0)
    made = api.deciding.Decider.load(decider, model=api.ModelOptions(base_url=base_url, client=client))
    made = made.failing(cast("Any", fail)) if fail else made
    options = ServiceOptions(
        keys=keys_in(keys) if keys else frozenset(),
        per_minute=per_minute,
        timeout_s=timeout,
        ask_as="flagged" if ask_as == "flagged" else "passed",
        shadow=shadow,
        capture=capture,
        capture_key=os.environ.get("CASEWISE_CAPTURE_KEY") or None,
    )
    address = f"http://{host}:{port}"
    announce(
        f"the decider of {made.file.judge.name} is at {address}{' in shadow: everything is let through' * shadow}",
        err=True,
        address=address,
        judge=made.file.judge.name,
        decider=made.hash,
        shadow=shadow,
    )
    uvicorn.run(
        create_service(made, options),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(timeout) + 5,
    )


@app.command()
@with_groups
def monitor(
    *,
    decider: DeciderArgument,
    log: Annotated[Path, typer.Argument(help="What casewise decider serve --capture wrote.")],
    half_width: Annotated[
        float, typer.Option("--half-width", help="How exactly the share of wrong decisions is to be known.")
    ] = 0.05,
    material: Annotated[
        Path | None,
        typer.Option(
            "--material", help="Write requests for people to rate here, as a benchmark; needs CASEWISE_CAPTURE_KEY."
        ),
    ] = None,
    at_most: Annotated[int | None, typer.Option("--at-most", min=1, help="Requests to write at most.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw of requests.")] = 0,
    document: DocumentOptions,
) -> None:
    """Has the traffic moved from the benchmark, and which requests should people rate next?"""
    found = api.deciding.monitor_decider(decider, log, half_width=half_width)
    if material is not None:
        key = os.environ.get("CASEWISE_CAPTURE_KEY")
        if not key:
            raise ConfigurationError("set CASEWISE_CAPTURE_KEY to the key that the log's texts were encrypted with")
        written = found.write_material(material, key=key, at_most=at_most, seed=seed)
        left_out = f"; left out: {written.left_out} with earlier turns or a reply" if written.left_out else ""
        note(f"written: {material}, {written.n_items} items for people to rate{left_out}")
    document.present(found)


def context_in(said: str | None, parameters: list[str]) -> dict[str, Any] | str | None:
    """The context that is written as a text, as JSON or as the path of a JSON file, and as parameters."""
    found: Any = said
    if said is not None and said.lstrip().startswith("{"):
        try:
            found = json.loads(said)
        except ValueError as error:
            raise ConfigurationError(f"--context begins as JSON does and is none: {error}") from error
    elif said is not None and (said.endswith(".json") or is_file(said)):
        found = read_json(Path(said))
    if not parameters:
        return cast("dict[str, Any] | str | None", found)
    if isinstance(found, str):
        raise ConfigurationError("give a context as a text or by --parameter, not both")
    pairs = [one.partition("=") for one in parameters]
    if wrong := next(
        (one for one, (name, _, text) in zip(parameters, pairs, strict=True) if not name or not text), None
    ):
        raise ConfigurationError(f"--parameter {wrong!r} is not NAME=STATEMENT, such as recipient.type='a nurse'")
    return {**(found or {}), **{name.strip(): text for name, _, text in pairs}}


def is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a text that is too long for a name
        return False


def read_json(path: Path) -> Any:
    return read_as("JSON", path, json.loads)


def read_as(form: str, path: Path, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{path}: cannot be read as {form}: {why}") from error
