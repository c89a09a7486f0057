"""A decider at work: one request in, `answer`, `refuse` or `ask` out, with what is known of it."""

from __future__ import annotations

import asyncio
import math
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from casewise.deciding.decider_file import DeciderFile, read_decider
from casewise.deciding.deployed import check_same, judge_anew
from casewise.deciding.requests import DecisionRequest, from_messages
from casewise.errors import ConfigurationError, ModelError
from casewise.judging.judge import Answer, Judge, completed
from casewise.judging.judges.callable import CallableJudge
from casewise.judging.judges.constant import ConstantJudge
from casewise.models.load import ModelOptions
from casewise.records import Arm, Scored, Unscored, UnscoredReason
from casewise.showing.user_function import no_loop_runs
from casewise.stats.deciding.fitted_thresholds import Decision

__all__ = ["Decided", "Decider"]

T = TypeVar("T")


@dataclass(frozen=True)
class Decided:
    """What a decider says of a request."""

    decision: Decision
    """`answer`, `refuse` or `ask`."""
    p_safe: float | None
    """How likely it is that people would say answer; None where the judge gave no value."""
    value: float | None
    """The judge's own value."""
    why: str
    """In a sentence."""
    unmeasured: tuple[str, ...] = ()
    """How the request differs from those that were measured; empty where it does not."""
    failed: str | None = None
    """Why the judge gave no value, as a code (`unavailable`, `unparsed`, …); None where it did."""
    categories: tuple[str, ...] | None = None
    """Categories that the judge says apply."""
    latency_s: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            **vars(self),
            "unmeasured": list(self.unmeasured),
            "categories": self.categories and list(self.categories),
        }


def end_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


class Decider:
    """A judge with fitted thresholds.

    Examples
    --------
    >>> decider = Decider.load("decider.toml")  # doctest: +SKIP
    >>> decider.decide("How do I pick this lock?", {"recipient": {"type": "locksmith"}}).decision  # doctest: +SKIP
    'answer'
    """

    def __init__(self, file: DeciderFile, judge: Judge, *, file_hash: str = "") -> None:
        self.file, self.judge, self.hash = file, judge, file_hash
        self.arm = Arm.named(file.judge.arm)
        self.calibrator = file.calibration.calibrator

    def __repr__(self) -> str:
        limits = self.file.thresholds
        return f"<Decider {self.file.judge.name}: answers above {limits.answer_above:g}, refuses up to {limits.refuse_up_to:g}>"

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        judge: Judge | Callable[..., Any] | None = None,
        model: ModelOptions = ModelOptions(),
    ) -> Self:
        """The decider in `path`, with its judge made anew.

        Parameters
        ----------
        judge
            The judge itself, or the function, where its name does not say how to make it.
        model
            How its model is reached here: address, timeouts, keys.

        Raises
        ------
        ChecksumMismatch, DataError
            The file was changed, or is none.
        JudgeError
            The judge does not exist here, or is not the one that was measured.
        """
        file, found = read_decider(Path(path))
        if judge is None:
            return cls(file, judge_anew(file.judge, model=model), file_hash=found)
        part = file.judge
        if callable(judge) and not hasattr(judge, "answer"):
            judge = CallableJudge(judge, name=part.name, elicitation=part.elicitation)
        given = completed(judge)
        check_same(given, part)
        return cls(file, given, file_hash=found)

    def decide(self, query: str, context: Mapping[str, Any] | None = None, *, reply: str | None = None) -> Decided:
        """What to do with a query in its circumstances, as far as these are known."""
        return self.decide_request(DecisionRequest(query, context, reply=reply))

    async def decide_async(
        self, query: str, context: Mapping[str, Any] | None = None, *, reply: str | None = None
    ) -> Decided:
        """As `decide`, to await."""
        return await self.decision(DecisionRequest(query, context, reply=reply))

    def decide_chat(self, messages: Sequence[Mapping[str, Any]], context: Mapping[str, Any] | None = None) -> Decided:
        """What to do with the last message of a chat."""
        return self.decide_request(from_messages(messages, context))

    def decide_request(self, request: DecisionRequest) -> Decided:
        """As `decide`, of a request as an object."""
        if not (self.immediate and no_loop_runs()):
            return self.waited(self.decision(request))
        work = self.decision(request)
        try:
            work.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # what `decision` returns
        work.close()
        raise ConfigurationError(f"{self.judge.name} waits for something: make it an async function")

    def decide_many(self, requests: Iterable[DecisionRequest]) -> list[Decided]:
        """The decisions on several requests, in their order, as many at a time as the judge wants."""
        if self.immediate and no_loop_runs():
            return [self.decide_request(request) for request in requests]
        return self.waited(self.decide_many_async(requests))

    async def decide_many_async(self, requests: Iterable[DecisionRequest]) -> list[Decided]:
        """As `decide_many`, to await."""
        gate = asyncio.Semaphore(max(self.judge.concurrency, 32))

        async def one(request: DecisionRequest) -> Decided:
            async with gate:
                return await self.decision(request)

        return list(await asyncio.gather(*(one(request) for request in requests)))

    async def decision(self, request: DecisionRequest) -> Decided:
        """As `decide_async`, of a request as an object. No error of the judge's is raised: it is decided as the file says."""
        if request.reply is not None and not self.judge.reads_replies:
            raise ConfigurationError(f"{self.judge.name} judges requests and cannot be shown a reply")
        unmeasured = request.unmeasured(self.file.measured_on)
        if unmeasured and self.file.refuse_unmeasured:
            return Decided(
                "refuse", None, None, f"not of a kind that was measured: {'; '.join(unmeasured)}", unmeasured
            )
        began = time.perf_counter()
        try:
            answer = await self.judge.answer(request.ask(self.arm, self.file.judge.elicitation))
        except ModelError as error:
            answer = Answer(Unscored(reason=UnscoredReason.UNAVAILABLE, detail=type(error).__name__))
        except TimeoutError:
            return replace(self.failed("timeout"), unmeasured=unmeasured)
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001  # a judge is anybody's code, and its errors may repeat what it was shown
            answer = Answer(Unscored(reason=UnscoredReason.JUDGE_FAILED, detail=type(error).__name__))
        return self.settled(answer, unmeasured, latency_s=time.perf_counter() - began)

    def settled(self, answer: Answer, unmeasured: tuple[str, ...] = (), *, latency_s: float = 0.0) -> Decided:
        """The decision that a judge's answer comes to."""
        outcome, limits = answer.outcome, self.file.thresholds
        if not isinstance(outcome, Scored):
            why = f"the judge gave no value ({outcome.reason.value}), and then the decider says {limits.fail}"
            return Decided(limits.fail, None, None, why, unmeasured, outcome.reason.value, answer.categories, latency_s)
        value = outcome.value
        decision: Decision
        if value > limits.answer_above:
            decision, why = "answer", f"{value:.4g} is above {limits.answer_above:.4g}"
        elif value <= limits.refuse_up_to:
            to = limits.refuse_up_to
            why = "this decider refuses everything" if to == math.inf else f"{value:.4g} is not above {to:.4g}"
            decision = "refuse"
        else:
            decision, why = "ask", f"{value:.4g} lies between {limits.refuse_up_to:.4g} and {limits.answer_above:.4g}"
        if outcome.explanation:
            why = f"{why}; the judge says: {outcome.explanation}"
        p_safe = self.calibrator.at(value)
        return Decided(decision, p_safe, value, why, unmeasured, None, answer.categories, latency_s)

    def failed(self, reason: str) -> Decided:
        """What is decided where the judge was not waited for: as where it gives no value."""
        fail = self.file.thresholds.fail
        return Decided(
            fail, None, None, f"the judge gave no value ({reason}), and then the decider says {fail}", (), reason
        )

    def failing(self, fail: Decision) -> Self:
        """The same decider, with something else done where the judge gives no value.

        Raises
        ------
        ConfigurationError
            It would break a promise that was fitted with the file's own `fail`.
        """
        broken = {"answer": "harm", "refuse": "over_refusal"}.get(fail)
        if fail != self.file.thresholds.fail and broken in {one.what for one in self.file.promises}:
            raise ConfigurationError(
                f"--fail {fail} breaks the promise of {str(broken).replace('_', '-')}: it was fitted with "
                f"--fail {self.file.thresholds.fail}. Fit again with --fail {fail}"
            )
        limits = self.file.thresholds.model_copy(update={"fail": fail})
        return type(self)(self.file.model_copy(update={"thresholds": limits}), self.judge, file_hash=self.hash)

    @cached_property
    def measured(self) -> dict[str, Any]:
        """What was measured, on held-out queries of the benchmark: shares with the ends of their intervals."""
        return self.file.measured.as_json()

    @cached_property
    def immediate(self) -> bool:
        """Whether its judge answers without waiting for anything, so that no event loop is needed."""
        judge = self.judge
        if isinstance(judge, CallableJudge):
            return not judge.own.waits
        return isinstance(judge, ConstantJudge)

    def waited(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work` on a loop of this decider's own: its connections belong to one loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """A loop in a thread of its own, for those who cannot await."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True, name="casewise-decider")
        thread.start()
        self._end_loop = weakref.finalize(self, end_loop, loop, thread)
        return loop

    def close(self) -> None:
        """Let go of the judge's connections."""
        if "loop" in self.__dict__:
            self.waited(self.judge.close())
            del self.__dict__["loop"]
            self._end_loop()
        else:
            asyncio.run(self.judge.close())
