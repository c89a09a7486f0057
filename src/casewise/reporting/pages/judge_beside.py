"""What a judge's numbers are worth, laid out: yardsticks and one sentence, the judge among people and on subsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from casewise.auditing.subsets import SUBSETS
from casewise.evaluation.among_people import BesidePeople
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.evaluation.subsets import SubsetScore
from casewise.evaluation.yardsticks import Beside, what_it_shows
from casewise.reporting.document import Block, Prose, Section, Table, interval, number, percent, table_by, table_of
from casewise.stats import PanelWorth
from casewise.stats.agreeing.estimates import Estimate, named
from casewise.stats.distributions.distances import DISTANCES

__all__ = ["beside_blocks", "beside_people_blocks", "beside_sections", "subset_blocks"]


def beside_sections(numbers: JudgeNumbers) -> Iterator[Section]:
    """What to read the headline beside, then the judges among people and on subsets; nothing without ratings."""
    found = numbers.besides
    if not found:
        return
    blocks: list[Block] = []
    for index, (name, one) in enumerate(found.items()):
        blocks += beside_blocks(one, name=f"beside-{index}", judge=name)
    yield Section("beside", "What the number does and does not show", tuple(blocks), brief=len(found) == 1)
    yield Section("among-people", "The judge among people", tuple(beside_people_blocks(numbers.among_people)))
    if subsets := tuple(subset_blocks(numbers.subsets)):
        yield Section("subsets", "Where people agree, and where words do not help", subsets)


def beside_blocks(found: Beside, *, name: str = "beside", judge: str = "The judge") -> tuple[Table, Prose]:
    """A table of the yardsticks and the sentence, for a report."""
    p, few = found.people, {name: with_interval(one) for name, one in found.against_others.items()}
    rows = [row(judge, found.judge, few.get("judge", "–"))]
    if found.words:
        how = "; ".join(filter(None, ("linear classifier, queries held out", found.of_some)))
        title = f"Words of the context alone ({how})"
        rows.append(row(title, found.words, few.get("words", "–")))
    if found.intent is not None:
        title = f"Copying the author's intent{found.without_intent}"
        rows.append(row(title, {"accuracy": found.intent}, few.get("intent", "–")))
    rows.append(("Always the same verdict", number(found.constant), "–", few.get("constant", "–"), "–"))
    if p.one_person is not None:
        rows.append(("One person", "–", "–", with_interval(p.one_person), "–"))
    if p.same_again is not None:
        rows.append(("A second study of this size, by a model", number(p.same_again), "–", "–", "–"))
    top, oracle = p.ceilings, p.oracle
    said = f"{oracle.low:.3f} to {oracle.high:.3f}" if oracle else "–"
    limits = interval(oracle.ci_low, oracle.ci_high) if oracle else "–"
    rows.append(("One who knows what a very large crowd says", said, limits, "–", number(top.pearson if top else None)))
    head = ("Who", "Accuracy", "95 % interval", f"Against {p.others_in_words}", "Pearson's r")
    return (table_of(name, "What to read the numbers beside", head, rows), Prose(what_it_shows(found)))


def row(title: str, found: dict[str, Estimate], against_few: str) -> tuple[str, str, str, str, str]:
    accuracy, pearson = found["accuracy"], found.get("pearson")
    return (
        title,
        number(accuracy.estimate),
        interval(accuracy.ci_low, accuracy.ci_high),
        against_few,
        number(pearson.estimate if pearson else None),
    )


def beside_people_blocks(found: BesidePeople) -> Iterator[Block]:
    """The same as tables: the ceilings, and a row for each judge."""
    yield from ceiling_table(found)
    cells = []
    for judge in found.judges:
        panel, test = judge.panel, judge.alternative
        tested = test is not None and test.omega is not None
        cells.append(
            (
                judge.name,
                "–" if panel is None else f"{percent(panel.agreement)} {interval(panel.ci_low, panel.ci_high)}",
                "–" if panel is None else people(panel),
                "–" if test is None or not tested else f"ω = {number(test.omega, digits=2)}, ε = {test.epsilon:g}",
                "–" if test is None else f"{test.items_per_annotator:g}",
            )
        )
    heads = (
        "Judge",
        "Agrees with people's majority",
        "Worth so many people",
        "Alternative annotator test",
        "Items each",
    )
    yield table_of("beside-people", "Judges among people", heads, cells)
    yield from new_person_table(found)
    yield from distribution_table(found)
    for judge in found.judges:
        for reason in judge.why:
            yield Prose(f"{judge.name}: {reason}.")


def new_person_table(found: BesidePeople) -> Iterator[Block]:
    """The judges beside one more person, each against the same others."""
    tested = [(judge.name, judge.new_person) for judge in found.judges if judge.new_person is not None]
    if not tested:
        return
    cells = [
        (
            name,
            number(one.judge),
            number(one.person),
            number(one.difference),
            number(one.low),
            "no worse" if one.not_worse else "not shown",
            percent(one.power, digits=0),
            number(one.detectable),
        )
        for name, one in tested
    ]
    margin = tested[0][1].margin
    heads = (
        *("Judge", "Agreement", "A new person's", "Difference", "At least (95 %)", f"Margin {margin:g}"),
        *("Power if equal", "Margin with 80 % power"),
    )
    yield table_of("new-person", "A judge against one more person, on the same others", heads, cells)
    yield Prose(
        "Each person in turn is the new one, and all others of the item are whom both are held against. A judge is no "
        f"worse where it lies above a new person less {margin:g} at the 5 % level, one-sided; choose the margin beforehand "
        "(--margin). Errors are over queries; that people differ from each other is in it only as far as they rated."
    )


def distribution_table(found: BesidePeople) -> Iterator[Block]:
    """How near the judges are to how people split, which a majority does not say."""
    cells = []
    for judge in found.judges:
        distances = named(judge.distances)
        worth = "–" if judge.distribution is None else people(judge.distribution)
        cells.append((judge.name, *(with_interval(distances.get(metric.name)) for metric in DISTANCES), worth))
    if not any(judge.distances for judge in found.judges):
        return
    heads = ("Judge", *(metric.title for metric in DISTANCES), "Worth so many people's shares")
    yield table_of("distributions", "Judges beside how people split", heads, cells)
    reach = number(found.reachable_doubt)
    yield Prose(
        "Divergence, cross entropy and doubt are in nats, and what the number of votes leaves even of a judge that knows "
        "every true rate is taken off: 0 is such a judge. Doubt is entropy; its correlation with that of the votes "
        f"is at most about {reach}. A bare verdict is a distribution that is sure of itself."
    )


def with_interval(found: Estimate | None) -> str:
    return "–" if found is None else f"{number(found.estimate)} {interval(found.ci_low, found.ci_high)}"


def ceiling_table(found: BesidePeople) -> Iterator[Block]:
    rows = []
    if found.people.oracle is not None:
        one = found.people.oracle
        limits = interval(one.ci_low, one.ci_high)
        why = f"one who knows what a very large crowd says, over priors; whatever the prior {limits}"
        rows.append(("Accuracy", f"{number(one.low)} to {number(one.high)}", why))
    if found.people.ceilings is not None:
        floor = number(found.people.ceilings.bce_plug_in)
        rows += [
            ("Pearson's r", f"at most {number(found.people.ceilings.pearson)}", "root of the reliability of all votes"),
            ("BCE", f"at least {number(found.people.ceilings.bce_floor)}", f"nats; the plug-in entropy is {floor}"),
            ("Brier score", f"at least {number(found.people.ceilings.brier_floor, digits=4)}", "noise of the rates"),
        ]
    if rows:
        yield table_of("reach", "What a judge could reach", ("Metric", "Reach", "Why"), rows)


def people(panel: PanelWorth) -> str:
    """How many people, with the interval; a curve has an end."""

    def said(value: float) -> str:
        if value == 0:
            return "fewer than 1"
        return "more than any panel" if value == float("inf") else f"{value:.1f}"

    return f"{said(panel.people)} [{said(panel.people_low)}, {said(panel.people_high)}]"


def subset_blocks(scores: Sequence[SubsetScore]) -> Iterator[Block]:
    """A table of every judge on every subset, and how to read it; nothing where no subset can be made."""
    if not scores:
        return
    columns: dict[str, Callable[[SubsetScore], str]] = {
        "Items": lambda score: score.subset,
        "Judge": lambda score: score.judge,
        "Number": lambda score: f"{score.n:,.0f}" + (f" of {score.items:,}" if score.subset == "hard" else ""),
        "Accuracy": lambda score: number(score.accuracy.estimate),
        "95 % interval": lambda score: interval(score.accuracy.ci_low, score.accuracy.ci_high),
        "Words alone": lambda score: number(score.words),
        "Second study": lambda score: number(score.second_study),
        "Best": lambda score: number(score.best),
    }
    if len({score.judge for score in scores}) == 1:
        del columns["Judge"]
    yield table_by("subsets", "Accuracy on subsets (--items NAME judges only these)", scores, columns)
    told = "; ".join(f"{name}: {what}" for name, what in SUBSETS.items())
    yield Prose(
        f"{told[:1].upper()}{told[1:]}. Hard items are chosen by one half of the votes and scored by the other, averaged over "
        "all halves (so many of all that some half chooses, which is what the audit counts): chosen and scored by the same votes, "
        "every judge would look bad. Best is what the best verdict on "
        "each of them scores: no judge can do better. On the others stands how often a second study of this size would agree "
        "with this one: by a model, and no bound, for who knows people well can agree more often."
    )
