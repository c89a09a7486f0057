"""How long the room of `casewise serve` takes on a large benchmark: opening it, a filter, a whole page.

    python benchmarks/view.py [ITEMS]

The benchmark and two runs are those of `large.py`. Filters are drawn at random from all that the page offers, searches among
them, each of them new, so that nothing of one helps the next but texts in lower case, which the first search makes. The table says
milliseconds on the clock: the median, and what 19 of 20 take at most.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from casewise.evaluate.viewing import ItemFilter, ViewedTable

N_FILTERS = 200
PORT = 8109


def some_filters(table: ViewedTable, rng: np.random.Generator) -> Iterator[ItemFilter]:
    """Filters, each with an order and one to three conditions."""
    from casewise.evaluate.viewing import CELLS, ItemFilter, Sort

    words = [word for query in table.benchmark.queries[:200] for word in query.text.split()]
    offered: list[Callable[[], dict[str, object]]] = [
        lambda: {"q": str(rng.choice(words))},
        lambda: {"category": str(rng.choice(table.items["category"].unique()))},
        lambda: {"outcome": str(rng.choice(["right", "wrong", "unscored"]))},
        lambda: {"people": str(rng.choice(["all", "90", "75", "split"]))},
        lambda: {"label": str(rng.choice(["safe", "unsafe", "tie"])), "series": int(rng.integers(2))},
        lambda: {"first": 0, "second": 1, "cell": str(rng.choice([*CELLS, "differ"]))},
        lambda: {"verdict": str(rng.choice(["safe", "unsafe"]))},
    ]
    for _ in range(N_FILTERS):
        asked: dict[str, object] = {"sort": str(rng.choice(get_args(Sort))), "down": bool(rng.integers(2))}
        for one in rng.choice(len(offered), size=rng.integers(1, 4), replace=False):
            asked |= offered[one]()
        yield ItemFilter(**asked)  # type: ignore[arg-type]  # values by name


def row(name: str, took: list[float]) -> str:
    return f"| {name} | {1000 * float(np.median(took)):.0f} | {1000 * float(np.quantile(took, 0.95)):.0f} |"


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def main() -> None:
    from starlette.testclient import TestClient

    from casewise.evaluate.viewing import ItemFilter, select_items, view
    from casewise.web.viewing import create_view

    items = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    large = Path(__file__).with_name("large.py")
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, str(large), "--build", name, str(items)], check=True)
        runs = [Path(name) / run for run in ("a", "b")]
        began = time.perf_counter()
        viewed = view(*runs)
        table = viewed.table
        opened = time.perf_counter() - began
        first = timed(lambda: select_items(table, ItemFilter(q="a"), tagged={}))
        rng = np.random.default_rng(1)
        found = list(some_filters(table, rng))
        filters = [timed(lambda one=one: select_items(table, one, tagged={})) for one in found]  # type: ignore[misc]  # its default
        client = TestClient(create_view(viewed, port=PORT), base_url=f"http://127.0.0.1:{PORT}")
        client.get("/")
        pages = [timed(lambda one=one: client.get("/", params=one.words())) for one in found]  # type: ignore[misc]
    print(f"{items:,} items, two runs, polars {pl.__version__}: opened in {opened:.1f} s, first search {first:.1f} s\n")
    print("| | median ms | p95 ms |\n|---|---:|---:|")
    print(row("filter", filters))
    print(row("page with a new filter", pages))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
