"""What says that a run's items were sampled with unequal chances: `sampling.json` in its folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from casewise.errors import BenchmarkError, DataError
from casewise.records.base import Record
from casewise.storage.files.atomic import read_text

__all__ = ["SAMPLING", "Sampled", "read_sampling", "refuse_sampled", "sampling_notes"]

SAMPLING = "sampling.json"


class WholeAccuracy(Record):
    """Accuracy on the whole benchmark, estimated from a sample of it."""

    estimate: float
    ci_low: float
    ci_high: float


class Sampled(Record):
    """What `sampling.json` says, but for the chances themselves."""

    model_config = ConfigDict(extra="ignore")

    accuracy: WholeAccuracy | None = None
    """None until the sample is large enough."""
    queries: int = 0
    of_queries: int = 1
    items: int = 0
    of_items: int = 1

    @property
    def whole(self) -> bool:
        """Whether every query was asked after all, so that nothing needs weighting."""
        return self.queries == self.of_queries

    def note(self, folder: Path) -> str:
        """What a reader of the run's numbers must know."""
        if self.accuracy is None:
            return (
                f"{folder} was judged with --until-precise and is not finished: its numbers are of the items asked so far, "
                "which had unequal chances, and not of the benchmark. Give the same command again to go on."
            )
        a = self.accuracy
        return (
            f"{folder} was judged with --until-precise, on {self.items:,} of {self.of_items:,} items that had unequal "
            "chances of being asked: the numbers below are of these items, and not of the benchmark. Accuracy on the "
            f"whole benchmark, weighted, against people's votes: {a.estimate:.3f} [{a.ci_low:.3f}, {a.ci_high:.3f}] "
            f"({SAMPLING})."
        )


def read_sampling(folder: Path) -> Sampled | None:
    """What the run in `folder` says of its sampling; None where it was not sampled.

    Raises DataError: its `sampling.json` cannot be read.
    """
    path = folder / SAMPLING
    if not path.is_file():
        return None
    try:
        return Sampled.model_validate_json(read_text(path))
    except ValidationError as error:
        raise DataError(path, None, "is not what --until-precise writes; judge again into another folder") from error


def sampling_notes(paths: Iterable[Path]) -> tuple[str, ...]:
    """What to say of those of these runs that are of a sample."""
    found = ((path, read_sampling(path)) for path in paths)
    return tuple(sampled.note(path) for path, sampled in found if sampled is not None and not sampled.whole)


def refuse_sampled(paths: Iterable[Path]) -> None:
    """Refuse runs whose items were sampled until precise: unweighted, they are no fair picture of the benchmark.

    One that came to ask every query is a run like any other.

    Raises BenchmarkError: one of these run folders holds such a run.
    """
    for path in paths:
        sampled = read_sampling(path)
        if sampled is not None and not sampled.whole:
            raise BenchmarkError(
                f"{path} was judged with --until-precise: its items had unequal chances of being asked ({SAMPLING}), so it "
                "cannot be set against other runs. Judge the whole benchmark: the same casewise judge without "
                f"--until-precise and with another --out. Its own accuracy: casewise report {path}"
            )
