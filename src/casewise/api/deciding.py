"""Deciders: fitted on a run, kept in a file, asked. Guards: which there are, and what of each was checked."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Unpack

from casewise.api.judging import AnyJudge, make_judge
from casewise.deciding.decider import Decider, DecisionRequest, from_messages
from casewise.deciding.decider_file import FittedDecider, read_decider
from casewise.deciding.fitting import FitOptions, Fitting, fit_run
from casewise.deciding.monitor import Monitoring, monitor_traffic
from casewise.deciding.recommending import Recommendation
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import policy_of
from casewise.judges.guard_profiles import GuardProfile, all_profiles, find_profile
from casewise.reports.decider import decider_page, monitoring_page, recommendation_page
from casewise.reports.document import Document, document_of_tables, table_of
from casewise.reports.formats import Report
from casewise.stats.labels import LabelPolicy
from casewise.stats.thresholds import RequirementFields, Requirements
from casewise.storage.load import Source, loaded_benchmark
from casewise.storage.run_folder import AnyRun, StoredRun

__all__ = [
    "Decider",
    "DecisionRequest",
    "Fit",
    "FitOptions",
    "Requirements",
    "fit_decider",
    "from_messages",
    "recommend",
]


class Fit(Report[Fitting]):
    """A decider that was fitted, and may be saved."""

    @property
    def decider(self) -> FittedDecider:
        """The content of the decider's file: its judge, its thresholds, and what was measured of it."""
        return self.numbers.decider

    def save(self, path: str | Path) -> str:
        """Write the decider to a file; its hash."""
        return self.decider.save(path)


def fit_decider(
    run: AnyRun,
    requirements: Requirements | None = None,
    *,
    benchmark: Source | None = None,
    labels: str | LabelPolicy | None = None,
    options: FitOptions = FitOptions(),
    judge: AnyJudge | None = None,
    **goal: Unpack[RequirementFields],
) -> Fit:
    """Fit a decider on a run that meets the requirements.

    Parameters
    ----------
    requirements
        The goal of the thresholds: a ratio of costs, promises, the cost of asking a person.
    labels
        The label policy, as for `report`. By default that of `options`.
    judge
        The judge itself, where it is a function or an object that no name finds again.
    goal
        Fields of `requirements` by name, such as `ratio=3`; they replace those of `requirements`.

    Raises
    ------
    JudgeError
        The judge cannot be deployed: it learnt from the benchmark or repeats it, or is not the one that was measured.
    StatisticsError
        So few queries cannot carry what is promised; the message says how many it takes.

    Examples
    --------
    >>> from casewise.api import judge
    >>> fit_decider(judge("demo", "constant:safe"), ratio=5).decider.measured.harm.estimate
    0.0
    """
    if isinstance(judge, str):
        raise ConfigurationError("casewise finds this judge by its name; leave `judge` out")
    own_judge = None
    if judge is not None:
        learnt_from = benchmark or (run.benchmark if isinstance(run, StoredRun) else "demo")
        elicitations = (options.elicitation,) if options.elicitation else ()
        own_judge = make_judge(judge, loaded_benchmark(learnt_from), elicitations=elicitations)
    options = options if labels is None else replace(options, labels=policy_of(labels))
    requirements = Requirements(**goal) if requirements is None else replace(requirements, **goal)
    return Fit(fit_run(run, requirements, benchmark=benchmark, options=options, judge=own_judge), decider_page)


class RecommendationReport(Report[Recommendation]):
    """The recommendation of one of several judges for deployment, or of none."""

    @property
    def good_enough(self) -> bool:
        """True if every limit that was asked for is guaranteed, and the judge is better than what needs no judge."""
        return self.numbers.good_enough

    @property
    def decider(self) -> Fit:
        """The best judge with its thresholds, good enough or not."""
        return Fit(self.numbers.best, decider_page)


def recommend(
    *runs: AnyRun,
    requirements: Requirements | None = None,
    benchmark: Source | None = None,
    labels: str | LabelPolicy | None = None,
    options: FitOptions = FitOptions(),
    **goal: Unpack[RequirementFields],
) -> RecommendationReport:
    """Recommend a judge and a threshold to deploy, with the rate of each error and the limits that are not guaranteed yet.

    Promises and intervals are made for the best of as many judges as the runs hold, so that they hold for whichever is
    chosen.

    Parameters
    ----------
    requirements
        The cost of errors and the promises; by default one harm is as bad as one over-refusal.
    labels
        The label policy, as for `report`. By default that of `options`.
    goal
        Fields of `requirements` by name, such as `max_harm=0.1`; they replace those of `requirements`.

    Raises
    ------
    ConfigurationError
        No decider can be made of any of these judges.
    StatisticsError
        There is nothing to fit on.

    Examples
    --------
    >>> from casewise.api import judge
    >>> recommend(judge("demo", "constant:safe")).good_enough
    False
    """
    options = options if labels is None else replace(options, labels=policy_of(labels))
    requirements = (
        replace(requirements, **goal)
        if requirements is not None
        else Requirements(**goal)
        if goal
        else Requirements(ratio=1)
    )
    numbers = Recommendation.from_runs(runs, requirements, benchmark=benchmark, options=options)
    return RecommendationReport(numbers, recommendation_page)


def guards_page(names: tuple[str, ...] = ()) -> Document:
    """Return a page of the guards that there are; of those named, every fact with its source."""
    profiles = [find_profile(name) for name in names]
    rows = [
        [
            profile.name,
            " or ".join(profile.renderings) or profile.kind,
            verdict_of(profile),
            profile.licence,
            "casewise's" if profile.own_wording else "its own",
            ", ".join(profile.unverified) or "–",
        ]
        for profile in profiles or all_profiles().values()
    ]
    heads: tuple[str, ...] = ("name", "context", "verdict", "licence", "words", "not checked")
    tables = [table_of("guards", "Guards by the name of their profile: guard:NAME@MODEL.", heads, rows)]
    for profile in profiles:
        words = "casewise's own words stand in it" if profile.own_wording else "–"
        reads = "it can judge a chatbot's reply" if profile.reads_replies else "it judges requests only"
        facts = [["template", profile.template, "the profile", words], ["replies", reads, "the profile", "–"]]
        facts += [[name, fact.says, fact.source, fact.state] for name, fact in profile.facts.items()]
        title = f"{profile.title}: the facts in its profile."
        tables.append(table_of(f"facts-{profile.name}", title, ("fact", "says", "source", "state"), facts))
    note = "casewise show guards NAME gives the source of each fact in a profile."
    return document_of_tables("Guards", tables, () if profiles else (note,))


def verdict_of(profile: GuardProfile) -> str:
    if profile.kind != "chat":
        return "scores"
    classes = "three classes" if profile.read.middle else "two classes"
    return f"{classes}, P(safe)" if profile.tokens else classes


def monitor_decider(decider: str | Path, log: str | Path, *, half_width: float = 0.05) -> Report[Monitoring]:
    """Test whether a decider's traffic differs from its benchmark.

    Raises DataError: the log cannot be read, or holds nothing of this decider.
    """
    file, file_hash = read_decider(Path(decider))
    numbers = monitor_traffic(file, file_hash, Path(log), half_width=half_width)
    return Report(numbers, partial(monitoring_page, file=file, half_width=half_width))
