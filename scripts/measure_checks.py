"""Prints the table of docs/explanation/verified.md: what the checks of contexts find on planted and on clean texts.

`python scripts/measure_checks.py` measures the rules. `--ask MODEL --sample N` also asks a model, as `casewise contexts check --ask`
does, about N planted and N clean contexts of the half that was kept apart, and about the clean ones under the other intent.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.contexts.fault_cases import CHECK_OF, CLEAN, FaultCase, fault_cases

from casewise import database
from casewise.contexts.checks import Wording
from casewise.contexts.drafts import create_draft, find_draft
from casewise.contexts.opinions import NOT_FITTING, Opinion, OpinionOptions, ask_opinions
from casewise.contexts.review import Act, ReviewAction
from casewise.contexts.statistics import Share
from casewise.contexts.store import act, all_places
from casewise.models.load import load_model
from casewise.records import Query, sorry_bench

HALVES = ("tune", "final")


def rules_table(cases: list[FaultCase]) -> str:
    """Return the table of the rules, in Markdown."""
    rows = ["| text | half that the rules were tuned on | half kept apart |", "|---|---|---|"]
    planted: dict[str, list[bool]] = {half: [] for half in HALVES}
    for kind, checks in CHECK_OF.items():
        cells = []
        for half in HALVES:
            found = [bool(case.checks() & set(checks)) for case in cases if (case.half, case.kind) == (half, kind)]
            planted[half] += found
            cells.append(f"{sum(found)} of {len(found)}")
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    rows.append(
        f"| all planted | {' | '.join(str(Share(sum(planted[half]), len(planted[half]))) for half in HALVES)} |"
    )
    clean = [[bool(case.checks()) for case in cases if (case.half, case.kind) == (half, CLEAN)] for half in HALVES]
    rows.append(f"| false alarms on clean texts | {' | '.join(str(Share(sum(one), len(one))) for one in clean)} |")
    return "\n".join(rows)


def opinions(cases: list[FaultCase], model: str, sample: int) -> str:
    """Ask a model about the first cases of each kind, and return what it found, in sentences.

    Each clean context is asked about twice: as meant to be safe, and as meant to be unsafe, which it does not fit.
    """
    kept_apart = [case for case in cases if case.half == "final"]
    clean = [case for case in kept_apart if case.kind == CLEAN][:sample]
    by_kind = [[case for case in kept_apart if case.kind == kind] for kind in CHECK_OF]
    planted = [case for of_all in zip(*by_kind, strict=True) for case in of_all][:sample]
    with tempfile.TemporaryDirectory() as folder, database.open(str(Path(folder) / "x.db")) as store:
        loaded = load_model(model).model
        asked = {"planted": (planted, "safe"), "clean": (clean, "safe"), "swapped": (clean, "unsafe")}
        for name, (of_kind, intent) in asked.items():
            begin(store, name, of_kind, intent)
        counts = {name: Counter[str]() for name in asked}
        for name in asked:
            with store.read() as connection:
                draft = find_draft(connection, name)
            run = Path(folder) / name
            asyncio.run(ask_opinions(store, draft, loaded, folder=run, options=OpinionOptions()))
            for line in (run / "opinions.jsonl").read_text(encoding="utf-8").splitlines():
                opinion = Opinion.model_validate_json(line)
                problems = {finding.check for finding in opinion.findings} - {NOT_FITTING}
                counts[name].update(
                    {
                        "asked": 1,
                        "no opinion": opinion.fits is None,
                        "problem": bool(problems),
                        "fits": opinion.fits is True,
                        "does not fit": opinion.fits is False,
                        "unquoted": opinion.unquoted,
                    }
                )

    def share(name: str, what: str) -> Share:
        return Share(counts[name][what], counts[name]["asked"])

    every = sum(counts.values(), Counter[str]())
    return (
        f"{model}: {Share(every['no opinion'], every['asked'])} of the replies were no opinion, and {every['unquoted']} findings "
        f"quoted nothing.\nA problem, with a quotation: {share('planted', 'problem')} of the planted and {share('clean', 'problem')} of "
        f"the clean contexts.\nDoes not fit: {share('clean', 'does not fit')} of the clean contexts under their own intent, and "
        f"{share('swapped', 'does not fit')} under the other."
    )


def begin(store: database.Database, name: str, cases: list[FaultCase], intent: str) -> None:
    """Make a draft with a context for each case."""
    # one query a case, so that each has a place of its own
    queries = [Query(text=f"{case.query} ({n})", category=sorry_bench().names[0]) for n, case in enumerate(cases)]
    now = datetime.now(UTC)
    with store.write() as connection:
        draft = create_draft(connection, name, queries=queries, taxonomy=sorry_bench(), intents=[intent], now=now)
        for place, case in zip(all_places(connection, draft.id), cases, strict=True):
            words = Wording.from_fields(case.fields)
            act(connection, place.id, ReviewAction(by="casewise", act=Act.IMPORT, wording=words), seen=None, now=now)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ask", help="a model to ask as well")
    parser.add_argument("--sample", type=int, default=10, help="planted, and clean, contexts to ask it about")
    arguments = parser.parse_args()
    cases = fault_cases()
    print(rules_table(cases))
    if arguments.ask:
        print(opinions(cases, arguments.ask, arguments.sample))


if __name__ == "__main__":
    main()
