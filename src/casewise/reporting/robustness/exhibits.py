"""Items whose verdict an attack turned about, with the words that it changed marked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from casewise.contexts.reviewing.difference import difference
from casewise.errors import CasewiseError
from casewise.evaluation.robustness.numbers import Attacked, RobustnessNumbers
from casewise.prompting.context_words import groups, spoken
from casewise.records.statement import as_text
from casewise.reporting.document import Exhibit, Prose, percent
from casewise.showing import ShownItem, arm_named, show_item

__all__ = ["LaidOpen", "attack_exhibits", "marked_difference"]

FROM_SAFE, FROM_UNSAFE = 3, 2
"""How many attacks towards each verdict are shown, the strongest first."""


def attack_exhibits(found: RobustnessNumbers) -> Iterator[Exhibit | Prose]:
    """For the attacks that turn the most verdicts, the turned item on which people agree most."""
    for towards, n in (("safe", FROM_SAFE), ("unsafe", FROM_UNSAFE)):
        leading = found.leading(n=len(found.rows), towards="safe" if towards == "safe" else "unsafe")
        for row in [one for one in leading if one.setting.defence == found.run.defences[0]][:n]:
            turned = turned_items(found, row)
            if turned.size:
                rate = row.pairing.plain.sample.rate[turned]
                place = int(turned[np.nanargmax(np.abs(rate - 0.5))]) if not np.isnan(rate).all() else int(turned[0])
                try:
                    yield exhibit(found, row, place)
                except CasewiseError as error:  # a file of one's own that has moved or changed since the run
                    yield Prose(f"No example of {row.pairing.attacked.arm.name}: {error}")


def turned_items(found: RobustnessNumbers, row: Attacked) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    before, after = row.pairing.plain.sample.safe, row.pairing.attacked.sample.safe
    aim = float(row.towards == "safe")
    about = found.items(row.towards, row.setting, alike=row.alike) & row.pairing.of
    return np.flatnonzero(about & (before == 1 - aim) & (after == aim))


def exhibit(found: RobustnessNumbers, row: Attacked, place: int) -> Exhibit:
    benchmark = found.run.benchmark
    item = benchmark.item[str(found.run.runs.items["item_id"][place])]
    plain, attacked = (
        LaidOpen(show_item(arm_named(one.arm.name), benchmark, item, made=found.run.made))
        for one in (row.pairing.plain, row.pairing.attacked)
    )
    votes = benchmark.votes[item.id]
    named = {group: dict(texts) for group, texts in plain.said}
    return Exhibit(
        heading=f"{row.pairing.attacked.arm.name}: {benchmark.query[item.query_id].category}",
        facts=(
            ("People", f"{votes.safe} of {votes.total} say safe ({percent(votes.rate, digits=0)})"),
            ("Verdict", f"{'unsafe' if row.towards == 'safe' else 'safe'} without the attack, {row.towards} under it"),
            ("Item", item.id),
        ),
        query=marked_difference(plain.query, attacked.query),
        context=tuple(
            (group, tuple((name, marked_difference(named.get(group, {}).get(name, ""), text)) for name, text in texts))
            for group, texts in attacked.said
        ),
        marked=True,
    )


class LaidOpen:
    """All that is shown of an item, as labelled texts: what else the system message says and earlier turns among them."""

    def __init__(self, shown: ShownItem) -> None:
        self.query = shown.query
        placed = shown.placement
        beside = (
            ("earlier turns", tuple((one.role, one.content) for one in placed.earlier)),
            ("system message, beside the context", tuple((str(n), text) for n, text in enumerate(placed.system, 1))),
        )
        self.said = (
            *(
                (
                    spoken(group.name),
                    tuple((spoken(name or group.name), as_text(text)) for name, text in group.statements),
                )
                for group in groups(shown.context)
            ),
            *((heading, texts) for heading, texts in beside if texts),
        )


def marked_difference(before: str, after: str) -> str:
    """`after`, with what is new in it as `[+ … +]` and what it no longer has as `[- … -]`.

    Examples
    --------
    >>> marked_difference("a nurse", "a nurse on duty")
    'a nurse[+ on duty+]'
    """
    wrap = {"same": "{}", "new": "[+{}+]", "gone": "[-{}-]"}
    return "".join(wrap[piece.kind].format(piece.text) for piece in difference(before, after))
