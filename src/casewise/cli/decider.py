"""`casewise decider`: thresholds fitted on a run, and what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from casewise import api
from casewise.cli.options import (
    FREE_TEXT,
    BaseUrlOption,
    BenchmarkOption,
    HtmlOption,
    LabelsOption,
    MarkdownOption,
    values_by_name,
)
from casewise.cli.printing import DocumentOptions, Documents, confirm_sending, is_json_output, note, print_json
from casewise.errors import ConfigurationError
from casewise.options import Flat
from casewise.storage.files import parse, read_text

app = App(name="decider")

DeciderArgument = Annotated[Path, Parameter(help="A decider file, as casewise decider fit writes it.", name="DECIDER")]


@app.command
def fit(
    run: Path,
    /,
    *,
    out: Path = Path("decider.json"),
    requirements: Flat[api.deciding.Requirements | None] = None,
    overwrite: bool = False,
    on_average: bool = False,
    elicit: str | None = None,
    labels: LabelsOption = "votes",
    fitting: Flat[api.deciding.FitOptions] = api.deciding.FitOptions(),
    benchmark: BenchmarkOption = None,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
) -> None:
    """Fit thresholds on a judge's run and write a decider, with its errors on held-out queries.

    Parameters
    ----------
    run
        The judge's run folder.
    out
        File for the decider.
    overwrite
        Replace the decider that is at --out.
    on_average
        Promise on average only, without --level; needs fewer queries.
    elicit
        The elicitation to use, if the run has several.
    """
    if out.exists() and not overwrite:
        raise ConfigurationError(
            f"{out} exists, and may be in use; choose another place with --out, or add --overwrite"
        )
    elicitations = api.parse_elicitations(elicit)
    requirements = requirements or api.deciding.Requirements()
    if on_average:
        requirements = replace(requirements, level=None)
    options = replace(fitting, elicitation=elicitations[0] if elicitations else None)
    fitted = api.deciding.fit_decider(run, requirements, benchmark=benchmark, labels=labels, options=options)
    fitted.save(out)
    note(f"written: {out}")
    DocumentOptions(html=html, markdown=markdown).present(fitted)


def recommend(
    runs: list[Path],
    /,
    *,
    requirements: Flat[api.deciding.Requirements | None] = None,
    on_average: bool = False,
    labels: LabelsOption = "votes",
    benchmark: BenchmarkOption = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """Recommend a judge and a threshold to deploy, with the rate of each error and the limits that are not guaranteed yet.

    Without --ratio, one harm counts as one over-refusal. Promises and intervals hold for the best of all judges given.

    Parameters
    ----------
    runs
        One or more run folders over the same benchmark.
    on_average
        For one judge: promise on average only, without --level; needs fewer queries.
    """
    requirements = requirements or api.deciding.Requirements(ratio=1)
    if on_average:
        requirements = replace(requirements, level=None)
    recommendation = api.recommend(*runs, requirements=requirements, benchmark=benchmark, labels=labels)
    documents.present_with_page(recommendation, runs[0] / "recommend.html", full=False)


@app.command
def ask(
    decider: DeciderArgument,
    /,
    *,
    query: Annotated[str | None, FREE_TEXT] = None,
    context: Annotated[str | None, FREE_TEXT] = None,
    parameter: tuple[str, ...] = (),
    category: str | None = None,
    messages: Path | None = None,
    reply: Path | None = None,
    base_url: BaseUrlOption = None,
) -> None:
    """Decide one request: answer, refuse, or ask a person.

    Parameters
    ----------
    query
        The user's request.
    context
        The context: a text, JSON (group to parameter to statement), or the name of a .json file.
    parameter
        A parameter of the context, such as recipient.type='a nurse'; may be repeated.
    category
        The query's category, in the benchmark's words.
    messages
        A chat instead of a query: a JSON list of role and content.
    reply
        A chatbot's reply, for a guard that reads replies.
    """
    context_given = context_in(context, parameter)
    words = read_text(reply) if reply is not None else None
    loaded = api.deciding.Decider.load(decider, base_url=base_url)
    if (query is None) == (messages is None):
        raise ConfigurationError("give either --query or --messages")
    if messages is not None and reply is not None:
        raise ConfigurationError("with --messages, the last message is the reply; leave --reply out")
    if messages is not None:
        request = replace(
            api.deciding.from_messages(parse(read_text(messages), path=messages), context_given), category=category
        )
    else:
        request = api.deciding.DecisionRequest(str(query), context_given, reply=words, category=category)
    confirm_sending("the request's texts", loaded.judge.sends_to)
    try:
        decided = loaded.ask(request)
    finally:
        loaded.close()
    if is_json_output():
        print_json({**decided.as_json(), "measured": loaded.measured})
        return
    print(f"{decided.decision}\n  {decided.why}")
    for difference in decided.unmeasured:
        print(f"  not measured: {difference}")
    harm, over = loaded.file.measured.harm, loaded.file.measured.over_refusal
    on = loaded.file.benchmark
    print(f"  measured on {on.name} (labels: {on.label_words}): harm {harm.as_share}, over-refusal {over.as_share}")


@app.command
def monitor(
    decider: DeciderArgument,
    log: Path,
    /,
    *,
    half_width: float = 0.05,
    documents: Documents = DocumentOptions(),
) -> None:
    """Test whether traffic differs from the benchmark.

    Parameters
    ----------
    log
        A log of casewise serve --capture.
    half_width
        Half-width of the interval for the share of wrong decisions; sets the number of requests to rate.
    """
    documents.present(api.deciding.monitor_decider(decider, log, half_width=half_width))


def context_in(written: str | None, parameters: Sequence[str]) -> dict[str, Any] | str | None:
    """Return the context that is written as a text, as JSON or as the path of a JSON file, and as parameters."""
    value: dict[str, Any] | str | None = written
    if written is not None and written.endswith(".json"):
        value = parse(read_text(Path(written)), path=Path(written))
    elif written is not None and written.lstrip().startswith("{"):
        value = parse(written, path=Path("--context"))
    if not parameters:
        return value
    if not isinstance(value, dict | None):
        raise ConfigurationError("give a context as a text or by --parameter, not both")
    return (value or {}) | values_by_name(parameters, "NAME=STATEMENT, such as recipient.type='a nurse'")
