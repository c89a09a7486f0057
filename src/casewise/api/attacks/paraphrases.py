"""Paraphrases of a run that a person reads beside what they paraphrase, in the review room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from casewise.api.benchmarks import Source, as_benchmark
from casewise.api.databases import opened
from casewise.contexts.reviewing.translations import put_texts, texts_of
from casewise.errors import BenchmarkError
from casewise.records.base import digest
from casewise.records.translation import Translation
from casewise.runs.made import made_in, text_key
from casewise.settings import from_environment
from casewise.showing.channels import over_texts
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.files.jsonl import write_jsonl
from casewise.storage.runs.judgement_run import read_run

__all__ = ["Paraphrases", "check_paraphrases"]

TASK = "paraphrase:"


@dataclass(frozen=True)
class Paraphrases:
    """How many paraphrases a run has, how many of them people have read, and how many they accepted."""

    made: int
    accepted: int


def check_paraphrases(
    run: str | Path,
    *,
    to: str | Path | None = None,
    into_room: bool = False,
    language: str = "en",
    benchmark: Source | None = None,
    database: str | None = None,
) -> Paraphrases:
    """Put the paraphrases that models made for a run into the review room, or write those that were accepted there.

    Parameters
    ----------
    to
        The file of accepted ones, for `--noise checked:FILE`.

    Raises
    ------
    BenchmarkError
        No model has paraphrased anything for the run.
    """
    folder = Path(run)
    found = as_benchmark(benchmark if benchmark is not None else read_run(folder).benchmark_source)
    rows = list(paraphrases_of(folder, found, language))
    if not rows:
        raise BenchmarkError(f"{folder} has no paraphrases; casewise attack … --noise paraphrase:MODEL has them made")
    makers = sorted({maker for maker, _ in made_in(folder) if maker.startswith(TASK)})
    name = f"paraphrases-{digest([found.digest, makers])[:12]}"
    with opened(from_environment(database=database).database) as store, store.write() as connection:
        if into_room:
            put_texts(connection, name, rows, written=True)
        accepted = [one for one in texts_of(connection, name, language) if one.is_reviewed]
    if to is not None:
        write_jsonl(Path(to), accepted)
    return Paraphrases(len(rows), len(accepted))


def paraphrases_of(folder: Path, benchmark: Benchmark, language: str) -> Iterator[Translation]:
    """What models made of each statement of the benchmark, the first that has one."""
    made = {key: one.made for (maker, key), one in made_in(folder).items() if maker.startswith(TASK) and one.made}
    sources: dict[str, str] = {}
    for context in benchmark.contexts:
        over_texts(context.shown(), lambda text: sources.setdefault(text_key(text), text))
    for key, source in sources.items():
        if key in made:
            yield Translation(of=key, language=language, source=source, text=str(made[key]))
