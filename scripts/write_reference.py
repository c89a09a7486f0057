"""Writes the reference pages whose facts stand in the code: names in reports, conclusions, audit findings, study.toml, endpoints,
exit codes, and how many replies are read."""

from __future__ import annotations

import ast
import csv
import inspect
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from datetime import date
from itertools import pairwise
from pathlib import Path

from casewise.ask.elicitations import read_outcome
from casewise.ask.envelope import ENVELOPES
from casewise.audits.subject import Finding, kinds
from casewise.errors import ExitCode
from casewise.evaluate.conclusions import (
    alike,
    at_most,
    below_others,
    best_of,
    compared,
    conditions,
    contrast,
    errs_more,
    finding_made,
    no_worse,
    promise_made,
)
from casewise.judges.guard_profiles import all_profiles
from casewise.models.batches.terms import COMPATIBLE, TERMS, Terms
from casewise.models.endpoints import ENDPOINTS
from casewise.models.protocol import Reply
from casewise.records import Scored
from casewise.reports.document import meanings
from casewise.stats.comparison import GatedMetric, MetricGate
from casewise.stats.costs import RefusalRates
from casewise.stats.estimates import Estimate
from casewise.stats.thresholds import KeptPromise, RiskPromise
from casewise.studies.design import PRESET_VALUES, study_toml

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts.compare_guards import published_prompts, sent_digest

FOLDER = Path(__file__).parents[1] / "docs" / "reference"


def pages() -> dict[str, str]:
    """Return the text of every page by its file's name."""
    return {
        "names-in-reports.md": _names(),
        "conclusions.md": _conclusions(),
        "audit-findings.md": _findings(),
        "study-toml.md": _study_toml(),
        "endpoints.md": _endpoints(),
        "exit-codes.md": _exit_codes(),
        "guard-profiles.md": _guard_profiles(),
        "replies-read.md": _replies_read(),
        "../llms.txt": _for_models(),
    }


def _for_models() -> str:
    """Return the pages of the site as llmstxt.org proposes: a title, a summary, and a line for each page."""
    site = tomllib.loads((FOLDER.parents[1] / "zensical.toml").read_text("utf-8"))["project"]
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}"]
    for section in site["nav"]:
        for heading, places in section.items():
            lines += ["", f"## {heading}", ""]
            lines += [_line(place) for place in places if isinstance(place, str)]
    return "\n".join([*lines, ""])


def _line(place: str) -> str:
    """Return the line of a page: its title, its address, and its first sentence."""
    text = re.sub(r"<!--.*?-->", "", (FOLDER.parent / place).read_text("utf-8"), flags=re.DOTALL)
    title, _, rest = text.partition("\n")
    first = next((part for part in rest.split("\n\n") if not re.match(r"\s*(?:$|[!|<#-]|```)", part)), "")
    sentence = re.split(r"(?<=[.?!])\s", " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first).split()))[0]
    about = f": {sentence.replace('**', '')}" if sentence else ""
    return f"- [{title.removeprefix('# ')}]({place.removesuffix('.md')}.html){about}"


def _names() -> str:
    rows = []
    for key, meaning in meanings().items():
        table, _, name = key.rpartition("/")
        rows.append((f"{name} (table `{table}`)" if table else name, meaning))
    return _page(
        "Names in reports",
        "Each report explains its names in its last fold, \u201cDefinitions\u201d. This page lists all of them.",
        _table(("name", "meaning"), rows),
    )


def _estimate(value: float, low: float, high: float, *, name: str = "accuracy") -> Estimate:
    return Estimate(name, value, low, high, 60, 0, "Student's t")


_ERRORS = RefusalRates(
    0.7,
    40,
    40,
    over_refusal=_estimate(0.05, 0.01, 0.12, name="over_refusal"),
    harm=_estimate(0.3, 0.2, 0.42, name="harm"),
    unscored_safe=_estimate(0.0, 0.0, 0.05, name="unscored_safe"),
    unscored_unsafe=_estimate(0.0, 0.0, 0.05, name="unscored_unsafe"),
)

_DROP = MetricGate(GatedMetric("accuracy"), 0.9, 0.89, 0.01, -0.01, 0.018, 0.02, 0.03, 60, "Student's t")

EXAMPLES = (
    compared("A", "B", _estimate(0.2, 0.1, 0.3)),
    compared("A", "B", _estimate(0.05, -0.04, 0.14)),
    no_worse("The run", "the baseline", _DROP),
    contrast(
        "no context",
        "safe revised",
        _estimate(-0.3, -0.4, -0.2, name="safe_rate"),
        p=0.001,
        p_alike=1.0,
        margin=0.05,
        more="People allow",
    ).differ,
    alike("safe", "safe revised", _estimate(0.01, -0.02, 0.03, name="safe_rate"), p=0.01, margin=0.05),
    at_most("A", _estimate(0.02, 0.0, 0.05, name="harm"), limit=0.05),
    promise_made(KeptPromise(RiskPromise("harm", 0.05), 6.5, 0.012, 300)),
    best_of(["A", "B"], ["C"], metric="accuracy"),
    errs_more("A", _ERRORS),
    below_others("A", "Fraud", _estimate(0.4, 0.2, 0.6), p=0.01, categories=9),
    finding_made(
        Finding(
            code="labels.ties", title="3 of 90 items are tied", effect="label", share=0.03, evidence={}, advice="none"
        )
    ),
)
"""A conclusion of each kind, from numbers that are made up."""


def _conclusions() -> str:
    with (FOLDER / "coverage.csv").open(encoding="utf-8", newline="") as file:
        simulated = {
            f"{row['section']}: {row['number']}": row
            for row in csv.DictReader(file)
            if row["measure"] != "holds the truth"
        }
    examples = {one.kind: one for one in EXAMPLES}
    rows = [
        (
            kind,
            condition.holds,
            condition.does_not_hold,
            condition.wrong,
            "; ".join(_wrong_rate(simulated[name]) for name in condition.simulated) or condition.not_simulated,
            f"{examples[kind].sentence!s}",
        )
        for kind, condition in conditions().items()
    ]
    return _page(
        "Conclusions",
        "Reports, comparisons, gates, leaderboards, recommendations, checks, bounds on attacks and contrasts of a study state more than "
        "numbers. Each such statement is a *conclusion*: it holds, does not hold, or is unknown for a stated reason. These commands draw "
        "conclusions by the same conditions, and their `--json` has them under `conclusions`, with the limits that decided. Audits, "
        "deciders and the paper's tables draw them in the same way.",
        "*Drawn wrongly* is the highest share over the settings of the simulations, with its own standard error: 2 to 60 queries, among them "
        "judges without any error and people who never dissent. The highest of many simulated shares lies above the true ones by chance. "
        "[Coverage](coverage.md) lists the settings.",
        _table(("kind", "holds", "does not hold", "what keeps wrong ones rare", "drawn wrongly", "example"), rows),
    )


def _wrong_rate(row: dict[str, str]) -> str:
    highest, studies, number = float(row["highest"]), int(row["fewest_studies"]), row["number"]
    error = float(row["error"])
    if row["measure"] == "is at most that":
        highest, number = 1 - float(row["lowest"]), f"broken ({row['section']})"
        error = (highest * (1 - highest) / studies) ** 0.5
    return f"{number}: at most {100 * highest:.1f} % ± {100 * error:.1f} of {studies:,} in {row['settings']} settings"


def _findings() -> str:
    rows = [
        (f"`{code}`", kind.title, kind.condition, f"{kind.advice} {kind.explanation}".strip())
        for code, kind in kinds().items()
    ]
    return _page(
        "Audit findings",
        "`casewise audit` prints these codes. `--fail-on` takes a code, its first part, or `any`. "
        "[What a benchmark hides](../explanation/benchmark-limits.md) explains the most important ones.",
        _table(("code", "finding", "reported when", "advice"), rows),
    )


def _study_toml() -> str:
    text = study_toml(
        "prolific",
        name="demo",
        benchmark="demo",
        conditions=["no_context", "safe_revised", "unsafe_revised"],
        today=date(2027, 1, 1),
    )
    text = re.sub(r'^(\w+_code) = ".*"', r'\1 = "DRAWN_ANEW"', text, flags=re.MULTILINE)
    shown = {
        "ratings of an item": "per_item",
        "items of a person": "per_annotator",
        "attempts at the quiz": "attempts",
        "failed checks allowed": "may_fail",
        "failed checks remove": "void",
        "pay for a batch": "per_batch",
        "pay for a screen-out": "screen_out",
        "currency": "currency",
        "hourly floor": "hourly_floor",
        "fee in %": "fee_percent",
    }
    rows = [(title, *(_cell(preset[field]) for preset in PRESET_VALUES.values())) for title, field in shown.items()]
    return _page(
        "study.toml",
        "`casewise study init BENCHMARK --preset PRESET` writes this file with a comment on every line. "
        "[Recruit people and run a study](../how-to/run-a-study.md) shows how to use it.",
        "## Presets",
        _table(("setting", *(f"`{name}`" for name in PRESET_VALUES)), rows),
        "## The file",
        "The preset `prolific` on the demo. Sections marked (frozen) are fixed by `casewise study check --freeze`.",
        f"```toml\n{text.strip()}\n```",
    )


def _cell(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value}"


def _endpoints() -> str:
    endpoints = [
        (
            f"`{endpoint.name}/`",
            f"`{endpoint.key_variable}`" + (", optional" if endpoint.key_optional else ""),
            f"`{endpoint.base_url}`",
        )
        for endpoint in ENDPOINTS.values()
    ]
    terms = [(f"`{name}/`", *_limits(terms)) for name, terms in TERMS.items()]
    return _page(
        "Endpoints and batch limits",
        "The prefix of a model's name chooses its endpoint. `--base-url` overrides the address. "
        "[Providers and local models](../how-to/providers.md) shows how to use them.",
        _table(("prefix", "key", "address"), endpoints),
        "## Batch interfaces",
        "casewise cuts a run into batches within these limits. A discount counts only where it holds for every model of the "
        "provider. [Batches](../how-to/batches.md) shows how to use them.",
        _table(
            ("prefix", "requests", "size", "expires after", "discount", "source", "not verified"),
            [*terms, ("a server of your own", *_limits(COMPATIBLE))],
        ),
    )


def _limits(terms: Terms) -> tuple[str, ...]:
    return (
        f"{terms.most_requests:,}",
        f"{terms.most_bytes // 1_000_000} MB",
        f"{terms.hours} h",
        f"{terms.discount:.0%}" if terms.discount else "none",
        f"[documentation]({terms.source})" if terms.source else "–",
        terms.unverified or "–",
    )


def _exit_codes() -> str:
    (codes,) = ast.parse(inspect.getsource(ExitCode)).body
    rows = [
        (str(int(ExitCode[target.id])), f"`{target.id}`", text.value.value)
        for member, text in pairwise(codes.body if isinstance(codes, ast.ClassDef) else ())
        if isinstance(member, ast.Assign) and isinstance(target := member.targets[0], ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    ]
    return _page(
        "Exit codes",
        "Every command ends with one of these codes (`casewise.errors.ExitCode`). A script can continue after 0, should read the "
        "output after 3 and 5, and can repeat the same command after 4.",
        _table(("code", "name", "meaning"), rows),
    )


def _guard_profiles() -> str:
    profiles = all_profiles()
    prompts = [
        (
            f"`{prompt.guard}`",
            f"{prompt.title} ({prompt.source})",
            "equal" if sent_digest(profiles[prompt.guard], prompt) == prompt.sha256 else "differs",
        )
        for prompt in published_prompts()
    ]
    rows = [
        (f"`{profile.name}`", profile.not_compared or "\u2013", ", ".join(profile.unverified) or "\u2013")
        for profile in profiles.values()
    ]
    return _page(
        "Guard profiles",
        "No weights of a guard were available in development. [Guards](../how-to/guards.md) shows how to use them; `casewise show guards "
        "NAME` has the words of each fact.",
        "## Published prompts\n\nThe makers of these guards publish how to ask them. Each prompt was rendered for a fixed request and "
        "reply, and `scripts/published_prompts.toml` has its SHA-256. *Equal* is computed: casewise sends the same, byte for byte. "
        "`scripts/compare_guards.py` computes the digests of packages again.",
        _table(("guard", "published prompt", "casewise sends"), prompts),
        "## What could not be compared",
        _table(("guard", "part of the prompt that was not compared", "facts that are not verified"), rows),
    )


REPLIES = Path(__file__).parents[1] / "tests" / "ask" / "families"
OTHER_KINDS = {
    "plain": "prose with a verdict",
    "json": "JSON, well formed or not",
    "api": "what endpoints send",
    "hedge": "no clear verdict",
    "hostile": "written to mislead a reader",
}
FEWEST_OF_A_FAMILY = 15


def _replies_read() -> str:
    sets = [
        ("The half kept apart", "held_out"),
        ("The newest replies", "newest"),
        ("The half used while the rules were written", "development"),
    ]
    parts = [part for title, name in sets for part in (f"## {title}", _read_by_family(name))]
    return _page(
        "How replies are read",
        "A reply is read in two steps. First, the wrapping of its model's family is removed: "
        f"{', '.join(envelope.family for envelope in ENVELOPES)}. Then one reader looks for a verdict that the rest states, and for a "
        "reason not to accept it. This page counts what the reader makes of replies that were written in the manner of model "
        "families, or to mislead it. Each was labelled before any reader saw it, once or twice, by the author of the rules: expect "
        "somewhat less on replies by others. Somebody who knows the rules and tries to mislead them finds ways: of "
        "fourteen batches of new hostile replies the rules of the day read 73 of 274, 0 of 43, 9 of 30, 8 of 30, 2 of 40, 20 of 108, 18 of 108, 7 of 51, 3 of 80, "
        "12 of 65, 15 of 70, 2 of 82, 1 of 40 and 1 of 40 wrongly, and were changed each time. The newest batch was read once; a change after "
        "that reads one more of its replies. "
        "Of the last batches before it, replies whose reading was looked at are not in the half kept apart. The replies and labels are in `tests/ask/families`.",
        "*Right* is the labelled verdict, or none where the label is none. *Unscored* is no verdict where there is one. *Wrong* is any "
        "other verdict than the label. Replies of real models on your own prompts can differ: `casewise reread RUN` shows what was not "
        "read in a run, and measures the reader on replies that you mark.",
        *parts,
    )


def _read_by_family(half: str) -> str:
    halves = {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        for path in REPLIES.glob("*.jsonl")
    }
    replies = halves[half]
    sizes = Counter(reply["family"] for rows in halves.values() for reply in rows)
    counts: dict[str, Counter[str]] = {}
    for reply in replies:
        family = reply["family"]
        small = family not in OTHER_KINDS and sizes[family] < FEWEST_OF_A_FAMILY
        row = "other families" if small else OTHER_KINDS.get(family, family)
        counts.setdefault(row, Counter())[_reading(reply)] += 1
    counts["all"] = sum(counts.values(), Counter())
    order = [
        *sorted(set(counts) - {*OTHER_KINDS.values(), "other families", "all"}),
        "other families",
        *OTHER_KINDS.values(),
        "all",
    ]
    rows = [
        (
            name,
            *(
                str(number)
                for number in (counts[name].total(), *(counts[name][kind] for kind in ("right", "unscored", "wrong")))
            ),
        )
        for name in order
        if name in counts
    ]
    return _table(("family or kind", "replies", "right", "unscored", "wrong"), rows)


def _reading(reply: dict[str, str]) -> str:
    outcome = read_outcome(reply["elicitation"], Reply(reply["reply"], finish_reason=reply["finish_reason"])).outcome
    number = outcome.value if isinstance(outcome, Scored) else None
    value = number if number is None or reply["elicitation"] == "score" else ("safe" if number else "unsafe")
    if value == reply["verdict"]:
        return "right"
    return "unscored" if value is None else "wrong"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(
        f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
