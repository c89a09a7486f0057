"""Attack the context: what to attack with, the arms of an attack, what became of the verdicts, paraphrases that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path

from casewise.api.benchmarks import Source, as_benchmark, benchmark_of, folders_of
from casewise.api.evaluating import Displayed
from casewise.api.judging import AnyJudge, Run, RunOptions, judge
from casewise.errors import BenchmarkError
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.robustness import RequiredRobustness, RobustnessNumbers, parse_bounds, required
from casewise.records import Arm, Elicitation, ParameterSet
from casewise.reports.comparison import required_page
from casewise.reports.document import Document
from casewise.reports.robustness import offered_page, robustness_page
from casewise.runs.texts import made_in, text_key
from casewise.storage.files import write_jsonl
from casewise.storage.run_folder import read_run
from casewise.transforms.catalogue import Paraphrase, attack_arms, attacks_named, defences_named, with_ones_own
from casewise.transforms.channels import over_texts

__all__ = [
    "Offers",
    "Required",
    "Robustness",
    "arms_under_attack",
    "attack",
    "attacks_offered",
    "require_robustness",
    "robustness",
    "write_paraphrases",
]

NOISE = "order:reversed,format:prose"
"""What is asked besides unless told otherwise: without it nobody knows how often this judge turns about over nothing."""


class Robustness(RobustnessNumbers, Displayed):
    """What attacks do to a judge's verdicts, and what defences cost and save."""

    laid_out = staticmethod(robustness_page)


class Offers(Displayed):
    """The attacks, perturbations and defences that there are, each with an example."""

    def __init__(self, parameters: ParameterSet | None = None) -> None:
        self.offered = with_ones_own(parameters)

    @cached_property
    def document(self) -> Document:
        """A table for each kind."""
        return offered_page(self.offered)

    def as_json(self) -> dict[str, object]:
        """The same as plain JSON values."""
        return {"offered": [vars(one) for one in self.offered]}


def attacks_offered(benchmark: Source | None = None) -> Offers:
    """What there is to attack with, and to guard with; from the twin by the benchmark's own parameters where it is given."""
    return Offers(None if benchmark is None else as_benchmark(benchmark).parameters)


def arms_under_attack(
    benchmark: Source,
    attacks: str | Sequence[str],
    *,
    defences: str | Sequence[str] = "none",
    noise: str = NOISE,
    at: date | str | None = None,
) -> tuple[Arm, ...]:
    """The arms of an attack: every attack under every defence, each defence without an attack, and the item as it is.

    Parameters
    ----------
    attacks
        By name, with commas where it is a text; `all`, or the beginning of names.
    noise
        Perturbations that are asked besides; empty or `none` for no others than `attacks` names.
    at
        The day on which facts are asked, where a defence has any; today by default. It is part of the arm's name.

    Raises
    ------
    ConfigurationError, DataError
        There is no such attack or defence.
    """
    parameters = as_benchmark(benchmark).parameters
    beside = () if noise in ("", "none") else attacks_named(noise, parameters)
    chosen = dict.fromkeys((*attacks_named(attacks, parameters), *beside))
    return attack_arms(chosen, defences_named(defences, at=at))


def attack(
    benchmark: Source,
    judged_by: AnyJudge,
    *,
    attacks: str | Sequence[str] = "all",
    defences: str | Sequence[str] = "none",
    noise: str = NOISE,
    out: str | Path | None = None,
    elicitations: str | Sequence[Elicitation] = (),
    base_url: str | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """Have a judge decide every item under every attack and defence: an ordinary run, gone on with like any other.

    Parameters are those of `arms_under_attack` and of `casewise.api.judging.judge`.

    Examples
    --------
    >>> run = attack("demo", "constant:intended", attacks="claim:authority/user/safe")
    >>> robustness(run).flips.filter(pl.col("attack") == "claim:authority/user/safe")["estimate"].to_list()
    [0.0]
    """
    loaded = as_benchmark(benchmark)
    arms = arms_under_attack(loaded, attacks, defences=defences, noise=noise)
    return judge(loaded, judged_by, out=out, elicitations=elicitations, arms=arms, base_url=base_url, options=options)


def robustness(
    run: Run | str | Path, *, benchmark: Source | None = None, options: ReportOptions = ReportOptions()
) -> Robustness:
    """What the attacks of a run did to its verdicts.

    Raises
    ------
    BenchmarkError
        The run was not asked under any attack, or nothing without one.
    """
    return Robustness.of(folders_of([run])[0], benchmark=benchmark_of([run], benchmark), options=options)


class Required(RequiredRobustness, Displayed):
    """Whether a judge keeps to bounds under every attack."""

    laid_out = staticmethod(required_page)


def require_robustness(
    run: Run | str | Path,
    max_turned: str | Mapping[str, float],
    *,
    defence: str = "none",
    benchmark: Source | None = None,
    options: ReportOptions = ReportOptions(),
) -> Required:
    """Whether no attack of a run, under one defence, turns or silences more verdicts than is allowed.

    Parameters
    ----------
    max_turned
        `safe`, `unsafe` or `silenced` to the largest share allowed: `{"safe": 0.1}`, or `"safe=0.1,silenced=0.05"`.

    Raises
    ------
    BenchmarkError
        The run has no such attack.
    ConfigurationError
        A bound is none.

    Examples
    --------
    >>> found = require_robustness(attack("demo", "constant:intended", attacks="claim:authority/user"), "safe=0.2")
    >>> found.decision
    'pass'
    """
    bounds = parse_bounds(max_turned) if isinstance(max_turned, str) else dict(max_turned)
    found = required(robustness(run, benchmark=benchmark, options=options), bounds, defence=defence)
    return Required(**vars(found))


TASK = "paraphrase:"


def write_paraphrases(run: str | Path, to: str | Path, *, benchmark: Source | None = None) -> int:
    """Write the paraphrases that models made for a run, for people to read beside what they paraphrase; how many there are.

    Whoever finds that one says the same writes their name as its `reviewer`; `--noise checked:FILE` takes those alone.

    Raises
    ------
    BenchmarkError
        No model has paraphrased anything for the run.
    """
    folder = Path(run)
    found = as_benchmark(benchmark if benchmark is not None else read_run(folder).benchmark_source)
    made = {key: one.made for (maker, key), one in made_in(folder).items() if maker.startswith(TASK) and one.made}
    sources: dict[str, str] = {}
    for context in found.contexts:
        over_texts(context.shown(), lambda text: sources.setdefault(text_key(text), text))
    rows = [Paraphrase(of=key, source=source, text=str(made[key])) for key, source in sources.items() if key in made]
    if not rows:
        raise BenchmarkError(f"{folder} has no paraphrases; casewise attack … --noise paraphrase:MODEL has them made")
    write_jsonl(Path(to), rows)
    return len(rows)
