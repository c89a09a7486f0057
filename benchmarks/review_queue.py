"""The review room's pages at 100 and at 10,000 contexts: time on the server, in one run, and their ratio.

python benchmarks/review_queue.py
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from sqlalchemy import update
from tests.contexts.wordings import wording
from tests.support.app import NOW, PASSWORD, Visitor, add_person, visitor
from tests.support.server import KEY

from casewise.contexts.drafts import create_draft
from casewise.contexts.review import Phase, State
from casewise.contexts.store import all_places
from casewise.database.staff import Role
from casewise.database.tables import review
from casewise.records import Query, sorry_bench
from casewise.settings import Settings
from casewise.web import create_app

PAGES = {
    "queue, mine": "/review/drafts/bench",
    "queue, all": "/review/drafts/bench?all=yes",
    "queue, one category": "/review/drafts/bench?category=impersonation",
    "next context": "/review/drafts/bench/next",
    "drafts": "/review",
    "progress": "/review/drafts/bench/progress",
}


def room_of(count: int, folder: Path) -> tuple[Visitor, str]:
    app = create_app(Settings(database=str(folder / f"{count}.db"), secret_key=KEY))
    store, names = app.state.database, sorry_bench().names
    add_person(store, "Ada", Role.REVIEWER)
    queries = [Query(text=f"How would letter {n} be forged?", category=names[n % 45]) for n in range(count // 2)]
    state = State(phase=Phase.GENERATED, wording=wording()).model_dump(mode="json", exclude_none=True)
    with store.write() as connection:
        draft = create_draft(connection, "bench", queries=queries, taxonomy=sorry_bench(), now=NOW)
        connection.execute(update(review.contexts).values(phase=Phase.GENERATED, state=state))
        middle = all_places(connection, draft.id)[count // 2].id
    ada = visitor(app)
    ada.send("/sign-in", email="ada@example.org", password=PASSWORD)
    ada.send("/review/drafts/bench/warning")
    return ada, f"/review/contexts/{middle}"


def median_ms(guest: Visitor, path: str, *, times: int = 15) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        answer = guest.get(path)
        taken.append((time.perf_counter() - start) * 1000)
        assert answer.status_code in {200, 303}, answer.status_code
    return statistics.median(taken)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small, one_small = room_of(100, Path(folder))
        large, one_large = room_of(10_000, Path(folder))
        print(f"{'page':22} {'100':>9} {'10,000':>9} {'ratio':>6}")
        for name, path in {**PAGES, "a context": ""}.items():
            first = median_ms(small, path or one_small)
            second = median_ms(large, path or one_large)
            print(f"{name:22} {first:6.1f} ms {second:6.1f} ms {second / first:6.1f}")


if __name__ == "__main__":
    main()
