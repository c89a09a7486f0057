"""A decider at work: one request in; answer, refuse or ask out."""

from __future__ import annotations

import asyncio
import math
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast, get_args

from casewise.ask.elicitations import AskOptions
from casewise.ask.layouts import ShownItem, in_words
from casewise.deciding.characters import hidden_characters
from casewise.deciding.decider_file import FittedDecider, MeasuredJudge, MeasuredOn, read_decider
from casewise.errors import ConfigurationError, JudgeError, ModelError, Unavailable
from casewise.judges.baselines import CallableJudge, ConstantJudge
from casewise.judges.judge import Ask, Judge, UserJudge
from casewise.judges.llm import LiveOptions
from casewise.judges.named import load_judge
from casewise.models.endpoints import ExtraOptions, parse_model_name
from casewise.models.load import ModelOptions
from casewise.models.protocol import Message
from casewise.notation import hyphened
from casewise.records import Arm, Item, Query, Scored, ShownContext, UnscoredReason, scale_of
from casewise.records.base import Record, canonical_json
from casewise.records.context import OPTIONAL, omit, parameter_texts
from casewise.records.item import Judged, Turn
from casewise.stats.thresholds import ERRORS, Decision
from casewise.text import text
from casewise.transforms.user_function import is_outside_loop

# A request as a decider is given it, and as its judge is asked: what is shown is given, not derived from a benchmark.

UNKNOWN = (None, "", "unknown", "Unknown")
"""The values by which a deployer marks a parameter as unknown: it is then not shown."""

EXAMPLE_CONTEXT = '{"recipient": {"type": "a nurse"}}'
EXAMPLE_DOTTED_CONTEXT = '{"recipient.type": "a nurse"}'

ITEM = Item.model_construct(id="request", query_id="request", context_id=None, condition="no_context")

QUERY = Query.model_construct(id="request", text="", category="")
"""A placeholder: judges look at what is shown, and a validated record of each request would double its time."""


LONGEST_ID = 200
"""Characters of a caller's own id."""


@dataclass(frozen=True)
class DecisionRequest:
    """A request to decide on."""

    query: str
    """The user's query."""
    context: Mapping[str, Any] | str | None = None
    """The circumstances as far as they are known: a text, `group.parameter` to statement, or group to parameter to statement."""
    earlier: tuple[Message, ...] = ()
    """Turns that went before."""
    reply: str | None = None
    """A chatbot's reply, for a guard that judges replies."""
    category: str | None = None
    """The query's category of harm, in the benchmark's words; None if it is not stated."""
    judged: Judged = "request"
    """`action` where the query tells an action of an agent."""
    id: str = field(default_factory=partial(secrets.token_hex, 12))
    """The id of its decision, here and in the log: the caller's own, or a new one."""

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise ConfigurationError("a request needs a query: a text that is not empty")
        if not (0 < len(self.id) <= LONGEST_ID and self.id.isprintable()):
            raise ConfigurationError(f"the id of a request is 1 to {LONGEST_ID} printable characters")
        object.__setattr__(self, "context", group_context(self.context))

    @property
    def known(self) -> ShownContext:
        """The context without unknown parts."""
        return cast(ShownContext, self.context or {})

    @cached_property
    def stated(self) -> tuple[str, ...]:
        """The parameters that the context states, by dotted name."""
        return tuple(parameter_texts(self.known))

    def shown(self, arm: Arm) -> ShownItem:
        """Return the item that the judge sees, in an arm."""
        omitted = arm.omitted
        context = {} if omitted == EVERYTHING else omit(self.known, omitted)
        before = tuple(Turn(role=turn.role, text=turn.content) for turn in self.earlier if turn.content.strip())
        return ShownItem(self.query, context, judged=self.judged, before=before)

    def unmeasured(self, on: MeasuredOn) -> tuple[str, ...]:
        """Return the differences from what the decider was measured on; empty where there are none."""
        statements = self.stated
        differences = []
        if statements and (missing := [name for name in on.always if name not in statements]):
            differences.append(f"the context does not state {', '.join(missing)}")
        if FREE_TEXT in statements and on.stated and FREE_TEXT not in on.stated:
            names = on.always or on.sometimes
            differences.append(
                "the context is free text, but contexts with parameters were measured: they cannot be compared. Give "
                f"{', '.join(names)} by name, such as --parameter {names[0]}=…"
            )
        return (*differences, *self.kind_differences(on))

    def kind_differences(self, on: MeasuredOn) -> tuple[str, ...]:
        """Return the differences in properties that both the request and the benchmark have; `refuse_unmeasured` refuses
        these."""
        statements = self.stated
        differences = []
        if not statements and not on.without_context:
            differences.append("it has no context, but only requests with a context were measured")
        if new := [name for name in statements if name not in on.stated and (name != FREE_TEXT or not on.stated)]:
            differences.append(f"the context states {', '.join(new)}, which no measured context did")
        if self.category is not None and on.query_categories and self.category not in on.query_categories:
            differences.append("its category is none of those that were measured")
        if (self.judged == "action") != ("action" in on.kinds):
            kinds = ("an action", "requests") if self.judged == "action" else ("a request", "actions")
            differences.append(f"it is {kinds[0]}, and {kinds[1]} were measured")
        elif self.judged == "request" and self.earlier and "conversation" not in on.kinds:
            differences.append("it has earlier turns, and single requests were measured")
        if self.reply is not None and "reply" not in on.kinds:
            differences.append("it has a reply, and requests were measured")
        if hidden := hidden_characters(self.texts):
            differences.append(hidden)
        return tuple(differences)

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that the request holds."""
        return (self.query, self.reply or "", *(turn.content for turn in self.earlier), in_words(self.known))


FREE_TEXT = "situation.description"
"""The parameter that a context of free text is, here and where cases are imported."""


def group_context(context: Any) -> dict[str, Any] | None:
    """Return a context as group to parameter to statement, without what is unknown: of a text, of dotted names, or of groups.

    Raises ConfigurationError: it is none of these. The message repeats nothing of it.
    """
    if context is None or isinstance(context, str):
        context = {FREE_TEXT: context if context and context.strip() else None}
    if not isinstance(context, Mapping):
        raise ConfigurationError(
            f"a context is a text, or a mapping such as {EXAMPLE_CONTEXT} or {EXAMPLE_DOTTED_CONTEXT}"
        )
    groups: dict[str, Any] = {}
    for name, statement in context.items():
        group, dot, parameter = str(name).partition(".")
        if group in OPTIONAL:
            groups.setdefault(group, statement)
        elif dot or isinstance(statement, Mapping):
            texts = {parameter: statement} if dot else statement
            stated = {name: statement for name, statement in texts.items() if statement not in UNKNOWN}
            groups[group] = {**groups.get(group, {}), **stated}
        elif statement not in UNKNOWN:
            raise ConfigurationError(
                f"a context states its parameters by name, such as {EXAMPLE_CONTEXT} or {EXAMPLE_DOTTED_CONTEXT}"
            )
    return {group: texts for group, texts in groups.items() if texts and texts not in UNKNOWN} or None


EVERYTHING = Arm.parse("none").omitted


@dataclass(frozen=True)
class DeployedAsk(Ask):
    """An ask about a request that is in no benchmark."""

    given: DecisionRequest = field(kw_only=True)

    @cached_property
    def shown(self) -> ShownItem:
        return self.given.shown(self.arm)


ChatRole = Literal["system", "developer", "user", "assistant"]
"""The author of a message, as clients of chat interfaces name it."""

ROLES: tuple[ChatRole, ...] = get_args(ChatRole)


def message_text(content: Any) -> str:
    """Return the text of a message: a text, or a list of parts that are texts. Raises ConfigurationError: there is another part."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) and content else [None]
    kinds = [part.get("type") if isinstance(part, Mapping) else None for part in parts]
    if any(isinstance(kind, str) and "image" in kind for kind in kinds):
        raise ConfigurationError("a message holds an image, and a decider reads text only: send the request without it")
    texts = [part.get("text") for part, kind in zip(parts, kinds, strict=True) if kind == "text"]
    if len(texts) < len(parts) or not all(isinstance(text, str) for text in texts):
        raise ConfigurationError("the content of a message is a text, or a list of parts of the type 'text'")
    return "\n\n".join(map(str, texts))


def from_messages(
    messages: Sequence[Mapping[str, Any]], context: Mapping[str, Any] | str | None = None
) -> DecisionRequest:
    """Return the request of a chat: the user's last message is the query, a reply behind it is judged, what went before is shown.

    What a system message says is shown as a parameter of its own, `system_prompt.text`, where the context says nothing
    of it. Several replies behind the last query are one. Raises ConfigurationError: there is no user's message, or one
    is no message.
    """
    turns: list[Message] = []
    for message in messages:
        role, content = (message.get(name) if isinstance(message, Mapping) else None for name in ("role", "content"))
        if role not in ROLES or content is None:
            raise ConfigurationError(f"a message has a role ({', '.join(ROLES)}) and a text as its content")
        turns.append(Message("system" if role == "developer" else role, message_text(content)))
    system = "\n\n".join(turn.content for turn in turns if turn.role == "system")
    turns = [turn for turn in turns if turn.role != "system"]
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=None)
    if last is None:
        raise ConfigurationError("the messages hold no user message: there is nothing to decide")
    stated = group_context(context) or {}
    own_settings = stated.get("system_prompt", {})
    if system and isinstance(own_settings, Mapping):
        stated["system_prompt"] = {"text": system, **own_settings}
    reply = "\n\n".join(turn.content for turn in turns[last + 1 :]) if turns[last + 1 :] else None
    return DecisionRequest(turns[last].content, stated or None, tuple(turns[:last]), reply)


NOT_DEPLOYED = {
    "linear": text(
        "it was fitted to the ratings of the benchmark, {query} by {query}, and knows only the words of a new request"
    ),
    "recorded": "it repeats recorded answers, and has none for a new request",
    "constant:intended": "it returns what a context's author meant, which is unknown for a new request",
}


class NotDeployable(JudgeError):
    """An error: a judge or an arm has no meaning outside the benchmark."""

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


def why_not_deployed(name: str) -> str | None:
    """Return the reason why a judge has no meaning outside the benchmark; None where it has one."""
    return next((why for judge, why in NOT_DEPLOYED.items() if name == judge or name.startswith(f"{judge}:")), None)


def check_deployable(name: str, arm: str) -> None:
    """Refuse a judge, or an arm, that has no meaning outside the benchmark. Raises NotDeployable: with the reason."""
    if why := why_not_deployed(name):
        raise NotDeployable(f"{name} cannot be a decider: {why!s}", reason=why)
    if not Arm.parse(arm).only_omits:
        raise NotDeployable(
            f"the arm {arm!r} cannot be deployed: it changes what a context says; fit on an arm that shows or omits"
        )


def rebuild_judge(part: MeasuredJudge, *, model: ModelOptions = ModelOptions()) -> Judge:
    """Return the judge that `part` describes.

    Raises JudgeError: it cannot be deployed, does not exist here, or is not the one that was measured.
    """
    check_deployable(part.name, part.arm)
    try:
        judge = load_judge(part.name, None, elicitation=part.elicitation, live=live_options(part, model))
    except JudgeError as error:
        raise JudgeError(
            f"{part.name} is not found again by its name: in Python, give the function or the judge itself with judge=. {error}"
        ) from error
    check_same_judge(judge, part)
    return judge


def check_same_judge(judge: Judge, part: MeasuredJudge) -> None:
    """Raise an error if the judge is not the one that was measured."""
    now, measured = (
        {name: canonical_json(value) for name, value in settings.items() if value is not None}
        for settings in (judge.settings(), part.settings)
    )
    if part.wording is not None:
        now["wording"] = judge.wordings((part.elicitation,)).get(part.elicitation, "")
        measured["wording"] = part.wording
    if judge.id == part.id and now == measured:
        return
    differ = sorted(name for name in now.keys() | measured.keys() if now.get(name) != measured.get(name))
    differences = (
        "; ".join(f"{name} was {measured.get(name)!r} and is {now.get(name)!r}" for name in differ)
        or f"its id is {judge.id}"
    )
    again = "without --reader, which no decider has, and" if "reader" in differ else "with it and"
    raise JudgeError(
        f"{part.name} is not the judge that was measured: {differences}. Judge the benchmark {again} fit again"
    )


def live_options(part: MeasuredJudge, model: ModelOptions) -> LiveOptions:
    """Return the address and the options of the model at its measurement."""
    settings = part.settings
    ask_settings = {name: settings[name] for name in AskOptions.__dataclass_fields__ if name in settings}
    noted = settings.get("base_url")
    address = model.base_url or part.base_url or (noted if str(noted).startswith("http") else None)
    if address is None and noted is not None and parse_model_name(part.name)[0] is None:
        raise ConfigurationError(f"the run does not record where on {noted} the model {part.name} was: give --base-url")
    protocol = settings.get("protocol")
    ask = AskOptions() if protocol else AskOptions(**{"structured": False} | ask_settings)
    extra = ExtraOptions.from_settings(settings) if model.extra == ExtraOptions() else model.extra
    reached, role = replace(model, base_url=address, extra=extra, batch=False), settings.get("context_role", "user")
    return LiveOptions(part.prompts, role, ask, reached, protocol, settings.get("policy_text"))


T = TypeVar("T")


class DecisionNumbers(Record):
    """The numbers of a decision, without any text of the request."""

    decision: Decision
    """`answer`, `refuse` or `ask`."""
    id: str
    """The id of the request: the caller's own, or one that was made for it."""
    p_safe: float | None = None
    """The probability that people would say answer; None where the judge gave no value."""
    value: float | None = None
    """The judge's own value."""
    unmeasured: tuple[str, ...] = ()
    """The differences of the request from those that were measured; empty where there are none."""
    failed: str | None = None
    """The reason why the judge gave no value, as a code (`unavailable`, `unparsed`, …); None where it did."""
    categories: tuple[str, ...] | None = None
    """Categories that the judge says apply."""
    latency_s: float = 0.0


class DeciderAnswer(DecisionNumbers):
    """The decision of a decider on a request, with its reason."""

    why: str
    """The reason in a sentence."""

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class Decider:
    """A judge with fitted thresholds.

    Examples
    --------
    >>> decider = Decider.load("decider.json")  # doctest: +SKIP
    >>> decider.decide("How do I pick this lock?", {"recipient": {"type": "locksmith"}}).decision  # doctest: +SKIP
    'answer'
    """

    def __init__(self, file: FittedDecider, judge: Judge, *, file_hash: str = "") -> None:
        self.file, self.judge, self.hash = file, judge, file_hash
        self.arm = Arm.parse(file.judge.arm)
        self.calibrator = file.calibration.curve
        if isinstance(judge, CallableJudge):
            judge.own.works = True  # it was measured: no call waits for the first one, and none that fails is raised

    def __repr__(self) -> str:
        limits = self.file.thresholds
        return f"<Decider {self.file.judge.name}: answers above {limits.answer_above:g}, refuses up to {limits.refuse_up_to:g}>"

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        judge: Judge | Callable[..., Any] | None = None,
        base_url: str | None = None,
        model: ModelOptions = ModelOptions(),
    ) -> Self:
        """Return the decider in `path`, with its judge made anew.

        Parameters
        ----------
        judge
            The judge itself, or the function, where its name does not say how to make it.
        base_url
            The address of its model here; by default the one that it was fitted with, or that of `model`.
        model
            How its model is reached here: timeouts, keys, prices.

        Raises
        ------
        ChecksumMismatch, DataError
            The file was changed, or is none.
        JudgeError
            The judge does not exist here, or is not the one that was measured.
        """
        file, file_hash = read_decider(Path(path))
        if judge is None:
            reached = model if base_url is None else replace(model, base_url=base_url)
            return cls(file, rebuild_judge(file.judge, model=reached), file_hash=file_hash)
        part = file.judge
        if callable(judge) and not hasattr(judge, "answer"):
            judge = CallableJudge(judge, name=part.name, elicitation=part.elicitation)
        complete = judge if isinstance(judge, Judge) else UserJudge(judge)
        check_same_judge(complete, part)
        return cls(file, complete, file_hash=file_hash)

    def save(self, path: str | Path) -> str:
        """Write the decider, without its judge's code, to `path`; its hash."""
        return self.file.save(path)

    def decide(
        self, query: str | DecisionRequest, context: Mapping[str, Any] | str | None = None, *, reply: str | None = None
    ) -> DeciderAnswer:
        """Return the decision on a query in its circumstances, as far as these are known, or on a whole request."""
        work = self.decide_async(query, context, reply=reply)
        if not (self.immediate and is_outside_loop()):
            return self.run_on_loop(work)
        try:
            work.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # what `decide_async` returns
        work.close()
        raise ConfigurationError(f"{self.judge.name} uses await; make it an async function")

    def decide_chat(
        self, messages: Sequence[Mapping[str, Any]], context: Mapping[str, Any] | str | None = None
    ) -> DeciderAnswer:
        """Return the decision on the last message of a chat."""
        return self.decide(from_messages(messages, context))

    def ask(self, request: DecisionRequest) -> DeciderAnswer:
        """Return the decision of `decide` with its reason, for display.

        Raises
        ------
        ModelError
            The judge's model cannot be reached, or does not answer; the message names its address.
        JudgeError
            The judge fails on this request, as a function does that raises an error; the message says where.
        """
        if isinstance(self.judge, CallableJudge):
            self.judge.own.works = False  # what it raises is then said, and not counted as no value
        decided = self.run_on_loop(self.decide_async(request, raises=True))
        if decided.failed == UnscoredReason.JUDGE_FAILED.value:
            raise JudgeError(f"{self.judge.name} failed on this request; casewise judge shows the details")
        if decided.failed == UnscoredReason.UNAVAILABLE.value:
            address = self.judge.endpoint
            where = f" at {address.base_url}" if address else ""
            raise Unavailable(f"{self.judge.name}{where} gave no answer: {decided.why}")
        return decided

    async def decide_async(
        self,
        query: str | DecisionRequest,
        context: Mapping[str, Any] | str | None = None,
        *,
        reply: str | None = None,
        raises: bool = False,
    ) -> DeciderAnswer:
        """Return the decision of `decide`, to await. What is wrong with a model or a judge is raised only where `raises` says so."""
        request = query if isinstance(query, DecisionRequest) else DecisionRequest(query, context, reply=reply)
        if request.reply is not None and not self.judge.reads_replies:
            raise ConfigurationError(f"{self.judge.name} judges requests and cannot be shown a reply")
        unmeasured = request.unmeasured(self.file.measured_on)
        if self.file.refuse_unmeasured and (kinds := request.kind_differences(self.file.measured_on)):
            why = f"unlike the requests that were measured: {'; '.join(kinds)}"
            return DeciderAnswer(decision="refuse", id=request.id, why=why, unmeasured=unmeasured)
        began, elicitation, answer, reason = time.perf_counter(), self.file.judge.elicitation, None, ""
        ask = DeployedAsk(ITEM, QUERY, None, self.arm, elicitation, reply=request.reply, given=request)
        try:
            answer = await self.judge.answer(ask)
        except Exception as error:  # a judge is anybody's code, and its errors may repeat what it was shown
            if isinstance(error, ConfigurationError) or (raises and isinstance(error, (ModelError, JudgeError))):
                raise
            reason = "unavailable" if isinstance(error, ModelError) else "judge_failed"
            reason = "timeout" if isinstance(error, TimeoutError) else reason
        about: dict[str, Any] = {"latency_s": time.perf_counter() - began}
        if answer is None:
            return self.failed_decision(request, reason, unmeasured).model_copy(update=about)
        outcome, limits = answer.outcome, self.file.thresholds
        about["categories"] = answer.categories
        if not isinstance(outcome, Scored):
            return self.failed_decision(request, outcome.reason.value, unmeasured).model_copy(update=about)
        value, scale = outcome.value, scale_of(elicitation)
        value_text = f"the judge's value, {value:.4g} on its scale from {scale.low:g} to {scale.high:g},"
        decision: Decision
        if value > limits.answer_above:
            decision, why = "answer", f"{value_text} is above {limits.answer_above:.4g}"
        elif value <= limits.refuse_up_to:
            to = limits.refuse_up_to
            why = "this decider refuses everything" if to == math.inf else f"{value_text} is not above {to:.4g}"
            decision = "refuse"
        else:
            decision, why = "ask", f"{value_text} lies between {limits.refuse_up_to:.4g} and {limits.answer_above:.4g}"
        if outcome.explanation:
            why = f"{why}; the judge says: {outcome.explanation}"
        p_safe = float(self.calibrator([value])[0])
        return DeciderAnswer(
            decision=decision, id=request.id, p_safe=p_safe, value=value, why=why, unmeasured=unmeasured, **about
        )

    def failed_decision(self, request: DecisionRequest, reason: str, unmeasured: tuple[str, ...] = ()) -> DeciderAnswer:
        """Return the decision for a request on which the judge gave no value."""
        fail = self.file.requirements.fail
        why = f"the judge gave no value ({reason}); for such requests the decider says {fail}"
        return DeciderAnswer(decision=fail, id=request.id, why=why, unmeasured=unmeasured, failed=reason)

    def with_failure_decision(self, fail: Decision) -> Self:
        """Return the same decider with another decision for requests on which the judge gives no value.

        Raises
        ------
        ConfigurationError
            It would break a promise that was fitted with the file's own `fail`.
        """
        promised_kinds = [promised.promise.kind for promised in self.file.thresholds.promised]
        broken = next(
            (
                kind
                for kind in promised_kinds
                if fail in ERRORS[kind] and self.file.requirements.fail not in ERRORS[kind]
            ),
            None,
        )
        if broken is not None:
            raise ConfigurationError(
                f"--fail {fail} breaks the promise of {hyphened(broken)}: it was fitted with "
                f"--fail {self.file.requirements.fail}. Fit again with --fail {fail}"
            )
        requirements = replace(self.file.requirements, fail=fail)
        return type(self)(self.file.model_copy(update={"requirements": requirements}), self.judge, file_hash=self.hash)

    @property
    def hung_calls(self) -> int:
        """The number of abandoned calls of a sync judge function that have not returned."""
        return self.judge.own.n_hung if isinstance(self.judge, CallableJudge) else 0

    @cached_property
    def measured(self) -> dict[str, Any]:
        """The measured shares on held-out queries of the benchmark, with the ends of their intervals."""
        return {estimate.name: estimate.fields() for estimate in self.file.measured.estimates}

    @cached_property
    def immediate(self) -> bool:
        """True if its judge answers at once, so that no event loop is needed."""
        own_function = self.judge.own if isinstance(self.judge, CallableJudge) else None
        return isinstance(self.judge, ConstantJudge) if own_function is None else not own_function.is_async

    def run_on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work` on the event loop of this decider, to which its connections belong."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop in a thread of its own, for synchronous callers."""
        loop = asyncio.new_event_loop()

        def run() -> None:  # its own thread closes the loop: a decider may be collected in any thread, that one too
            try:
                loop.run_forever()
            finally:
                loop.close()

        thread = threading.Thread(target=run, daemon=True, name="casewise-decider")
        thread.start()

        def end() -> None:
            loop.call_soon_threadsafe(loop.stop)
            if thread is not threading.current_thread():
                thread.join()

        self._end_loop = weakref.finalize(self, end)
        return loop

    def close(self) -> None:
        """Close the judge's connections."""
        if "loop" in self.__dict__:
            self.run_on_loop(self.judge.close())
            del self.__dict__["loop"]
            self._end_loop()
        else:
            asyncio.run(self.judge.close())
