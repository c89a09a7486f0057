"""What people answered to the owner's own questions: shares by condition, and how far they agree, by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import IntArray
from casewise.stats.people.agreement import Level, LevelAlpha, alpha_by_level
from casewise.stats.people.coded_ratings import CodedRatings
from casewise.studies.analysing.contrast_table import share_limits
from casewise.studies.design.own_questions import OwnQuestion

__all__ = ["OwnFound", "own_questions"]


@dataclass(frozen=True)
class OwnFound:
    """What was answered to one question."""

    question: OwnQuestion
    shares: pl.DataFrame
    """One row a condition and answer: `answers`, `of`, `share` and its interval over queries and annotators. Empty for texts."""
    means: dict[str, float]
    """Of a scale, by condition."""
    alphas: dict[str, LevelAlpha]
    """Krippendorff's, of `all` and each condition; for several reasons, of each reason (given or not) over all."""
    texts: dict[str, tuple[int, float]]
    """By condition: how many wrote, and the median number of characters."""


@dataclass(frozen=True)
class Answers:
    """One entry an answered page in every array."""

    item: IntArray
    annotator: IntArray
    values: list[Any]


def own_questions(
    ratings: CodedRatings,
    questions: Sequence[OwnQuestion],
    lines: Iterable[dict[str, Any]],
    *,
    level: float = 0.95,
) -> tuple[OwnFound, ...]:
    """Each question's analysis, over the ratings that count.

    `lines`: as the export has them: `item_id`, `annotator_id`, and `answers` by the names of questions.
    """
    if ratings.annotator is None:
        return ()
    kept = {
        (ratings.item.names[item], ratings.annotator.names[who])
        for item, who in zip(ratings.item.codes, ratings.annotator.codes, strict=True)
    }
    counted = [line for line in lines if (line["item_id"], line["annotator_id"]) in kept]
    found = (found_of(ratings, question, counted, level=level) for question in questions)
    return tuple(one for one in found if one is not None)


def found_of(
    ratings: CodedRatings, question: OwnQuestion, lines: list[dict[str, Any]], *, level: float
) -> OwnFound | None:
    place = {name: index for index, name in enumerate(ratings.item.names)}
    answered = [line for line in lines if question.name in line["answers"]]
    if not answered:
        return None
    answers = Answers(
        np.array([place[line["item_id"]] for line in answered]),
        np.unique([line["annotator_id"] for line in answered], return_inverse=True)[1],
        [line["answers"][question.name] for line in answered],
    )
    if question.kind == "text":
        return OwnFound(question, pl.DataFrame(), {}, {}, lengths(ratings, answers))
    return OwnFound(
        question,
        shares=pl.DataFrame(list(share_rows(ratings, question, answers, level=level)), infer_schema_length=None),
        means=means(ratings, answers) if question.is_scale else {},
        alphas=dict(agreements(ratings, question, answers)),
        texts={},
    )


def chose(value: Any, option: str) -> bool:
    """Whether an answer is, or has among it, what is offered as `option`."""
    return option in value if isinstance(value, list) else str(value) == option


def share_rows(
    ratings: CodedRatings, question: OwnQuestion, answers: Answers, *, level: float
) -> Iterator[dict[str, Any]]:
    condition, query = ratings.item_condition[answers.item], ratings.item_query[answers.item]
    for option in question.offered:
        given = np.array([chose(value, option) for value in answers.values])
        if question.kind == "parameter" and not given.any():
            continue
        for index, name in enumerate(ratings.condition.names):
            here = condition == index
            if here.any():
                yield {
                    "condition": name,
                    "answer": option,
                    "answers": int(given[here].sum()),
                    "of": int(here.sum()),
                    "share": float(given[here].mean()),
                    **share_limits(given[here], query[here], answers.annotator[here], level=level),
                }


def by_condition(ratings: CodedRatings, answers: Answers) -> Iterator[tuple[str, list[Any]]]:
    condition = ratings.item_condition[answers.item]
    for index, name in enumerate(ratings.condition.names):
        values = [answers.values[place] for place in np.flatnonzero(condition == index)]
        if values:
            yield name, values


def means(ratings: CodedRatings, answers: Answers) -> dict[str, float]:
    return {name: float(np.mean(values)) for name, values in by_condition(ratings, answers)}


def lengths(ratings: CodedRatings, answers: Answers) -> dict[str, tuple[int, float]]:
    return {
        name: (len(values), float(median(len(value) for value in values)))
        for name, values in by_condition(ratings, answers)
    }


def agreements(ratings: CodedRatings, question: OwnQuestion, answers: Answers) -> Iterator[tuple[str, LevelAlpha]]:
    level: Level = question.level if question.is_scale else "nominal"
    if question.kind == "reasons":
        for option in question.offered:
            values = [str(option in value) for value in answers.values]
            yield from attempt(option, ratings, replace(answers, values=values), ("False", "True"), level)
        return
    yield from attempt("all", ratings, answers, question.offered, level)
    for index, name in enumerate(ratings.condition.names):
        here = np.flatnonzero(ratings.item_condition[answers.item] == index)
        some = Answers(answers.item[here], answers.annotator[here], [answers.values[place] for place in here])
        yield from attempt(name, ratings, some, question.offered, level)


def attempt(
    name: str,
    ratings: CodedRatings,
    answers: Answers,
    offered: Sequence[str],
    level: Level,
) -> Iterator[tuple[str, LevelAlpha]]:
    """The alpha under its name; nothing where too few answered."""
    counts = np.zeros((len(ratings.item), len(offered)))
    column = {option: index for index, option in enumerate(offered)}
    for (item, option), many in Counter(
        (int(item), str(value)) for item, value in zip(answers.item, answers.values, strict=True)
    ).items():
        counts[item, column[option]] += many
    try:
        yield name, alpha_by_level(counts, level=level, clusters=ratings.item_query)
    except StatisticsError:
        return
