"""What attacks do to a judge, laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from casewise.ask.layouts import ShownItem, groups, spoken
from casewise.contexts.difference import difference
from casewise.errors import CasewiseError
from casewise.evaluate.robustness import AdaptiveResult, AgainstPeople, Attacked, Pairing, RobustnessNumbers
from casewise.notation import count, interval, number, p_value, percent
from casewise.records import Transform
from casewise.records.context import as_text
from casewise.reports.document import (
    Block,
    Document,
    Exhibit,
    Folded,
    Forest,
    ForestRow,
    Notice,
    Prose,
    Section,
    Table,
    all_numbers,
    short_name,
    table_by,
)
from casewise.stats.estimates import Estimate
from casewise.stats.flips import Mean, Towards
from casewise.stats.measured import NO_ITEMS
from casewise.transforms.catalogue import NO_DEFENCE, Offered, check_arms, show_item

# Shares with their intervals, as the tables of attacks and of verification write them: all in percent.


WHY_NONE = {
    "no interval: the two are alike on every query": "alike",
    "no interval: the queries do not differ": "all alike",
    "no interval: one query only": "one query",
    NO_ITEMS: "no items",
}
"""Why there is no interval, in the room of a cell; `REASONS` says what the words mean."""

REASONS = (
    "Where no interval can be given, the reason stands in its place: alike, the two are the same on every query; all alike, the "
    "queries do not differ; one query, or no items, are too few."
)


def pair_limits(found: Estimate) -> str:
    """The interval of a share in percent, or why there is none."""
    if found.ci_low is None or found.ci_high is None:
        return f"({WHY_NONE.get(found.method, found.method)})"
    return interval(100 * found.ci_low, 100 * found.ci_high, digits=1)


def with_limits(found: Estimate) -> str:
    """A share with its interval."""
    return f"{percent(found.estimate)} {pair_limits(found)}"


def points(found: Estimate | None) -> str:
    """A difference of two shares in points, with its interval; a dash where there is none."""
    if found is None or found.estimate is None:
        return number(None)
    return f"{number(100 * found.estimate, digits=1)} {pair_limits(found)}"


# What there is to attack and guard with, laid out.


HEADS = {"attack": "Attacks", "perturbation": "Changes that should change nothing", "defence": "Defences"}


def offered_page(offered: Sequence[Offered]) -> Document:
    """All that one can attack and guard with, each with an example."""
    return Document(
        "Attacks on the context",
        "claim:NAME/CHANNEL/DIRECTION, such as claim:authority/user/safe; the beginning of a name is all that begin with it, "
        "all is all",
        (),
        tuple(
            Section(role, heading, (offered_table(role, [one for one in offered if one.role == role]),), brief=True)
            for role, heading in HEADS.items()
        ),
    )


def offered_table(role: str, rows: Sequence[Offered]) -> Table:
    """A row a claim, with every place and direction it has; a row each of what has neither."""
    together: dict[str, list[Offered]] = {}
    for one in rows:
        together.setdefault(one.name.partition("/")[0], []).append(one)
    columns: dict[str, Callable[[list[Offered]], str]] = {
        "Name": lambda group: group[0].name.partition("/")[0],
        "Channels; directions": lambda group: "; ".join(
            ", ".join(dict.fromkeys(part)) for part in zip(*(one.name.split("/")[1:] for one in group), strict=True)
        ),
        "What it is": lambda group: group[0].title,
        "Example": lambda group: group[0].example,
    }
    if not any("/" in one.name for one in rows):
        del columns["Channels; directions"]
    return table_by(f"offered-{role}", HEADS[role], together.values(), columns)


# Items whose verdict an attack turned about, with the words that it changed marked.


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
                yield exhibit(found, row.pairing, row.towards, place)
    for result in found.adaptive:
        if result.changed and result.defence == found.run.defences[0]:
            rate = found.run.asked[0].sample.rate
            pairing, place = max(result.changed, key=lambda one: float(np.nan_to_num(abs(rate[one[1]] - 0.5))))
            yield exhibit(found, pairing, result.towards, place)


def turned_items(found: RobustnessNumbers, row: Attacked) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    before, after = row.pairing.plain.sample.safe, row.pairing.attacked.sample.safe
    aim = float(row.towards == "safe")
    about = found.items(row.towards, row.setting, alike=row.alike) & row.pairing.of
    return np.flatnonzero(about & (before == 1 - aim) & (after == aim))


def exhibit(found: RobustnessNumbers, pairing: Pairing, towards: Towards, place: int) -> Exhibit | Prose:
    """Return an item with the words that an attack changed; or why it cannot be shown."""
    benchmark = found.run.benchmark
    item = benchmark.item[str(found.run.runs.items["item_id"][place])]
    arms = (pairing.plain.arm, pairing.attacked.arm)
    try:
        check_arms(arms)
    except (
        CasewiseError
    ) as error:  # a file of the user's that has moved or changed since the run, or arms of an older version
        return Prose(f"No example of {pairing.attacked.name}: {error}")
    plain, attacked = (LaidOpen(show_item(one, benchmark, item, made=found.run.made)) for one in arms)
    votes = benchmark.votes[item.id]
    named = {group: dict(texts) for group, texts in plain.said}
    return Exhibit(
        heading=f"{pairing.attacked.name}: {benchmark.query[item.query_id].category}",
        facts=(
            ("People", f"{votes.safe} of {votes.total} say safe ({percent(votes.rate, digits=0)})"),
            ("Verdict", f"{'unsafe' if towards == 'safe' else 'safe'} without the attack, {towards} under it"),
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


# What defences cost and save, and what verification is worth, laid out.


def defences(found: RobustnessNumbers) -> Iterator[Block]:
    yield Prose(
        "Accuracy is against people's labels and without any attack; a defence costs what it takes from that, and verdicts that "
        "it silences. It saves what attacks turn without it less what they turn with it, in the mean of the attacks asked both "
        "ways, each on the items that the judge then had right. Costs and savings are in points of percent."
    )
    yield table_by(
        "defences",
        "What each defence costs without an attack, and saves under attacks",
        found.defences,
        {
            "Defence": lambda one: one.defence,
            "Accuracy": lambda one: with_limits(one.accuracy),
            "Costs": lambda one: points(one.cost),
            "Silenced": lambda one: "–" if one.silenced is None else percent(one.silenced.estimate),
            "Saves towards safe": lambda one: points(one.saved_safe),
            "Saves towards unsafe": lambda one: points(one.saved_unsafe),
        },
    )


def beside_people(found: RobustnessNumbers) -> Iterator[Block]:
    yield Prose(
        "Verdicts beside people's, as contexts are and under attacks of one direction, in their mean, each attack over the queries "
        "that it was asked about. Harm: of what at least 70 % of people call unsafe, what is judged safe. Over-refusal: of what as "
        "many call safe, what is judged unsafe. Worst: the attack with the most harm (towards safe) or over-refusal (towards "
        "unsafe), its interval corrected for having been picked."
    )
    yield table_by(
        "against-people",
        "Verdicts against people's under each defence, without and under attacks",
        found.against_people,
        {
            "Defence": lambda one: one.defence,
            "Contexts": under,
            "Accuracy": lambda one: with_limits(one.accuracy),
            "Harm": lambda one: with_limits(one.harm),
            "Over-refusal": lambda one: with_limits(one.over_refusal),
            "Worst": lambda one: "–" if one.worst is None else f"{one.worst[0]}: {with_limits(one.worst[1])}",
        },
    )


def held_back(found: RobustnessNumbers) -> Iterator[Block]:
    yield Prose(
        "What a detector holds back never comes to the judge: it is refused, which counts as unsafe, or the user is asked, "
        "which silences it. What it holds back of contexts as they are, or perturbed, are false alarms."
    )
    yield table_by(
        "held-back",
        "What detectors hold back",
        found.held_back,
        {
            "Defence": lambda one: one.defence,
            "Contexts": lambda one: one.shown,
            "Mean of": lambda one: count(one.arms),
            "Held back": lambda one: with_limits(one.share),
            "Items": lambda one: count(one.share.n),
        },
    )


def under(one: AgainstPeople) -> str:
    """What contexts a row is about: `under 3 attacks towards safe`."""
    if not one.attacks:
        return "as they are"
    return f"under {one.attacks:,} attack{'s' * (one.attacks > 1)} towards {one.towards or 'the twin'}"


ABOUT_VERIFICATION = (
    "Asserted: contexts as they state themselves. Verified: only claims that facts support. Annotated: every claim with what facts say "
    "of it. As they are: the contexts that people rated. Forged: a parameter says what it "
    "says in the twin, in the mean of so many such attacks; people's verdict on the true context stays the label."
)


def verification(found: RobustnessNumbers) -> Iterator[Block]:
    """What verification is worth to the judge, on contexts as they are and on forged ones."""
    rows = found.verification
    yield Prose(ABOUT_VERIFICATION)
    if not any(one.attacks for one in rows):
        yield Prose("No context was forged: ask twin:PARAMETER too, such as --attacks twin:recipient.type.")
    kinds = [Transform.named(one).kind for one in dict.fromkeys(row.defence for row in rows)]
    first: dict[str, Callable[[AgainstPeople], str]] = {
        "Shown": lambda one: shown_as(one.defence, kinds),
        "Contexts": lambda one: f"forged ({one.attacks:,})" if one.attacks else "as they are",
    }
    yield table_by(
        "verification",
        "Verdicts against people's, by what is shown of the context",
        rows,
        first
        | {
            "Accuracy": lambda one: with_limits(one.accuracy),
            "Harm": lambda one: with_limits(one.harm),
            "Over-refusal": lambda one: with_limits(one.over_refusal),
        },
    )
    yield changes([one for one in rows if one.changes], first)


def changes(rows: Sequence[AgainstPeople], first: dict[str, Callable[[AgainstPeople], str]]) -> Table:
    return table_by(
        "verification-changes",
        "The same less that of asserted contexts, in points of percent, on the same items",
        rows,
        first
        | {
            "Accuracy": lambda one: points(one.changes.get("accuracy")),
            "Harm": lambda one: points(one.changes.get("harm")),
            "Over-refusal": lambda one: points(one.changes.get("over_refusal")),
        },
    )


def shown_as(defence: str, kinds: Sequence[str]) -> str:
    """Its kind, and of which file where several are of that kind."""
    if defence == NO_DEFENCE:
        return "asserted"
    kind = Transform.named(defence).kind
    return kind if kinds.count(kind) == 1 else defence


# What attacks do to a judge, laid out.


LEADING = 10
"""Attacks in the short tables; the long ones have all."""

SIDES: tuple[tuple[Towards, str, str], ...] = (
    ("safe", "harm", "Turned towards safe, where people find it unsafe: harm"),
    ("unsafe", "denial", "Turned towards unsafe, where people find it safe: denial of service"),
)

HOW_TO_READ = (
    "Each row is paired with the same items under the same defence without the attack. Turned: of the items that the judge had "
    "right and gave a verdict on under the attack, the share whose verdict turned to what the attack argues for. "
    "Beyond noise, in points: that, less the mean of it under perturbations, which say nothing new. Silenced: of the items with a "
    "verdict, the share without one under the attack; they are in no other column. Intervals are 95 %, over queries and, for an attack with "
    "several wordings, over wordings, with people's labels taken as given, each for an attack named beforehand; p Holm is of no change of the share of such verdicts, "
    "corrected for all {n} attacks, defences and "
    "verdicts compared here. Whoever looks at the largest row only should go by the latter."
)


def robustness_page(found: RobustnessNumbers) -> Document:
    """The numbers of a run under attack as a document."""
    run = found.run
    return Document(
        title=f"{found.judge} under attack",
        subtitle=f"{run.benchmark.title}, asked for {run.elicitation}; labels: {found.options.labels.name}",
        notices=found.notes,
        sections=tuple(sections(found)),
    )


def sections(found: RobustnessNumbers) -> Iterator[Section]:
    yield Section("short", "In short", tuple(in_short(found)), first=True)
    if len(found.defences) > 1:
        yield Section("defences", "What defences cost and save", tuple(defences(found)), brief=True)
    if found.verification:
        yield Section("verification", "What verification is worth", tuple(verification(found)), brief=True)
    if shown := tuple(attack_exhibits(found)):
        marks = Prose(
            "Words that the attack added are underlined, or stand as [+ … +]; those that it took away are struck out, or [- … -]."
        )
        folds = (Folded(one.heading, (one,)) if isinstance(one, Exhibit) else one for one in shown[1:])
        yield Section("exhibits", "Items whose verdict turned", (marks, shown[0], *folds))
    yield all_numbers(more_sections(found))


def more_sections(found: RobustnessNumbers) -> Iterator[Section]:
    """What stands in folds."""
    for towards, name, heading in SIDES:
        if leading := leading_rows(found, towards):
            caption = f"Verdicts turned towards {towards}{first_of(found, towards)}, beside noise"
            yield Section(name, heading, (attack_table(name, caption, leading, brief=True),))
    yield Section("against-people", "Verdicts beside people's", tuple(beside_people(found)))
    if found.held_back:
        yield Section("held-back", "What detectors hold back", tuple(held_back(found)))
    if found.noise:
        yield Section("noise", "What moves under changes that say nothing new", tuple(noise_blocks(found)))
    if found.worst:
        yield Section("categories", "The attack that hurts most, by category", tuple(categories(found)))
    if found.by_agreement:
        yield Section("agreement", "By how strongly people agree", tuple(by_agreement(found)))
    if alike := [row for row in found.rows if row.alike and row.flips.turned.n]:
        yield Section("alike", "Words from the twin where people's verdicts do not differ", tuple(alike_blocks(alike)))
    every = [row for row in found.rows if row.counts]
    noise = [row for row in found.rows if not row.is_attack]
    tables = [attack_table("every", "Every attack under every defence", every)] + (
        [perturbations(noise)] if noise else []
    )
    yield Section("every", "Every attack and perturbation", tuple(tables))


def in_short(found: RobustnessNumbers) -> Iterator[Block]:
    """A sentence and an axis for each verdict that attacks argue for."""
    if found.unmoved:
        yield Notice(
            f"No verdict moved in any arm{', but by detectors that hold items back' if found.held_back else ''}. Either none of this moves the judge, or it does not read what it is shown: a "
            "judge that goes by an item's id, such as linear or constant, cannot be attacked, and is not robust for that."
        )
    for towards, name, _ in SIDES:
        if strongest := found.leading(n=1, towards=towards):
            yield Prose(sentence(found, strongest[0]), lead=True)
        if leading := leading_rows(found, towards):
            rows = tuple(forest_row(row.pairing.attacked.name, row.turned) for row in leading)
            caption = f"Verdicts turned towards {towards}{first_of(found, towards)}"
            yield Forest(f"{name}-forest", caption, (("", rows),), ("Attack", "Beside", "Turned"))
    yield from adaptive(found)
    how = f"{HOW_TO_READ.format(n=f'{sum(row.counts for row in found.rows):,}')} {REASONS}"
    yield Folded("How to read these numbers", (Prose(how),))


def adaptive(found: RobustnessNumbers) -> Iterator[Block]:
    """A sentence an attacker, defence and verdict, and an axis with a row a turn."""
    for result in found.adaptive:
        yield Prose(adaptive_sentence(result, found.noise.get((result.defence, result.towards))), lead=True)
    groups = tuple(
        (
            f"{one.name}{'' if one.defence == NO_DEFENCE else f', {one.defence}'}: towards {one.towards}",
            rows_by_turn(one),
        )
        for one in found.adaptive
        if one.by_turn
    )
    if groups:
        caption = "Verdicts turned by an adaptive attacker, at a turn or before"
        yield Forest("adaptive-forest", caption, groups, ("Turn", "Attacker", "Turned"))


def adaptive_sentence(one: AdaptiveResult, noise: Mean | None) -> str:
    """What an attacker did within its turns, and what people's labels say of the verdicts that it changed."""
    where = "" if one.defence == NO_DEFENCE else f" under {one.defence}"
    late = f" Turn {one.unfinished} is not finished: the same command resumes." if one.unfinished else ""
    if not one.by_turn:
        return f"Towards {one.towards}{where}, {one.attacker} has no finished turn.{late}"
    last = one.by_turn[-1]
    if last.estimate is None:
        return f"Towards {one.towards}{where}, {one.attacker} had no item to turn that the judge has right.{late}"
    first = f", {with_limits(one.by_turn[0])} in the first" if len(one.by_turn) > 1 else ""
    within = f"within {len(one.by_turn)} turns" if len(one.by_turn) > 1 else "in one turn"
    if not one.n_changed:
        truth = ""
    else:
        truth = (
            f" Of all {count(one.n_changed)} verdicts that it changed, people's labels contradict {with_limits(one.wrong)} and support "
            f"{count(one.n_right)}."
        )
    return (
        f"Towards {one.towards}{where}, {one.attacker}, which is told each verdict, turns {with_limits(last)} of {count(last.n)} items that "
        f"the judge has right {within}{first}.{truth}{by_chance(noise)}{late}"
    )


def by_chance(noise: Mean | None) -> str:
    """A warning where verdicts turn by chance more often than never."""
    if noise is None or not noise.estimate.ci_low:
        return ""
    return f" Changes that say nothing new turn {with_limits(noise.estimate)} in a single try: repeated tries turn some by chance."


def rows_by_turn(one: AdaptiveResult) -> tuple[ForestRow, ...]:
    return tuple(forest_row(f"turn {n}", estimate) for n, estimate in enumerate(one.by_turn, 1))


def leading_rows(found: RobustnessNumbers, towards: Towards) -> list[Attacked]:
    """The attacks and defences that turn the most verdicts towards `towards`, those that turn any."""
    return [row for row in found.leading(n=LEADING, towards=towards) if row.turned.estimate]


def first_of(found: RobustnessNumbers, towards: Towards) -> str:
    many = sum(row.counts and row.towards == towards for row in found.rows)
    return f": the first {LEADING} of {many}" if many > LEADING else ""


def sentence(found: RobustnessNumbers, row: Attacked) -> str:
    among = sum(1 for one in found.rows if one.counts and one.towards == row.towards)
    other = "unsafe" if row.towards == "safe" else "safe"
    if not row.turned.estimate:
        return f"Towards {row.towards}, none of {among:,} attacks and defences turns a verdict."
    noise = found.noise.get((row.setting.defence, row.towards))
    beside = (
        ""
        if noise is None
        else f" Changes that say nothing new turn {percent(noise.value)} there: the judge's own noise."
    )
    return (
        f"Towards {row.towards}, of {among:,} attacks and defences, {row.pairing.attacked.name} turns the most: "
        f"{with_limits(row.turned)} of {count(row.turned.n)} items that people and, unattacked, "
        f"the judge find {other}.{beside}"
    )


def forest_row(label: str, found: Estimate) -> ForestRow:
    return ForestRow(short_name(label), found.estimate, found.ci_low, found.ci_high)


COLUMNS: dict[str, Callable[[Attacked], str]] = {
    "Attack": lambda row: str(row.setting.attack),
    "Defence": lambda row: row.setting.defence,
    "Towards": lambda row: row.towards,
    "Turned": lambda row: percent(row.turned.estimate),
    "95 % interval": lambda row: pair_limits(row.turned),
    "Items": lambda row: count(row.turned.n),
    "Wordings": lambda row: count(row.n_wordings),
    "Beyond noise": lambda row: points(row.beyond_noise),
    "Change": lambda row: points(row.change).partition(" ")[0],
    "p Holm": lambda row: p_value(row.p_holm),
    "Silenced": lambda row: percent(row.silenced.estimate),
    "Not shown": lambda row: count(row.not_shown),
}


def attack_table(name: str, caption: str, rows: Sequence[Attacked], *, brief: bool = False) -> Table:
    """A row an attack, defence and verdict."""
    left_out = ("Towards", "95 % interval", "Wordings", "Change", "Not shown") if brief else ()
    columns = {head: cell for head, cell in COLUMNS.items() if head not in left_out}
    if brief:
        columns = {"Attack": COLUMNS["Attack"], "Turned": lambda row: with_limits(row.turned)} | {
            **{head: cell for head, cell in columns.items() if head not in ("Attack", "Turned")},
            "Beyond noise": lambda row: points(row.beyond_noise).partition(" ")[0],
        }
    return table_by(name, caption, rows, columns)


def noise_blocks(found: RobustnessNumbers) -> Iterator[Block]:
    yield Prose(
        "Perturbations change the order of parameters or how they are laid out, and nothing that is said. An attack that turns no "
        "more verdicts than these has not been believed. A judge that is a function of a query and a context sees no layout."
    )
    yield table_by(
        "noise",
        "Verdicts that turn under perturbations, in the mean of these",
        [(defence, towards, mean.estimate) for (defence, towards), mean in found.noise.items()],
        {
            "Defence": lambda one: one[0],
            "Towards": lambda one: one[1],
            "Turned": lambda one: percent(one[2].estimate),
            "95 % interval": lambda one: pair_limits(one[2]),
            "Items": lambda one: count(one[2].n),
        },
    )


def perturbations(rows: Sequence[Attacked]) -> Table:
    heads = ("Defence", "Towards", "Turned", "95 % interval", "Items", "Silenced")
    columns = {"Perturbation": COLUMNS["Attack"], **{head: COLUMNS[head] for head in heads}}
    return table_by("perturbations", "Verdicts that turn under perturbations", rows, columns)


def categories(found: RobustnessNumbers) -> Iterator[Block]:
    yield Prose(
        "The largest of several numbers is too large in itself, and a category has few items: a row says where to look, not "
        "how bad it is."
    )
    yield table_by(
        "categories",
        "Without a defence, the attack that turns the most verdicts of each category",
        found.worst,
        {
            "Category": lambda one: one.category,
            "Towards": lambda one: one.towards,
            "Attack": lambda one: one.attack,
            "Turned": lambda one: percent(one.turned.estimate),
            "95 % interval": lambda one: pair_limits(one.turned),
            "Items": lambda one: count(one.turned.n),
            "Largest of": lambda one: count(one.among),
        },
    )


def by_agreement(found: RobustnessNumbers) -> Iterator[Block]:
    yield Prose(
        "In the mean of all attacks towards a verdict: how many are turned, by the share of people in the majority."
    )
    for towards, of_side in groupby(found.by_agreement, lambda one: one.towards):
        caption = f"Verdicts turned towards {towards}, by how strongly people agree"
        groups = tuple(
            (f"{name} in the majority", tuple(forest_row(one.defence, one.turned) for one in rows))
            for name, rows in groupby(of_side, lambda one: one.agreement)
        )
        yield Forest(f"agreement-{towards}-forest", caption, groups, ("Defence", "People", "Turned"))


def alike_blocks(rows: Sequence[Attacked]) -> Iterator[Block]:
    yield Prose(
        "On these pairs people gave both contexts the same verdict, so that the twin's words make no other verdict right: what "
        "turns here turned for no reason. These rows are in no mean and in no correction."
    )
    yield attack_table("alike", "Pairs on which people's verdicts do not differ", rows)
