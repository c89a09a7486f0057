"""Simulated people on the real pages: an owner's rehearsal and the load test."""

from __future__ import annotations

import asyncio
import html
import re
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import aiohttp
import numpy as np
from scipy.special import expit

from casewise import database as databases
from casewise.ask.reader import refuses
from casewise.database import Database
from casewise.errors import StudyError
from casewise.records import OUTCOMES
from casewise.settings import Settings, from_environment
from casewise.stats.ratings import CrowdDesign, CrowdModel, draw_annotators, draw_item_logits
from casewise.studies.answers import lapse_and_void
from casewise.studies.design import REPLY_QUESTION
from casewise.studies.freeze import Material, StudyItem
from casewise.studies.owner import Overview, overview
from casewise.studies.people import derived_key
from casewise.studies.recruiters import PARAMETERS, new_invitation
from casewise.studies.rounds import RehearsalOptions, Round, open_plan, read_plan, rehearsal_of
from casewise.studies.wording import StudyWording
from casewise.web.app import free_port, serving
from casewise.web.study import SCRIPT_HEADER

# Simulated people on the real pages, over HTTP: an owner's dress rehearsal, and the load test.


CSRF = re.compile(r'name="csrf" value="([^"]+)"')
STEP = re.compile(r'name="step" value="([^"]+)"')
REQUEST = re.compile(r"<blockquote[^>]*>(.*?)</blockquote>", re.DOTALL)
OWN = re.compile(r'name="(own-[\w-]+)"[^>]*? value="(\d+)"')
OWN_OF_MANY = re.compile(r'name="(own-[\w-]+-0)" value="yes"')
ASKS_OF_REPLY = 'class="card panel reply"'
PARAMETER = re.compile(r"<dd>(.*?)</dd>", re.DOTALL)

TYPICAL_SAFE_RATE = {"no_context": 0.45, "safe": 0.75, "unsafe": 0.3}
"""Assumed, so that conditions differ in a rehearsal as they may in a study. No result of anything."""

NO_PLACE = "found no place after the quiz"
TURNED_AWAY = "turned away at the first page (no place)"
"""The outcome of a walk without a place after the quiz; simulated people answer every quiz question rightly."""
PATIENCE_S = 180.0
"""Seconds after which a simulated browser gives up trying again."""


@dataclass(frozen=True, kw_only=True)
class RehearsalPlan:
    """The people who come to a rehearsal of a round, and their behaviour."""

    options: RehearsalOptions
    url: str
    """The round's address: `http://HOST/study/ID`."""
    skip: float = 0.01
    """Chance that an item is skipped."""
    think_s: float = 0.0
    """Mean time before each answer; 0 makes it a load test."""


@dataclass(frozen=True, slots=True)
class AcknowledgedAnswer:
    """An answer that the server said it took."""

    person: str
    text: str
    decision: str


@dataclass
class RehearsalResult:
    """The result of a rehearsal."""

    outcomes: Counter[str] = field(default_factory=Counter)
    acknowledged: list[AcknowledgedAnswer] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    """Latencies of full steps in seconds, in order: sending an answer and having the next page."""
    seconds: float = 0.0
    retries: int = 0

    @property
    def people(self) -> int:
        """The number of people who came."""
        return self.outcomes.total()

    @property
    def for_nothing(self) -> float:
        """Share of those who were let in who passed the quiz and found no place; NaN without any."""
        let_in = self.people - self.outcomes[TURNED_AWAY]
        return self.outcomes[NO_PLACE] / let_in if let_in else float("nan")

    @property
    def steps_per_s(self) -> float:
        return len(self.latencies_s) / self.seconds if self.seconds else 0.0

    @property
    def slowdown(self) -> float:
        """The ratio of the last thousand steps' median time to the first thousand's; NaN before two thousand."""
        if len(self.latencies_s) < 2000:
            return float("nan")
        return float(np.median(self.latencies_s[-1000:]) / np.median(self.latencies_s[:1000]))

    def percentile_ms(self, percent: float) -> float:
        """Return a percentile of the time for a full step, in milliseconds."""
        return float(np.percentile(self.latencies_s, percent)) * 1000 if self.latencies_s else float("nan")


ASK_SHARE = 0.1
"""The share of pages on which a simulated person would be asked first."""


class Crowd:
    """The answers of simulated people, by the crossed logit model of `casewise.stats.ratings` on the round's real items."""

    def __init__(self, material: Material, wording: StudyWording, *, plan: RehearsalPlan, people: int) -> None:
        self.rng = np.random.default_rng(plan.options.seed)
        conditions = sorted({item.condition for item in material.items})
        queries = {query: index for index, query in enumerate(sorted({item.query_id for item in material.items}))}
        names = ((name, name.split("_")[0]) for name in conditions)
        rates = tuple(TYPICAL_SAFE_RATE.get(kind, TYPICAL_SAFE_RATE.get(name, 0.5)) for name, kind in names)
        model = CrowdModel(careless=plan.options.careless, drop_out=plan.options.dropout)
        logits = draw_item_logits(model, CrowdDesign(safe_rates=rates, queries=len(queries)), rng=self.rng)
        place = {name: index for index, name in enumerate(conditions)}
        self.logits = {
            key_of(item): float(logits[queries[item.query_id], place[item.condition]]) for item in material.items
        }
        self.expected = {check.text: "respond" if check.expected == "safe" else "refuse" for check in wording.checks}
        self.right = [question.right for question in wording.quiz]
        self.annotators = draw_annotators(model, people, rng=self.rng)
        self.kinds = self.annotators.kinds()
        self.leaves = self.rng.random(people) < plan.options.dropout

    def decide(self, person: int, text: str, context: tuple[str, ...], *, asks: bool = False) -> str:
        """Return the button that `person` presses on a page, which offers to be asked first where `asks` says so."""
        if self.kinds[person] == "careless":
            return "respond" if self.rng.random() < 0.5 else "refuse"
        if text in self.expected:
            return self.expected[text]
        logit = self.logits.get(shown_key(text, context))
        if logit is None:
            raise StudyError(f"the page shows {text[:60]!r}, which is not in the benchmark that was given")
        if asks and self.rng.random() < ASK_SHARE:
            return "ask"
        chance = expit(logit + self.annotators.shift[person])
        return "respond" if self.rng.random() < chance else "refuse"

    def answers(self, person: int, page: str, text: str, context: tuple[str, ...]) -> dict[str, str]:
        """Return answers to the owner's questions: any point or option, and of many the first.

        On a reply it is what its words say, or the expected answer of a check; the careless say anything.
        """
        offered: dict[str, list[str]] = {}
        for name, value in OWN.findall(page):
            offered.setdefault(name, []).append(value)
        chosen = {name: str(self.rng.choice(values)) for name, values in offered.items()}
        if ASKS_OF_REPLY in page and self.kinds[person] != "careless":
            refused = self.expected[text] == "refuse" if text in self.expected else refuses(context[0])
            chosen[f"own-{REPLY_QUESTION.name}"] = str(OUTCOMES.index("refuses" if refused else "answers"))
        return chosen | dict.fromkeys(OWN_OF_MANY.findall(page), "yes")


def key_of(item: StudyItem) -> str:
    """Return the key of the page that shows an item."""
    values = item.shown["context"].values()
    texts = [text for value in values for text in ([value] if isinstance(value, str) else value.values())]
    return shown_key(item.shown["query"], texts)


def shown_key(text: str, context: Iterable[str]) -> str:
    return "\0".join(" ".join(part.split()) for part in (text, *context))


async def rehearse(
    plan: RehearsalPlan,
    crowd: Crowd,
    *,
    arrival: Callable[[int], Mapping[str, str]],
    result: RehearsalResult | None = None,
) -> RehearsalResult:
    """Send people through the pages, `at_once` at a time, as browsers that try again when the server is away.

    `arrival` gives the URL parameters with which person number n arrives; `result` is that of the people before.
    """
    result = result or RehearsalResult()
    numbers = iter(range(result.people, result.people + plan.options.annotators))
    start = time.perf_counter()

    async def worker() -> None:
        for number in numbers:
            timeout = aiohttp.ClientTimeout(total=30)
            async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), timeout=timeout) as session:
                outcome = await Browser(session, plan, crowd, number, result).walk(arrival(number))
            result.outcomes[outcome] += 1

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(plan.options.at_once):
                group.create_task(worker())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    result.seconds += time.perf_counter() - start
    return result


@dataclass
class Browser:
    """One simulated person with cookies of their own."""

    session: aiohttp.ClientSession
    plan: RehearsalPlan
    crowd: Crowd
    number: int
    result: RehearsalResult
    page: str = ""
    where: str = ""

    async def walk(self, parameters: Mapping[str, str]) -> str:
        """Walk through the whole study; return how it ended."""
        await self.get("?" + urlencode(parameters))
        if "Before you begin" not in self.page and self.where == "":
            return TURNED_AWAY
        await self.get("/consent")
        await self.post("/consent", {"agree": "yes", "adult": "yes"})
        begun = self.where in {"/tutorial", "/quiz"}
        while self.where in {"/tutorial", "/quiz"}:
            right = enumerate(self.crowd.right) if self.where == "/quiz" else ()
            await self.post(self.where, {f"question-{index}": str(option) for index, option in right})
        if self.where != "/rate":
            return NO_PLACE if begun else TURNED_AWAY
        leaves_after = int(self.crowd.rng.integers(1, 25)) if self.crowd.leaves[self.number] else None
        answered = 0
        while self.where == "/rate":
            if answered == leaves_after:
                return "left"
            await self.answer()
            answered += 1
        if self.where == "/questions":
            await self.post("/questions", {})
        return "finished"

    async def answer(self) -> None:
        text = " ".join(html.unescape(search_page(REQUEST, self.page)).split())
        context = tuple(html.unescape(text) for text in PARAMETER.findall(self.page))
        decision = self.crowd.decide(self.number, text, context, asks='value="ask"' in self.page)
        if self.crowd.rng.random() < self.plan.skip and text not in self.crowd.expected:
            decision = "skip"
        if self.plan.think_s:
            await asyncio.sleep(float(self.crowd.rng.exponential(self.plan.think_s)))
        start = time.perf_counter()
        fields = {"decision": decision, "hand": "yes"}
        await self.post("/rate", fields | self.crowd.answers(self.number, self.page, text, context))
        self.result.latencies_s.append(time.perf_counter() - start)
        self.result.acknowledged.append(AcknowledgedAnswer(str(self.number), shown_key(text, context), decision))

    async def get(self, path: str) -> None:
        await self.request("GET", path, None)

    async def post(self, path: str, fields: dict[str, str]) -> None:
        step = STEP.search(self.page)
        carried = {"csrf": search_page(CSRF, self.page)} | ({"step": step[1]} if step else {})
        await self.request("POST", path, carried | fields)

    async def request(self, method: str, path: str, fields: dict[str, str] | None) -> None:
        """Send one request, and follow it to the page that it leads to. A server that is away is asked again, with the very same form."""
        deadline = time.perf_counter() + PATIENCE_S
        headers, address = {SCRIPT_HEADER: "1"}, self.plan.url + path
        while True:
            try:
                async with self.session.request(method, address, data=fields, headers=headers) as response:
                    text = await response.text()
                    if response.status < 500:
                        self.page = text
                        self.where = response.url.path.removeprefix(urlsplit(self.plan.url).path)
                        return
                    problem = f"the server answered {response.status}"
            except aiohttp.ClientSSLError as error:
                raise StudyError(f"{self.plan.url}: {error}; SSL_CERT_FILE names another authority to trust") from None
            except (aiohttp.ClientError, TimeoutError) as error:
                problem = repr(error)
            if time.perf_counter() > deadline:
                raise StudyError(f"{address}: {problem}; is `casewise serve` running?")
            self.result.retries += 1
            await asyncio.sleep(0.05 + 0.1 * secrets.randbelow(100) / 100)


def search_page(pattern: re.Pattern[str], page: str) -> str:
    match = pattern.search(page)
    if match is None:
        raise StudyError(f"a page lacks {pattern.pattern!r}; it begins with {page[:200]!r}")
    return match[1]


# A rehearsal to its end: people come in waves until every item has its ratings.


MOST_WAVES = 12


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result of a whole rehearsal."""

    overview: Overview
    result: RehearsalResult


def arrivals(study: Round, *, invitation_key: bytes) -> Callable[[int], Mapping[str, str]]:
    """Return URL parameters with which simulated people arrive, as this round's recruiter would send them."""
    settings = study.design.recruiter
    names = (
        PARAMETERS if settings.kind == "prolific" else {p: getattr(settings, p) for p in ("person", "study", "session")}
    )

    def parameters(number: int) -> Mapping[str, str]:
        if settings.kind == "invitation":
            return {"participant": new_invitation(invitation_key)}
        return {name: f"rehearsal-{part}-{number}" for part, name in names.items() if name}

    return parameters


async def rehearse_to_the_end(
    database: Database, study: Round, plan: RehearsalPlan, crowd: Crowd, *, arrival: Callable[[int], Mapping[str, str]]
) -> Rehearsal:
    """Send people in waves: `plan.options.annotators` first, then as many as the re-opened slots need, until no slot is open.

    Those who left in the middle hold their slots until the lease runs out. Between two waves no person is on the
    pages, so every lease is then taken as ended.
    """
    result = await rehearse(plan, crowd, arrival=arrival)
    for _ in range(MOST_WAVES if plan.options.until_full else 0):
        counts = await asyncio.to_thread(overview_after_leases, database, study)
        missing = counts.promised - counts.valid
        needed = min(ceil(missing / study.design.ratings.per_annotator * 1.3) + 1, len(crowd.kinds) - result.people)
        if missing == 0 or needed <= 0:
            break
        await rehearse(
            replace(plan, options=replace(plan.options, annotators=needed)), crowd, arrival=arrival, result=result
        )
    return Rehearsal(await asyncio.to_thread(overview_after_leases, database, study), result)


def overview_after_leases(database: Database, study: Round) -> Overview:
    later = datetime.now(UTC) + timedelta(minutes=study.design.ratings.lease_minutes)
    with study.write(database, later) as live:
        lapse_and_void(live)
    with study.read(database) as live:
        return overview(live)


# A study rehearsed: simulated people sent through the real pages, on a server of its own where there is none yet.


SPARE = 4
"""People drawn for each one asked for: voids and leavers are replaced."""


def rehearse_study(
    study: str | Path,
    options: RehearsalOptions = RehearsalOptions(),
    *,
    url: str | None = None,
    database: str | None = None,
) -> Rehearsal:
    """Send simulated people through the real pages. Nothing of it counts in the study.

    `study`: the study's TOML file.
    `url`: where the app answers on the same database; without it one is started.
    """
    plan = rehearsal_of(read_plan(Path(study)), lease_s=options.lease_s, stamp=f"{datetime.now(UTC):%Y%m%d-%H%M%S}")
    with server(url, database) as settings, databases.open(settings.database) as store:
        with store.write() as connection:
            opened = open_plan(connection, plan, phase="rehearsal", now=datetime.now(UTC))
        people = RehearsalPlan(options=options, url=f"{settings.site_url}/study/{opened.id}")
        needed = len(plan.material.items) * plan.design.ratings.per_item // plan.design.ratings.per_annotator + 1
        crowd = Crowd(plan.material, plan.wording, plan=people, people=SPARE * max(options.annotators, needed))
        key = derived_key(settings.secret_key, f"invitations {opened.id}")
        return asyncio.run(
            rehearse_to_the_end(store, opened, people, crowd, arrival=arrivals(opened, invitation_key=key))
        )


@contextmanager
def server(url: str | None, database: str | None) -> Iterator[Settings]:
    if url is not None:
        yield from_environment(database=database, site_url=url)
        return
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="casewise-rehearsal-") as folder:
        settings = from_environment(
            database=database or str(Path(folder) / "rehearsal.db"), site_url=f"http://127.0.0.1:{port}"
        )
        with serving(settings, port=port):
            yield settings
