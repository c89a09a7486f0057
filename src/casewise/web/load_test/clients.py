"""Simulated people on the real pages, over HTTP: an owner's dress rehearsal, and the load test."""

from __future__ import annotations

import asyncio
import html
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

import aiohttp
import numpy as np
from scipy.special import expit

from casewise.errors import StudyError
from casewise.records import OUTCOMES
from casewise.replying.graders.words import graded_by_words
from casewise.stats.people.crowd import CrowdDesign, CrowdModel, draw_annotators, draw_item_logits
from casewise.studies.design.material import Material
from casewise.studies.design.replies import REPLY_QUESTION
from casewise.studies.design.wording import StudyWording
from casewise.studies.watching.likeness import typical_safe_rates

__all__ = ["FOR_NOTHING", "Acknowledged", "Crowd", "RehearsalPlan", "RehearsalResult", "rehearse"]

CSRF = re.compile(r'name="csrf" value="([^"]+)"')
PAGE = re.compile(r'name="page" value="([^"]+)"')
REQUEST = re.compile(r"<blockquote[^>]*>(.*?)</blockquote>", re.DOTALL)
OWN = re.compile(r'name="(own-[\w-]+)"[^>]*? value="(\d+)"')
OWN_REASON = re.compile(r'name="(own-[\w-]+-0)" value="yes"')
OWN_LIST = re.compile(r'<select name="(own-[\w-]+)"')
OWN_TEXT = re.compile(r'<textarea name="(own-[\w-]+)"')
ASKS_OF_REPLY = 'class="card panel reply"'
ANOTHER = '/another"'
TAKES_ANOTHER = 0.5
"""Chance that somebody who is offered another batch takes it."""
PARAMETER = re.compile(r"<dd>(.*?)</dd>", re.DOTALL)

FOR_NOTHING = "found no place after the quiz"
"""What a walk ends with that was promised more; simulated people answer every quiz question rightly."""
PATIENCE_S = 180.0
"""As long a simulated browser tries again before it gives up."""

Decision = str


@dataclass(frozen=True, kw_only=True)
class RehearsalPlan:
    """Who comes, and how many at once."""

    url: str
    """The round's address: `http://HOST/study/ID`."""
    annotators: int = 100
    careless: float = 0.1
    """Share who press at random, on attention checks too."""
    dropout: float = 0.15
    """Share who leave in the middle and never come back."""
    skip: float = 0.01
    """Chance that an item is skipped."""
    at_once: int = 16
    think_s: float = 0.0
    """Mean time before each answer; 0 makes it a load test."""
    seed: int = 1
    script: bool = True
    """As browsers with JavaScript, to whom an answer brings the next page; else by forms alone, with a redirect."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An answer that the server said it took."""

    person: str
    text: str
    decision: Decision


@dataclass
class RehearsalResult:
    """What came of it."""

    outcomes: Counter[str] = field(default_factory=Counter)
    acknowledged: list[Acknowledged] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    """Of full steps, in order: sending an answer and having the next page."""
    seconds: float = 0.0
    retries: int = 0

    @property
    def steps_per_s(self) -> float:
        return len(self.latencies_s) / self.seconds if self.seconds else 0.0

    @property
    def slowdown(self) -> float:
        """How much longer the last thousand steps took than the first, by their medians; NaN before two thousand."""
        if len(self.latencies_s) < 2000:
            return float("nan")
        return float(np.median(self.latencies_s[-1000:]) / np.median(self.latencies_s[:1000]))

    def percentile_ms(self, percent: float) -> float:
        """A percentile of the time for a full step, in milliseconds."""
        return float(np.percentile(self.latencies_s, percent)) * 1000 if self.latencies_s else float("nan")


class Crowd:
    """What simulated people answer: the crossed logit model of `casewise.stats.people.crowd` on the round's real items."""

    def __init__(self, material: Material, wording: StudyWording, *, plan: RehearsalPlan, people: int) -> None:
        self.rng = np.random.default_rng(plan.seed)
        conditions = sorted({item.condition for item in material.items})
        queries = {query: index for index, query in enumerate(sorted({item.query_id for item in material.items}))}
        rates = typical_safe_rates(conditions)
        model = CrowdModel(careless=plan.careless, drop_out=plan.dropout)
        logits = draw_item_logits(model, CrowdDesign(safe_rates=rates, queries=len(queries)), rng=self.rng)
        place = {name: index for index, name in enumerate(conditions)}
        self.logits = {
            shown_key(item.shown["query"], texts_of(item.shown["context"])): float(
                logits[queries[item.query_id], place[item.condition]]
            )
            for item in material.items
        }
        self.expected = {check.text: "respond" if check.expected == "safe" else "refuse" for check in wording.checks}
        self.right = [question.right for question in wording.quiz]
        self.annotators = draw_annotators(model, people, rng=self.rng)
        self.kinds = self.annotators.kinds()
        self.leaves = self.rng.random(people) < plan.dropout

    def says_of_reply(self, person: int, text: str, context: tuple[str, ...]) -> int:
        """What `person` says that a reply does, as a place among `OUTCOMES`: what its words say, the careless anything."""
        if self.kinds[person] == "careless":
            return int(self.rng.integers(len(OUTCOMES)))
        if text in self.expected:
            return OUTCOMES.index("refuses" if self.expected[text] == "refuse" else "answers")
        found = graded_by_words(context[0]).outcome
        return OUTCOMES.index(found) if found else 0

    def decide(self, person: int, text: str, context: tuple[str, ...]) -> Decision:
        """What `person` presses on a page."""
        if self.kinds[person] == "careless":
            return "respond" if self.rng.random() < 0.5 else "refuse"
        if text in self.expected:
            return self.expected[text]
        logit = self.logits.get(shown_key(text, context))
        if logit is None:
            raise StudyError(f"the page shows {text[:60]!r}, which is not in the benchmark that was given")
        chance = expit(logit + self.annotators.shift[person])
        return "respond" if self.rng.random() < chance else "refuse"


def texts_of(context: Mapping[str, Mapping[str, str] | str]) -> tuple[str, ...]:
    texts: list[str] = []
    for value in context.values():
        texts.extend([value] if isinstance(value, str) else value.values())
    return tuple(texts)


def shown_key(text: str, context: tuple[str, ...]) -> str:
    return "\0".join(" ".join(part.split()) for part in (text, *context))


async def rehearse(
    plan: RehearsalPlan, crowd: Crowd, *, arrival: Callable[[int], Mapping[str, str]], begin: int = 0
) -> RehearsalResult:
    """Send people through the pages, `at_once` at a time, as browsers that try again when the server is away.

    `arrival` gives the URL parameters with which person number n arrives; `begin` is the first number.
    """
    result = RehearsalResult()
    waiting = asyncio.Queue[int]()
    for number in range(begin, begin + plan.annotators):
        waiting.put_nowait(number)
    start = time.perf_counter()

    async def worker() -> None:
        while not waiting.empty():
            number = waiting.get_nowait()
            browser = Browser(plan, crowd, number, result)
            async with browser:
                result.outcomes[await browser.walk(arrival(number))] += 1

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(plan.at_once):
                group.create_task(worker())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    result.seconds = time.perf_counter() - start
    return result


class Browser:
    """One simulated person with cookies of their own."""

    def __init__(self, plan: RehearsalPlan, crowd: Crowd, number: int, result: RehearsalResult) -> None:
        self.plan, self.crowd, self.number, self.result = plan, crowd, number, result
        self.page, self.where = "", ""

    async def __aenter__(self) -> Self:
        jar = aiohttp.CookieJar(unsafe=True)
        timeout = aiohttp.ClientTimeout(total=30)
        self.session = aiohttp.ClientSession(cookie_jar=jar, timeout=timeout)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.session.close()

    async def walk(self, parameters: Mapping[str, str]) -> str:
        """The whole way; what it ended with."""
        await self.get("?" + "&".join(f"{name}={value}" for name, value in parameters.items()))
        if "Before you begin" not in self.page and self.where == "":
            return "no place"
        await self.get("/consent")
        await self.post("/consent", {"agree": "yes", "adult": "yes"})
        begun = False
        while self.where in {"/tutorial", "/quiz"}:
            begun = True
            await self.learn()
        if self.where == "/rate":
            return await self.rate()
        return FOR_NOTHING if begun else "no place"

    async def learn(self) -> None:
        if self.where == "/tutorial":
            await self.post("/tutorial", {})
            return
        await self.post("/quiz", {f"question-{index}": str(right) for index, right in enumerate(self.crowd.right)})

    async def rate(self) -> str:
        leaves_after = int(self.crowd.rng.integers(1, 25)) if self.crowd.leaves[self.number] else None
        answered = 0
        while self.where == "/rate":
            if answered == leaves_after:
                return "left"
            await self.answer()
            answered += 1
        if self.where == "/questions" and ANOTHER in self.page and self.crowd.rng.random() < TAKES_ANOTHER:
            await self.post("/another", {})
            return await self.rate()
        if self.where == "/questions":
            await self.post("/questions", {})
        return "finished"

    async def answer(self) -> None:
        text = " ".join(html.unescape(found(REQUEST, self.page)).split())
        context = tuple(html.unescape(text) for text in PARAMETER.findall(self.page))
        decision = self.crowd.decide(self.number, text, context)
        if self.crowd.rng.random() < self.plan.skip and text not in self.crowd.expected:
            decision = "skip"
        if self.plan.think_s:
            await asyncio.sleep(float(self.crowd.rng.exponential(self.plan.think_s)))
        start = time.perf_counter()
        fields = {"page": found(PAGE, self.page), "decision": decision, "hand": "yes"}
        await self.post("/rate", fields | self.own_answers() | self.of_reply(text, context))
        self.result.latencies_s.append(time.perf_counter() - start)
        key = shown_key(text, context)
        self.result.acknowledged.append(Acknowledged(str(self.number), key, decision))

    def of_reply(self, text: str, context: tuple[str, ...]) -> dict[str, str]:
        """What this person says of a reply, where pages ask that; whoever does not skip it says so by that alone."""
        if ASKS_OF_REPLY not in self.page:
            return {}
        return {f"own-{REPLY_QUESTION.name}": str(self.crowd.says_of_reply(self.number, text, context))}

    def own_answers(self) -> dict[str, str]:
        """To the owner's own questions: any point or option."""
        offered: dict[str, list[str]] = {}
        for name, value in OWN.findall(self.page):
            offered.setdefault(name, []).append(value)
        chosen = {name: str(self.crowd.rng.choice(values)) for name, values in offered.items()}
        texts = dict.fromkeys(OWN_TEXT.findall(self.page), "A rehearsal's words.")
        return chosen | texts | dict.fromkeys(OWN_LIST.findall(self.page), "0") | reasons(self.page)

    async def get(self, path: str) -> None:
        await self.request("GET", path, {})

    async def post(self, path: str, fields: dict[str, str]) -> None:
        await self.request("POST", path, {"csrf": found(CSRF, self.page), **fields})

    async def request(self, method: str, path: str, fields: dict[str, str]) -> None:
        """One request and the page it leads to. A server that is away is asked again, with the very same form."""
        deadline = time.perf_counter() + PATIENCE_S
        headers = {"X-Casewise-Script": "1"} if self.plan.script else {}
        while True:
            try:
                async with self.session.request(
                    method, self.plan.url + path, data=fields or None, headers=headers
                ) as response:
                    text = await response.text()
                    if response.status < 500:
                        self.page, self.where = text, response.url.path.removeprefix(self.base)
                        return
                    problem = f"the server answered {response.status}"
            except aiohttp.ClientSSLError as error:
                raise StudyError(f"{self.plan.url}: {error}; SSL_CERT_FILE names another authority to trust") from None
            except (aiohttp.ClientError, TimeoutError) as error:
                problem = repr(error)
            if time.perf_counter() > deadline:
                raise StudyError(f"{self.plan.url}{path}: {problem}; is `casewise serve` running?")
            self.result.retries += 1
            await asyncio.sleep(0.05 + 0.1 * secrets.randbelow(100) / 100)

    @property
    def base(self) -> str:
        return "/" + self.plan.url.split("://", 1)[1].partition("/")[2]


def reasons(page: str) -> dict[str, str]:
    """The first of several reasons that a page offers, ticked."""
    return dict.fromkeys(OWN_REASON.findall(page), "yes")


def found(pattern: re.Pattern[str], page: str) -> str:
    match = pattern.search(page)
    if match is None:
        raise StudyError(f"a page lacks {pattern.pattern!r}; it begins with {page[:200]!r}")
    return match[1]
