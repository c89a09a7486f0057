"""Deciders laid out: which judge to deploy, what a fitted decider does, costs and promises, and its traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl

from casewise.deciding.decider_file import FittedDecider
from casewise.deciding.fitting import Failure, Fitting
from casewise.deciding.monitor import FEWEST, POWER, Monitoring
from casewise.deciding.recommending import Need, Recommendation
from casewise.evaluate.conclusions import promise_made
from casewise.evaluate.judged_runs import noun_of_series
from casewise.notation import NOTHING, hyphened, number, p_value, percent, points
from casewise.reports import charts
from casewise.reports.document import (
    Block,
    Columns,
    Document,
    Exhibit,
    Figure,
    Prose,
    Section,
    Table,
    all_numbers,
    large_figures,
    next_step,
    paragraph,
    table_by,
    table_of,
    with_interval,
)
from casewise.reports.items import beginning, case_exhibit, context_words, error_group_blocks, group_sentence
from casewise.stats.estimates import estimate_of
from casewise.stats.thresholds import KeptPromise
from casewise.storage.wording import noun_of, noun_of_kinds
from casewise.text import Text, capitalised, count_of, first_few, join, synthetic_notes, text

TITLES = {
    "harm": "Harm: of what is labelled unsafe, answered",
    "over_refusal": "Over-refusal: of what is labelled safe, refused",
    "asked": "A person is asked",
    "needless_ask": "Asked about, labelled safe",
    "answered_wrongly": "Of what is answered, labelled unsafe",
    "unscored": "The judge gave no value",
}


def decider_page(fitting: Fitting) -> Document:
    """Return the decider as a document: what it does and how often it errs, what it promises and does not, all numbers in folds."""
    file = fitting.decider
    name = file.benchmark.name

    calibrated = Section("calibrated", "What P(safe) means", (calibration_words(file),))
    return Document(
        f"A decider of {file.judge.name}",
        text(
            "{elicitation}, {arm}, fitted on {name}: {n_items:item} of {n_queries:query}, labels: {labels}",
            elicitation=file.judge.elicitation,
            arm=file.judge.arm,
            name=name,
            n_items=file.benchmark.n_items,
            n_queries=file.benchmark.n_queries,
            labels=file.benchmark.label_words,
        ),
        (*synthetic_notes(file.benchmark.synthetic), *never_answers(file), *other_labels(fitting)),
        (
            Section("answer", "The answer", tuple(answer(fitting)), first=True),
            *evidence_sections(fitting, (*promised(file), *not_promised(file)), calibrated),
        ),
        noun_of_kinds(file.measured_on.kinds),
    )


def never_answers(file: FittedDecider) -> Iterator[Text]:
    """Yield a warning with advice about a decider that answers no item, or no held-out item."""
    never = file.thresholds.answer_above == math.inf
    if never or file.measured_on.decisions.get("answer") == 0:
        yield text(
            "This decider {answers}. To get one that answers, allow a larger share of errors, collect more {queries}, or take another "
            "judge.",
            answers="never answers" if never else text("answered none of the held-out {queries}"),
        )


def answer(fitting: Fitting) -> Iterator[Block]:
    """Yield what the decider does, its errors in large figures, what it promises, and what to do next."""
    file = fitting.decider
    yield rule(file)
    yield errors_figures(fitting)
    yield Prose(join(" ", promise_sentences(file)))
    yield from main_error_group(fitting)
    if any(never_answers(file)):
        yield next_step("compare other judges, prompts or models: casewise judge BENCHMARK --judge NAME.")
    else:
        yield next_step("casewise serve FILE serves it; casewise decider monitor tests whether your traffic differs.")


def errors_figures(fitting: Fitting) -> Table:
    """Return harm, over-refusal and requests without a value on held-out queries, and how often a person is asked."""
    measured = fitting.decider.measured
    shown = [("Harm", measured.harm), ("Over-refusal", measured.over_refusal), ("Unscored", measured.unscored)]
    if measured.asked.estimate:
        shown.append(("A person is asked", measured.asked))
    caption = text("On held-out {queries}{best}", best=best_of(fitting.decider.requirements.chosen_from))
    return large_figures("decider-figures", caption, ((title, rate, rate.n) for title, rate in shown))


def main_error_group(fitting: Fitting) -> Iterator[Prose]:
    """Yield the statement that separates most of its errors from the rest, or that none does beyond chance."""
    groups = sorted(fitting.error_groups, key=lambda group: -group.errors)
    if shown := [group for group in groups if group.holds]:
        yield Prose(group_sentence(shown[0], fitting.runs.benchmark, done=DECIDED, tested=False))
    elif any(group.searched for group in groups):
        yield Prose("No statement or parameter separates its errors from its other decisions beyond chance.")


def evidence_sections(fitting: Fitting, promises: Sequence[Block], *more: Section) -> Iterator[Section]:
    """Yield what is promised, what goes wrong, every threshold, and all numbers of a decider."""
    file = fitting.decider
    yield Section("promised", "Promises and their limits", tuple(promises))
    yield Section("failures", "Wrong decisions", tuple(failures(fitting)))
    yield from trade_off_section(file)
    measured = Section("measured", text("Decisions on held-out {queries}"), (measured_table(file), Prose(HELD_OUT)))
    yield all_numbers(
        (measured, *more, Section("read", "Wrong decisions to read", tuple(map(exhibit, fitting.failures))))
    )


def other_labels(fitting: Fitting) -> list[str]:
    """Return a note that the run's last report used labels by another policy; nothing where it did not, or there is none."""
    fitted, reported = fitting.decider.benchmark.labels, fitting.reported_labels
    if reported in (None, fitted):
        return []
    return [
        f"The labels here are by {fitted}. The run's last report used labels by {reported}. Give the same --labels to both commands."
    ]


HELD_OUT = text(
    "Each {query} was decided by thresholds that were fitted, by the same rule, on the other {queries}. Intervals are over "
    "{queries} and take the labels as given. The last column is measured on the items that the thresholds were fitted on; "
    "the difference shows how optimistic it is. These are shares of items. A promise is about {queries}, so the two can "
    "differ."
)


def rule(file: FittedDecider) -> Prose:
    """Return the rule by which it decides, in a sentence."""
    limits = file.thresholds
    if limits.answer_above == math.inf:
        limits_set = "no threshold that answers any item keeps the limits that you set"
        words = f"It never answers: {limits_set if limits.promised else 'at these costs, refusing every request is cheapest'}."
    elif limits.answer_above == -math.inf:
        words = "It answers every request to which the judge gives a value."
    elif limits.answer_above == limits.refuse_up_to:
        words = f"It answers where the judge's value is above {number(limits.answer_above)}, and refuses otherwise."
    else:
        refuses = "" if limits.refuse_up_to == -math.inf else f", refuses up to {number(limits.refuse_up_to)}"
        words = f"It answers where the judge's value is above {number(limits.answer_above)}{refuses}, and asks a person otherwise."
    return Prose(words, lead=True)


def measured_table(file: FittedDecider) -> Table:
    measured, fitted = file.measured, file.measured_where_fitted
    rows = [
        (TITLES[rate.name], rate.as_share, percent(again.estimate))
        for rate, again in zip(measured.estimates, fitted.estimates, strict=True)
    ]
    if measured.cost is not None:
        title = f"Mean cost of an item, in over-refusals; one harm is {file.requirements.ratio:g}"
        cost = None if fitted.cost is None else fitted.cost.estimate
        rows.append((title, with_interval(measured.cost), number(cost)))
    head = ("", f"Held out, 95 % interval{best_of(file.requirements.chosen_from)}", "Where fitted")
    return table_of(
        "measured", text("Decisions on held-out {queries}, and where the thresholds were fitted"), head, rows
    )


def best_of(judges: int) -> str:
    """Return a note that intervals allow for the choice of one of several judges."""
    return f", for the best of {count_of(judges, 'judge')}" if judges > 1 else ""


DECIDED = {"harm": "answered", "over_refusal": "refused"}


def failures(fitting: Fitting) -> Iterator[Block]:
    """Yield the costliest items that were decided otherwise than people do, under their owner's ids."""
    shown, n = fitting.failures, fitting.n_failures
    if not shown:
        yield paragraph("On held-out {queries} no item was answered or refused against its label.")
        return
    yield from error_group_blocks(
        fitting.error_groups, fitting.runs.benchmark, done=DECIDED, where=text(", on held-out {queries}")
    )
    costliest = f", the {len(shown)} costliest of {n:,}" if n > len(shown) else ""
    columns: Columns = {
        "Item": "case.id",
        text("{Query}"): (beginning, "case.query"),
        "Context": (context_words, "case"),
        "Decision": "decision",
        "Label": "case.people",
        "Judge's value": (number, "value"),
    }
    caption = text(
        "Items whose decision differs from their label, on held-out {queries}{costliest}", costliest=costliest
    )
    yield table_by("failures", caption, shown, columns)


def exhibit(failure: Failure) -> Exhibit:
    case = failure.case
    decision = ("Decision", f"{failure.decision} (the judge's value is {number(failure.value)})")
    return case_exhibit(case, case.category, (decision, (case.labels.column, case.people)))


def promised(file: FittedDecider) -> Iterator[Prose]:
    """Yield each promise with its evidence, or the sentence that there is none."""
    yield from map(Prose, promise_sentences(file))
    yield from (Prose(related(file, limit)) for limit in file.thresholds.promised)


def promise_sentences(file: FittedDecider) -> Iterator[Text]:
    """Yield each promise in a sentence; that there is none."""
    promises, chosen_from = file.thresholds.promised, file.requirements.chosen_from
    if not promises:
        yield Text(
            "No guarantee. This threshold minimises expected cost. To guarantee a limit, fit again with --max-harm or "
            "--max-over-refusal."
        )
    yield from (promise_made(limit, chosen_from=chosen_from).sentence for limit in promises)
    if len(promises) > 1 and file.requirements.level is not None:
        yield Text(f"Both hold together with {100 * file.requirements.level:.4g} % confidence.")


def related(file: FittedDecider, limit: KeptPromise) -> Text:
    """Return the sentence on the rates of an error: at the promise, fitted, and held out."""
    kind = limit.promise.kind
    values = {
        "n_queries": limit.n_queries,
        "label": "unsafe" if kind == "harm" else "safe",
        "decided": {"harm": "answers", "over_refusal": "refuses", "needless_ask": "asks about or refuses"}[kind],
        "loss": percent(limit.loss),
        "at_most": 100 * limit.promise.at_most,
    }
    averaged = text(
        "The limit of {at_most:.4g} % applies to the mean over {queries}. Where the thresholds were fitted, it {decided} {loss} of the items "
        "labelled {label}, as a mean over {n_queries:query} with such an item.",
        **values,
    )
    if kind == "needless_ask":  # what is measured of it counts questions alone
        return averaged
    return averaged + text(
        " Counted by item, it {decided} {fitted} of them there, and {held_out} on held-out {queries}.",
        **values,
        fitted=percent(getattr(file.measured_where_fitted, kind).estimate),
        held_out=getattr(file.measured, kind).as_share,
    )


KINDS = {"harm": "Harm", "over_refusal": "Over-refusal", "needless_ask": "Needless asking or refusal"}


def not_promised(file: FittedDecider) -> Iterator[Prose]:
    kinds = {limit.promise.kind for limit in file.thresholds.promised}
    for kind, word in KINDS.items():
        if kind not in kinds and kind != "needless_ask":
            yield paragraph(
                "{word} is not promised. It is {held_out} of items on held-out {queries}, and {fitted} where the "
                "thresholds were fitted.",
                word=word,
                held_out=getattr(file.measured, kind).as_share,
                fitted=percent(getattr(file.measured_where_fitted, kind).estimate),
            )
    yield paragraph(
        "Nothing is promised about other traffic: the numbers hold for this judge and for {queries} like the "
        "benchmark's. casewise decider monitor tests whether your traffic differs."
    )
    yield Prose("Nothing is promised for a single request, category or user: all shares are averages.")
    fail = {"refuse": "refused", "answer": "answered", "ask": "passed to a person"}[file.requirements.fail]
    yield Prose(f"Requests to which the judge gives no value are {fail}.")
    missing = "refused" if file.refuse_unmeasured else "decided, and each answer says what was not measured"
    yield Prose(f"Requests of a kind that was not measured are {missing}.")
    if kinds and file.requirements.chosen_from == 1:
        yield paragraph(
            "If you compared several judges on these {queries} and took the best, fit again with --chosen-from N: "
            "without it, the promise fails more often than stated."
        )


def trade_off_section(file: FittedDecider) -> Iterator[Section]:
    """Yield a chart of every threshold with the decider's point; nothing where there is none to choose."""
    if not file.trade_offs:
        return
    rates = {"harm": file.measured.harm, "over_refusal": file.measured.over_refusal}
    ends = {"": "estimate", "_low": "ci_low", "_high": "ci_high"}
    point = {f"{name}{end}": getattr(rate, part) for name, rate in rates.items() for end, part in ends.items()}
    marked = pl.DataFrame([point], schema=dict.fromkeys(point, pl.Float64))
    curve = pl.DataFrame(file.trade_offs, schema=["threshold", "harm", "over_refusal"], orient="row")
    all_or_none = {math.inf: "refuses all", -math.inf: "answers all"}
    columns: Columns = {
        "Answer above": (lambda at: all_or_none.get(at) or number(at), "threshold"),
        "Harm": (percent, "harm"),
        "Over-refusal": (percent, "over_refusal"),
    }
    caption = "Every single threshold, where fitted"
    chart = Figure(
        "trade-off",
        text(
            "Harm against over-refusal: the dot is this decider on held-out {queries}, with 95 % intervals. The line "
            "is every single threshold on the items that it was fitted on."
        ),
        "A falling line of harm over over-refusal; the decider stands at harm "
        f"{rates['harm'].as_share} and over-refusal {rates['over_refusal'].as_share}.",
        charts.trade_off(curve.drop("threshold"), marked),
        table_by("trade-offs", caption, file.trade_offs, columns, frame=curve),
    )
    yield Section("trade-off", "Harm against over-refusal", (chart,))


def calibration_words(file: FittedDecider) -> Prose:
    calibration = file.calibration
    scores = ", ".join(f"{name} {number(score, digits=4)}" for name, score in calibration.brier.items())
    words = text(
        "P(safe) is the probability that the label is safe, computed from the judge's value by {curve} calibration "
        "(Brier score on held-out {queries}: {scores}).",
        curve=type(calibration.curve).__name__.lower(),
        scores=scores,
    )
    if calibration.error_before is not None and calibration.error_after is not None:
        words += text(
            " Calibration error on held-out {queries}: {error_before} of the judge's values, {error_after} of P(safe).",
            error_before=number(calibration.error_before),
            error_after=number(calibration.error_after),
        )
    return Prose(words)


def recommendation_page(recommendation: Recommendation) -> Document:
    """Return the page that recommends a judge: the threshold, the guarantees and their limits, and how to serve it."""
    best, benchmark = recommendation.best, recommendation.runs.benchmark
    file = best.decider
    several = len(recommendation.candidates) > 1
    n, every = len(recommendation.candidates), len(recommendation.candidates) + len(recommendation.left_out)
    harm, _ = recommendation.requirements.costs
    saved: tuple[Block, ...] = (*map(Prose, shortfalls(recommendation)), alternatives_table(recommendation))
    return Document(
        f"Which judge to deploy on {benchmark.name}",
        text(
            "{among}{every}, {n_items:item} of {n_queries:query}, labels: {labels}; one harm counts as "
            "{harm:g} over-refusal{s} (--ratio)",
            among=f"{n} of " if recommendation.left_out else "",
            every=count_of(every, noun_of_series(recommendation.runs.main_series)),
            n_items=file.benchmark.n_items,
            n_queries=file.benchmark.n_queries,
            labels=file.benchmark.label_words,
            harm=harm,
            s="" if harm == 1 else "s",
        ),
        (*benchmark.notes(), *other_labels(best)),
        (
            Section("answer", "The answer", tuple(recommended(recommendation)), first=True),
            Section("steps", "Fit it and serve it", tuple(map(Prose, steps(recommendation))), brief=True),
            Section("saved", "Its cost compared with rules that need no judge", saved, brief=True),
            *([Section("judges", "The judges", (judges_table(recommendation),), brief=True)] if several else []),
            *evidence_sections(best, (*promises(recommendation), *unpromised(recommendation))),
        ),
        noun_of(benchmark),
    )


def steps(recommendation: Recommendation) -> Iterator[str]:
    """Yield the commands that fit and serve it, or the reason why it cannot be rebuilt."""
    if recommendation.problem is not None:
        why = "casewise cannot load {judge} by its name on this machine: {problem}"
        yield text(why, judge=recommendation.best.name, problem=recommendation.problem)
        return
    if not recommendation.good_enough:
        yield "To fit and serve it in spite of this result:"
    yield from recommendation.commands


def recommended(recommendation: Recommendation) -> Iterator[Block]:
    """Yield the decision in a sentence, the best judge's errors in large figures, the reason, its main error, and what to do next."""
    best, several = recommendation.best, len(recommendation.candidates) > 1
    if recommendation.good_enough:
        chosen = f", the cheapest of {count_of(len(recommendation.candidates), 'judge')}" if several else ""
        yield paragraph("Deploy {judge}{chosen}.", judge=best.name, chosen=chosen, lead=True)
    else:
        yield Prose(shortfall(recommendation), lead=True)
    yield errors_figures(best)
    if recommendation.good_enough:
        alternatives = [alternative.name for alternative in recommendation.alternatives]
        words = "It costs less than {alternatives}: the intervals of the differences lie above zero."
        yield paragraph(words, alternatives=first_few(alternatives, most=len(alternatives)))
        if best.decider.thresholds.promised:
            yield Prose(join(" ", promise_sentences(best.decider)))
    else:
        prefix = text("{judge} is the best of them. ", judge=best.name) if several else ""
        sentences = [
            alternative.conclusion("It").sentence for alternative in recommendation.alternatives if alternative.better
        ]
        reasons = shortfalls(recommendation) if best.trial.broken is not None or not sentences else sentences
        yield Prose(prefix + next(iter(reasons), ""))
    if notes := join(" ", candidates_notes(recommendation)):
        yield Prose(notes)
    yield from main_error_group(best)
    yield next_step(next_for(recommendation))


def next_for(recommendation: Recommendation) -> str:
    """Return the next step: the command that fits it, or the queries that would decide."""
    unbeaten = [alternative.more_queries for alternative in recommendation.alternatives if not alternative.beaten]
    more = [n for n in unbeaten if n]
    if recommendation.good_enough:
        if recommendation.problem is None:
            return recommendation.commands[0]
        words = "make {judge} loadable on this machine ({problem}), then fit it with casewise decider fit."
        return text(words, judge=recommendation.best.name, problem=recommendation.problem)
    if recommendation.shown_to_fail or not more or len(more) < len(unbeaten):
        return "compare other judges, prompts or models: casewise judge BENCHMARK --judge NAME."
    return text(
        "about {more} would show whether it costs less, if the difference stays the same.", more=more_queries(max(more))
    )


def candidates_notes(recommendation: Recommendation) -> Iterator[str]:
    """Yield notes that the best candidate is a constant, and which judges are left out."""
    if recommendation.why_no_words is not None:
        yield text("It was not compared with a classifier of words: {why}.", why=recommendation.why_no_words)
    if recommendation.best.constant:
        yield text("{judge} is a constant: it gives every item the same value.", judge=recommendation.best.name)
    if recommendation.left_out:
        reasons = (text("{judge}: {why}", judge=name, why=why) for name, why in recommendation.left_out.items())
        yield text("No decider can be made of {reasons}.", reasons=join("; ", reasons))


def shortfall(recommendation: Recommendation) -> Text:
    """Return the sentence that no judge is good enough, as strongly as it is shown."""
    several = len(recommendation.candidates) > 1
    subject, can, is_ = (
        ("None of these judges", "can", "is") if several else (recommendation.best.name, "cannot", "is not")
    )
    if recommendation.best.trial.broken is not None:
        return text("{subject} {can} promise what you asked for yet.", subject=subject, can=can)
    shown = "good enough" if recommendation.shown_to_fail else "shown to be good enough yet"
    return text("{subject} {is_} {shown}.", subject=subject, is_=is_, shown=shown)


def shortfalls(recommendation: Recommendation) -> Iterator[str]:
    """Yield the shortfalls of the best judge."""
    if recommendation.best.trial.broken is not None:
        yield capitalised(recommendation.best.trial.broken) + "."
    for alternative, comparison in zip(recommendation.alternatives, recommendation.comparisons, strict=True):
        if not alternative.beaten:
            yield comparison.sentence
            if alternative.more_queries:
                words = "About {more} would show a difference of this size."
                yield text(words, more=more_queries(alternative.more_queries))


def alternatives_table(recommendation: Recommendation) -> Table:
    cost = estimate_of(recommendation.best.trial.cost, level=recommendation.requirements.interval_level)
    rows: list[tuple[str, str, str]] = [(recommendation.best.name, with_interval(cost), NOTHING)]
    rows += (
        (alternative.name.capitalize(), with_interval(alternative.cost), with_interval(alternative.saved))
        for alternative in recommendation.alternatives
    )
    cost_head = f"Cost of an item, 95 % interval{best_of(recommendation.requirements.chosen_from)}"
    head = ("Who decides", cost_head, "The judge saves")
    return table_of("alternatives", text("Mean cost of an item on held-out {queries}, in over-refusals"), head, rows)


def promises(recommendation: Recommendation) -> Iterator[Prose]:
    """Yield the promises that are made and, for each kind of error, what the next promise would take."""
    broken = recommendation.best.trial.broken
    if broken is None:
        yield from promised(recommendation.best.decider)
    else:
        yield paragraph("No guarantee: {broken}.", broken=broken)
    for kind, word in KINDS.items():
        of_kind = [need for need in recommendation.needs if need.promise.kind == kind]
        within_reach = [need for need in of_kind if need.more_queries is not None]
        for need in (within_reach or of_kind)[:1]:
            yield Prose(need_words(need, word))


def more_queries(number: int) -> Text:
    """Return a number of further queries in words, as the singular for one."""
    return text("{n:,} more {query}" if number == 1 else "{n:,} more {queries}", n=number)


def need_words(need: Need, word: str) -> Text:
    """Return the requirements of a promise, in a sentence."""
    values = {
        "promise": text("{word} of at most {at_most:g} %", word=word, at_most=100 * need.promise.at_most),
        "rate": percent(need.rate),
        "n": need.n_queries,
        "label": {"harm": "unsafe", "over_refusal": "safe"}[need.promise.kind],
        "option": f"--max-{hyphened(need.promise.kind)} {need.promise.at_most:g}",
    }
    if need.more_queries is None:
        words = "{promise} is out of reach: the observed rate is {rate}, as a mean over {n:query} with an item labelled {label}. More {queries} do not help."
    elif need.more_queries:
        words = "{promise} needs about {more} with an item labelled {label}, if the rate stays at {rate} as in the {n:query} at hand."
        return text(words, more=more_queries(need.more_queries), **values)
    else:
        words = "{promise} may be within reach: the rate is {rate}, as a mean over {n:query} with an item labelled {label}. Ask for it with {option}."
    return text(words, **values)


def unpromised(recommendation: Recommendation) -> Iterator[Block]:
    """Yield the table of promises that are not made, with the queries that each would take."""
    if recommendation.needs:
        columns: Columns = {
            "Promise": lambda need: f"{KINDS[need.promise.kind]} at most {100 * need.promise.at_most:g} %",
            "Rate now": (percent, "rate"),
            text("{Queries} now"): "n_queries",
            "More needed at this rate": "more_queries",
            "Needed if no error occurs": "fewest",
        }
        caption = text("Promises that are not made, and the {queries} that each needs")
        yield table_by("needs", caption, recommendation.needs, columns)
        yield paragraph(
            "Rates are on held-out {queries}, averaged over {queries}. {A_query} counts where it has an item labelled "
            "unsafe (for harm) or safe (for over-refusal). {nothing}: the rate is too high for any number of "
            "{queries}.",
            nothing=NOTHING,
        )
    yield from not_promised(recommendation.best.decider)


def judges_table(recommendation: Recommendation) -> Table:
    requirements = recommendation.requirements
    columns: Columns = {
        "Judge": "name",
        "Cost of an item": lambda one: with_interval(estimate_of(one.trial.cost, level=requirements.interval_level)),
        "Harm": "decider.measured.harm",
        "Over-refusal": "decider.measured.over_refusal",
        "Unscored": "decider.measured.unscored",
    }
    if any(candidate.decider.measured.asked.estimate for candidate in recommendation.candidates):
        columns["A person is asked"] = "decider.measured.asked"
    if requirements.promises:
        columns["Keeps the promises"] = lambda candidate: "no" if candidate.trial.broken else "yes"
    caption = text(
        "Held-out {queries}, 95 % intervals{best_of}; the cheapest first", best_of=best_of(requirements.chosen_from)
    )
    return table_by("judges", caption, recommendation.candidates, columns)


SMALLEST = (
    f"Smallest shift: the smallest share of requests with another value that the test finds with a probability of {100 * POWER:g} %. "
    f"{NOTHING}: the test finds no shift with that probability."
)


def detectable(monitoring: Monitoring, file: FittedDecider) -> str:
    """Return the smallest shift that each test could have found."""
    differences = [
        f"{test.quantity} of {percent(test.smallest_shift)}"
        for test in monitoring.tests
        if test.smallest_shift is not None
    ]
    n = f"{count_of(monitoring.n, 'request')} and {count_of(file.benchmark.n_queries, 'query')} of the benchmark"
    if not differences:
        return f"With {n}, the tests find no shift of any size with a probability of {100 * POWER:g} %, so this result shows nothing."
    return (
        f"With {n}, the tests find a shift in {', or in '.join(differences)} of requests with a probability of {100 * POWER:g} %. A smaller "
        "shift is possible."
    )


def monitoring_page(monitoring: Monitoring, file: FittedDecider, *, half_width: float) -> Document:
    """Return the findings on a log of traffic, as a document."""
    moved = [test.quantity for test in monitoring.tests if test.moved]
    if moved:
        answer = f"Traffic differs from the benchmark in {', '.join(moved)}: measurements and promises do not cover it."
    elif monitoring.tests:
        answer = (
            f"No difference from the benchmark is shown ({count_of(len(monitoring.tests), 'test')}, corrected by Holm, at "
            f"0.05). {detectable(monitoring, file)}"
        )
    else:
        answer = f"Too little traffic to compare with the benchmark: it takes {FEWEST} requests."
    rows = [
        (test, name, test.traffic.get(name), share)
        for test in monitoring.tests
        for name, share in test.benchmark.items()
    ]
    columns: Columns = {
        "Quantity": "0.quantity",
        "Value": "1",
        "Traffic": (percent, "2"),
        "Benchmark": (percent, "3"),
        "p": (p_value, "0.p"),
        "p, corrected": (p_value, "0.adjusted"),
        "Smallest shift": (percent, "0.smallest_shift"),
    }
    drift = table_by("drift", "Traffic compared with the benchmark; p corrected by Holm over all tests.", rows, columns)
    others, torn = monitoring.other_deciders, monitoring.torn
    left_out = f" Left out: {count_of(others, 'line')} of other deciders." if others else ""
    left_out += f" Left out as incomplete: {count_of(torn, 'line')}." if torn else ""
    caption = "Requests by what was not measured, and without a value by the reason"
    reasons = [*monitoring.unmeasured.items(), *((f"no value: {reason}", n) for reason, n in monitoring.failed.items())]
    kinds = table_of("kinds", caption, ("What", "Requests"), reasons)
    rate_next = Prose(
        f"To know what share of this traffic is decided wrongly to within {points(half_width)}, have people rate "
        f"{count_of(monitoring.needed, 'request')} drawn at random. casewise data import makes a benchmark of them, and casewise study init a study."
    )
    differs: tuple[Block, ...] = (Prose(answer, notice=True), *((drift, Prose(SMALLEST)) if rows else ()))
    return Document(
        "A decider's traffic",
        f"{count_of(monitoring.n, 'decision')} of the decider of {file.judge.name}, fitted on {file.benchmark.name}.{left_out}",
        synthetic_notes(file.benchmark.synthetic),
        (
            Section("moved", "Does traffic differ from the benchmark?", differs, brief=True),
            Section("kinds", "Requests of a kind that was not measured", (kinds,), brief=True),
            Section("next", "Requests that people should rate next", (rate_next,), brief=True),
        ),
    )
