"""Generating the contexts of a draft with a model."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from cyclopts.types import PositiveInt
from sqlalchemy import func, literal, select

from casewise.ask.json_objects import top_objects
from casewise.ask.layouts import conversation, filled
from casewise.ask.prompts import NOTHING_BEFORE
from casewise.ask.reader import refuses
from casewise.contexts.checks import Wording
from casewise.contexts.drafts import INTENTS, BenchmarkDraft, checked_intent
from casewise.contexts.flows import VARIED, is_flow, varied_parameters, with_groups_of
from casewise.contexts.review import Act, NotAllowed, Phase, ReviewAction
from casewise.contexts.store import act, all_places
from casewise.database import Database
from casewise.database.engine import job_lock
from casewise.database.tables import review as tables
from casewise.errors import ConfigurationError, one_of
from casewise.models.asker import ChatAsker, NoReplyReason
from casewise.models.prices import Prices, Spend, spend_of
from casewise.models.protocol import Message, Model, Reply, ReplyFunction, ReplyOptions, Usage, user_messages
from casewise.notation import spoken
from casewise.options import Hidden
from casewise.records import Category, ParameterSet, Query, Record, paper_parameters
from casewise.records.base import digest, read_record, shipped_toml
from casewise.records.call import Call
from casewise.runs.batch import BatchOptions  # noqa: F401  (cyclopts looks types of inherited fields up here)
from casewise.runs.engine import Asks, RunLog, separate_calls
from casewise.runs.limits import InFlight, Limits, RunObserver, RunProgress  # noqa: F401
from casewise.runs.run import CallEstimate, CallingOptions, default_folder, estimate_calls, new_session, perform

# How contexts are asked for: our own wording, versioned and replaceable, in the order of CASE-Bench (section
# 4.2).


REQUIRED_SLOTS = ("query", "intent", "parameters", "format")
DEFAULT_PROMPT = "casewise"
NO_RISKS = "the answer may be misused, or harm whoever acts on it"


class ContextPrompt(Record):
    """The wording with which a context is asked for, under one name and version."""

    name: str
    version: str
    about: str | None = None
    """What it follows, and where it differs from the paper and why."""
    template: str
    intents: dict[str, str]
    """`safe` and `unsafe` to what the circumstances must be like."""
    parameters: dict[str, str]
    """Dotted names to what each parameter means."""

    @property
    def id(self) -> str:
        """Name, version and a digest of the wording, so that an edited file is another prompt."""
        return f"{self.name}@{self.version}+{digest([self.template, self.intents, self.parameters])[:8]}"

    def messages(
        self,
        query: Query,
        category: Category | None,
        *,
        intended_safe: bool,
        parameters: ParameterSet = paper_parameters(),
        beside: Wording | None = None,
    ) -> tuple[Message, ...]:
        """Return the messages to the model. Substitution is a single pass: a query's braces stay as they are.

        `beside`: the words that the other context of an action has.

        What a parameter stands for is what its set says, else this prompt, else its name in words.
        """
        meanings = {name: spoken(name.rpartition(".")[2]) for name in parameters.names}
        meanings |= {**self.parameters, **parameters.meanings}
        values = {
            "query": query.text,
            "category": query.category,
            "risks": (category.risks if category else None) or NO_RISKS,
            "intent": self.intents["safe" if intended_safe else "unsafe"],
            "parameters": "\n".join(f"- {name}: {meanings[name]}" for name in parameters.names),
            "format": json.dumps(form_of(parameters, "..."), indent=1),
            "before": conversation(query.before or ()) or NOTHING_BEFORE,
            "beside": "\n".join(f"- {name}: {text}" for name, text in (beside.fields() if beside else {}).items())
            or "(none)",
        }
        return user_messages(filled(self.template.strip(), values))


def form_of(parameters: ParameterSet, content: Any) -> dict[str, dict[str, Any]]:
    """Return the object that a reply states, with `content` for every parameter."""
    form: dict[str, dict[str, Any]] = {}
    for name in parameters.names:
        group, parameter = name.split(".")
        form.setdefault(group, {})[parameter] = content
    return form


def context_schema(parameters: ParameterSet = paper_parameters()) -> dict[str, Any]:
    """Return the JSON schema of a reply: every parameter a text, and nothing else."""

    def object_of(properties: dict[str, Any]) -> dict[str, Any]:
        closed = {"required": list(properties), "additionalProperties": False}
        return {"type": "object", "properties": properties, **closed}

    groups = form_of(parameters, {"type": "string"}).items()
    return object_of({group: object_of(properties) for group, properties in groups})


PROMPTS: Mapping[str, str] = {DEFAULT_PROMPT: "prompts", "paper": "paper", "actions": "actions"}
"""The wordings that casewise ships, by name: for requests and replies, with the paper's definitions, and for actions."""


@cache
def shipped_prompt(name: str = DEFAULT_PROMPT) -> ContextPrompt:
    """Return the shipped wording of this name."""
    return ContextPrompt.model_validate(shipped_toml("casewise.contexts.writing", f"{PROMPTS[name]}.toml"))


def named_prompt(name: str, parameters: ParameterSet = paper_parameters()) -> ContextPrompt:
    """Return a shipped wording by its name, or the user's own by its path. Raises as `read_prompt`."""
    return shipped_prompt(name) if name in PROMPTS else read_prompt(Path(name), parameters)


def read_prompt(path: Path, parameters: ParameterSet = paper_parameters()) -> ContextPrompt:
    """Return a wording of the user's own, in the form of `contexts/writing/prompts.toml`, for contexts that state `parameters`.

    Raises DataError: the file cannot be read or is no prompt. ConfigurationError: something is missing in its texts;
    the message names it.
    """
    prompt = read_record(path, ContextPrompt, "a prompt")
    lacking = [f"{{{key}}}" for key in REQUIRED_SLOTS if f"{{{key}}}" not in prompt.template]
    lacking += [f"intents.{intent}" for intent in INTENTS if intent not in prompt.intents]
    meanings = {*prompt.parameters, *parameters.meanings}
    lacking += [f"parameters.{name!r}" for name in parameters.names if name not in meanings]
    if lacking:
        raise ConfigurationError(f"{path}: the prompt {prompt.name!r} lacks {', '.join(lacking)}")
    return prompt


# A model's reply as the words of a context, or a reason why there are none. A bad reply is data, not an error.


POLICY = re.compile(r"\bagainst my (?:guidelines|policies)\b", re.IGNORECASE)
LONGEST_TEXT = 4000
LOOPS = 4
"""Number of times that a phrase of `PHRASE` words may stand in one text before it counts as a loop."""
PHRASE = 6
ENDED_EARLY = {
    "length": ("truncated", "the reply was cut off at its longest allowed length"),
    "content_filter": ("content filter", "the endpoint filtered the reply"),
}
"""The reason, in short and in words, by how the endpoint says that a reply ended."""


class WrittenContext(Call):
    """The result of a call for a context. It is kept as an event in the history of the place."""

    wording: Wording | None = None
    ignored: tuple[str, ...] = ()
    """Keys of the reply that the prompt does not ask for."""
    reason: str | None = None
    """The reason why there are no words, such as `refused`, `truncated` or `content filter`."""
    detail: str = ""
    raw_reply: str | None = None
    n_tries: int = 1

    @property
    def failure(self) -> str | None:
        return f"{self.reason}: {self.detail}" if self.reason else None

    @property
    def tries(self) -> int:
        return self.n_tries


def read_context(reply: Reply, parameters: ParameterSet = paper_parameters()) -> WrittenContext:
    """Return the context in `reply`, which was to state all of `parameters`, or why there is none.

    The reply may wrap its one JSON object in prose or a code fence. A parameter that is missing, empty or no text
    makes it fail; unrequested keys are left out and named.
    """

    def failed(reason: str, detail: str) -> WrittenContext:
        return WrittenContext(reason=reason, detail=" ".join(detail.split())[:200])

    def declines(text: str) -> bool:
        return refuses(text) or POLICY.search(text) is not None

    if reply.finish_reason in ENDED_EARLY:
        return failed(*ENDED_EARLY[reply.finish_reason])
    objects = list(top_objects(reply.text))
    if not objects:
        if reply.refusal or declines(reply.text):
            return failed("refused", reply.refusal or reply.text)
        if reply.text.count("{") > reply.text.count("}"):
            return failed("truncated", "the JSON object does not end")
        return failed("no JSON", reply.text.strip() or "the reply is empty")
    if any(another != objects[0] for another in objects[1:]):
        return failed("several contexts", f"there are {len(objects)} different JSON objects in the reply")
    if (refusal := next(filter(declines, texts_in(objects[0])), None)) is not None:
        return failed("refused", refusal)
    stated, ignored = flatten_values(objects[0], parameters.names)
    if wrong := [name for name, text in stated.items() if not isinstance(text, str)]:
        return failed("not a text", f"each of these must be a text: {', '.join(wrong)}")
    if missing := [name for name in parameters.names if not stated.get(name, "").strip()]:
        return failed("parameters missing", ", ".join(missing))
    if (repetition := repeats(stated)) is not None:
        return failed("repeats itself", repetition)
    return WrittenContext(wording=Wording.from_fields(stated, parameters), ignored=tuple(ignored))


def texts_in(value: object) -> Iterator[str]:
    """Yield every text in a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def flatten_values(value: dict[str, Any], names: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """Return the values by dotted name, and the unrequested names.

    The key `Transmission Principle` is `transmission_principle`.
    """
    stated: dict[str, Any] = {}
    ignored: list[str] = []
    for group, inner in value.items():
        for key, text in (inner if isinstance(inner, dict) else {"": inner}).items():
            parts = (re.sub(r"[\s_-]+", "_", part.strip().lower()) for part in (group, key))
            name = ".".join(filter(None, parts))
            if name in names:
                stated[name] = text
            else:
                ignored.append(name)
    return stated, ignored


def repeats(stated: dict[str, str]) -> str | None:
    """Return the text that is repeated too often, or None."""
    for name, text in stated.items():
        if len(text) > LONGEST_TEXT:
            return f"{name} has {len(text)} characters"
        words = text.lower().split()
        phrases = Counter(" ".join(words[at : at + PHRASE]) for at in range(len(words) - PHRASE + 1))
        if phrases and (most := phrases.most_common(1)[0])[1] >= LOOPS:
            return f"{name} repeats {most[0]!r} {most[1]} times"
    texts = Counter(" ".join(text.lower().split()) for text in stated.values())
    text, count = texts.most_common(1)[0]
    return f"{count} parameters have the same text: {text[:80]!r}" if count > 2 else None


# Models that cost nothing and write contexts: one that behaves, and one that does all that models do wrong.


PLACES = ("a training centre", "a town library", "an evening school", "a repair shop", "a theatre", "a newspaper")
WORK = ("an instructor", "a librarian", "an apprentice", "a retired engineer", "a stage manager", "a trainee editor")
TIMES = ("before a course on Monday", "within the week", "at no particular time", "before a meeting this afternoon")
READERS = ("Only the two people in the room see it", "It is deleted after a month", "The operator keeps it for a year")


def rehearsed_context(messages: tuple[Message, ...], options: ReplyOptions) -> dict[str, dict[str, str]]:
    """Return a well-formed context of the parameters asked for, the same for the same prompt. Its words mean nothing."""
    prompt = "\n".join(message.content for message in messages)
    number = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=8).digest(), "big")
    query = re.search(r"<request>\s*(.*?)\s*</request>", prompt, re.DOTALL)
    topic = " ".join(query[1].split()[:3]) if query else "something"
    place, work = PLACES[number % 6], WORK[number // 6 % 6]
    samples = {
        "nature_of_the_interaction": f"A conversation at {place}, rehearsal {number % 100_000}, in which it came up: {topic}",
        "platform_type": f"An assistant that {place} runs for its members",
        "type": f"{work[0].upper()}{work[1:]}",
        "background": f"Has been {work} for {number // 36 % 30 + 1} years, as the records of {place} show",
        "urgency": f"Wanted {TIMES[number // 1080 % 4]}",
        "sender_purpose": f"To help the members of {place} with questions from their work",
        "confidentiality": READERS[number // 4320 % 3],
        "source_accountability": f"The staff of {place} answer for what it says",
    }
    groups = (options.json_schema or context_schema())["properties"]
    return {
        group: {
            name: samples.get(name, f"Of {place}, {number % 100_000}: {spoken(name)}") for name in value["properties"]
        }
        for group, value in groups.items()
    }


def well_formed_reply(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
    text = json.dumps(rehearsed_context(messages, options))
    return Reply(text, "stop", usage=Usage(len(messages[0].content) // 4, len(text) // 4), model_version="rehearsal-1")


def faulty_reply(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
    """Return a reply that goes wrong in one of six ways half of the time; a second attempt (another seed) may succeed."""
    context: dict[str, Any] = rehearsed_context(messages, options)
    text, key = json.dumps(context), f"{messages[0].content}{options.seed}"
    number = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big")
    match number // 2 % 6 if number % 2 else None:
        case 0:
            text = "I'm sorry, but I can't help with that."
        case 1:
            text = "Imagine a quiet library in the afternoon. A person comes in and asks."
        case 2:
            list(context.values())[-1].popitem()
            text = json.dumps(context)
        case 3:
            text = f"Here you are:\n```json\n{json.dumps(context | {'verdict': 'safe'})}\n```"
        case 4:
            return Reply(text[: len(text) // 2], "length")
        case 5:
            group = next(iter(context.values()))
            group[list(group)[-1]] = "It runs on a platform that runs on a platform. " * 12
            text = json.dumps(context)
    return Reply(text, "stop")


REHEARSALS: Mapping[str, ReplyFunction] = {"fake/contexts": well_formed_reply, "fake/misbehaving": faulty_reply}
"""The rehearsal models: `fake/contexts` behaves, `fake/misbehaving` does not."""


# A draft in the database as the log of a run: every call for a context is an event in its history.


RAW_KEPT = 20_000
"""Characters of a raw reply kept in the history."""


@dataclass(frozen=True)
class WantedContext:
    """A place that a context is wanted for."""

    place_id: str
    query: Query
    intended_safe: bool
    beside: Wording | None = None
    """The right text of the same action, from which the wrong one differs in recipient and purpose alone."""
    tried: int = 0
    """Calls for it in earlier runs; it makes the seed, so that a new run asks for something new."""
    attempt: int = 0

    @property
    def key(self) -> tuple[str]:
        """The place."""
        return (self.place_id,)


class DraftLog(RunLog[WantedContext, WrittenContext]):
    """The history of a draft's contexts. A place that has words is not asked for, so nothing need be looked up in it."""

    def __init__(self, database: Database, draft: BenchmarkDraft, writer: Writer, jobs: Path) -> None:
        super().__init__(jobs, InFlight(jobs))
        self.database, self.by, self.prompt = database, writer.name, writer.prompt
        session = new_session(writer.how.limits, command=writer.how.command)
        self.about = {
            **writer.settings(),
            "session": session.model_dump(mode="json", include={"started", "versions"}),
        }
        """What each event says of how its words were asked for."""
        self.failures: dict[str, str] = {}
        """Places whose last attempt gave no words, and why."""
        events, contexts = tables.events.c, tables.contexts.c
        costs = (events.detail[name].as_float() for name in ("cost_usd", "assumed_cost_usd"))
        tokens = (events.detail[name].as_integer() for name in ("input_tokens", "output_tokens", "assumed_tokens"))
        cost, count = (
            sum((func.coalesce(func.sum(amount), 0) for amount in amounts), literal(0)) for amounts in (costs, tokens)
        )
        sums = (
            select(cost, count)
            .select_from(tables.events.join(tables.contexts, contexts.id == events.context_id))
            .where(contexts.draft_id == draft.id, events.act.in_([Act.GENERATE, Act.FAIL]))
        )
        with database.read() as connection:
            spent = connection.execute(sums).one()
        self.spent = Spend(float(spent[0]), int(spent[1]))

    def write(self, ask: WantedContext, answer: WrittenContext) -> None:
        self.spent += spend_of(answer)
        detail = {**self.about, "prompt": self.prompt(ask.query).id, "attempt": ask.attempt + 1}
        if answer.ignored:
            detail["ignored"] = list(answer.ignored)
        if answer.raw_reply is not None:
            names = ("model_version", "input_tokens", "output_tokens", "cost_usd")
            detail |= {"raw_reply": answer.raw_reply[:RAW_KEPT], **{name: getattr(answer, name) for name in names}}
        if answer.assumed_tokens:
            detail |= {"assumed_cost_usd": answer.assumed_cost_usd, "assumed_tokens": answer.assumed_tokens}
        if answer.reason is None:
            action = ReviewAction(by=self.by, act=Act.GENERATE, wording=answer.wording)
            self.failures.pop(ask.place_id, None)
        else:
            action = ReviewAction(by=self.by, act=Act.FAIL, reason=answer.failure)
            self.failures[ask.place_id] = answer.reason
        # A version that was written or generated meanwhile stays.
        with suppress(NotAllowed), self.database.write() as connection:
            act(connection, ask.place_id, action, seen=None, now=datetime.now(UTC), detail=detail)


# Generating the contexts of a draft: a durable run whose log is the draft's history in the database.
#
# What was generated is never asked for again, so that an interrupted run simply goes on.


CONTEXTS_TO_WRITE = ("missing", "new", "failed", "beyond repair")

TYPICAL_CONTEXT_TOKENS = 180
"""Average length of the demo's contexts, at four characters a token."""


@dataclass(frozen=True, kw_only=True)
class GenerationOptions(CallingOptions):
    """Options of generation; limits count over everything that was ever generated for the draft."""

    intents: str = "safe,unsafe"
    """Intents of the contexts: safe, unsafe, or both, separated by a comma."""
    which: str = "missing"
    """Contexts to write: missing, new, failed, or 'beyond repair' (replaces those)."""
    attempts: PositiveInt = 2
    """Maximum number of calls for one context."""
    temperature: float = 1.0
    """Sampling temperature of the model."""
    prompts: str = DEFAULT_PROMPT
    """The prompt: casewise, paper (the paper's definitions and detail), or a TOML file with your own."""
    max_tokens: Hidden[int] = 1500
    prices: Hidden[Prices | None] = None
    """Prices of tokens, if no public list has them."""
    patience: Hidden[int] = 30
    """Stop the run after this many calls in a row fail, each after its retries."""
    jobs: Hidden[Path | None] = None
    """The folder of the batch jobs: by default one for the draft and the model under `runs`."""

    def __post_init__(self) -> None:
        one_of(self.which, CONTEXTS_TO_WRITE, "which")
        _ = self.safe_intents

    @property
    def safe_intents(self) -> set[bool]:
        """The intents to write: safe contexts, unsafe ones or both. Raises ConfigurationError: there is no such intent."""
        return {checked_intent(intent.strip()) for intent in self.intents.split(",")}


@dataclass(kw_only=True)
class GenerationSummary(RunProgress):
    """The result of a run."""

    unusable: ClassVar[str] = "failed"

    failed: Counter[str] = field(default_factory=Counter)
    """Contexts without words in the end, by reason."""

    def as_json(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "generated": self.n_usable,
            "failed": dict(self.failed),
            "calls": self.n_calls,
            "tokens": self.input_tokens + self.output_tokens,
            "cost_usd": self.cost_usd or 0.0,
            "stopped": self.stopped,
            **({"pending": self.n_pending} if self.n_pending else {}),
        }


async def generate(
    database: Database,
    draft: BenchmarkDraft,
    model: Model,
    *,
    options: GenerationOptions | None = None,
    watch: RunObserver | None = None,
) -> GenerationSummary:
    """Generate what `options.which` names; the same call later goes on with what is left.

    A first Ctrl-C lets what is in flight finish and returns. Raises ModelError: no further call can succeed; what was
    generated before is kept; RunConflict: another process generates contexts of this draft; ConfigurationError: there
    is a cost limit, and the model's price is not known.
    """
    options = options or GenerationOptions()
    writer, progress = Writer(draft, model, options), GenerationSummary()
    try:
        with job_lock(database, f"generating {draft.name}"):
            jobs = options.jobs or default_folder(f"{draft.name}-contexts-{model.name}")
            log = DraftLog(database, draft, writer, jobs)
            for wrong in (False, True):  # the wrong text of an action is asked for beside its right one
                plan = plan_of(database, draft, options, wrong=wrong)
                if plan.size or not wrong:
                    await perform(
                        writer, writer.answer, plan, nullcontext(log), options=options, progress=progress, watch=watch
                    )
                if progress.stopped:
                    break
        progress.failed = Counter(log.failures.values())
        return progress
    finally:
        await model.close()


def estimate_generation(
    database: Database, draft: BenchmarkDraft, model: Model, options: GenerationOptions | None = None
) -> CallEstimate:
    """Estimate the cost if every first attempt succeeded. No call is made."""
    options = options or GenerationOptions()
    return estimate_calls(Writer(draft, model, options), plan_of(database, draft, options))


def plan_of(
    database: Database, draft: BenchmarkDraft, options: GenerationOptions, *, wrong: bool | None = None
) -> Asks[WantedContext]:
    """Return the places that contexts are wanted for; the wrong texts of actions alone, or all others, where `wrong` says so.

    A wrong text is wanted once its action has a right one.
    """
    phase = Phase.BEYOND_REPAIR if options.which == "beyond repair" else Phase.MISSING
    with_problem = {"new": {False}, "failed": {True}}.get(options.which, {True, False})
    with database.read() as connection:
        places = all_places(connection, draft.id)
    right = {place.query.id: place.state.wording for place in places if place.intended_safe}
    wanted: list[WantedContext] = []
    for place in places:
        state, query = place.state, place.query
        chosen = place.intended_safe in options.safe_intents and (state.problem is not None) in with_problem
        is_wrong = is_flow(query, draft.parameters) and not place.intended_safe
        beside = right.get(query.id) if is_wrong else None
        in_turn = wrong is None or (is_wrong is wrong and (beside is not None or not is_wrong))
        if state.phase == phase and chosen and in_turn:
            wanted.append(WantedContext(place.id, query, place.intended_safe, beside=beside, tried=place.seq))
    return separate_calls(wanted, retries=options.attempts - 1)


class Writer(ChatAsker[WantedContext, WrittenContext]):
    """Has one model write contexts."""

    usual_tokens = TYPICAL_CONTEXT_TOKENS

    def __init__(self, draft: BenchmarkDraft, model: Model, how: GenerationOptions) -> None:
        super().__init__(model, how.prices, patience=how.patience)
        self.draft, self.how = draft, how
        self.own_prompt = None if how.prompts == DEFAULT_PROMPT else named_prompt(how.prompts, draft.parameters)

    def prompt(self, query: Query) -> ContextPrompt:
        """Return the wording with which contexts of a query are asked for."""
        return self.own_prompt or shipped_prompt("actions" if is_flow(query, self.draft.parameters) else DEFAULT_PROMPT)

    def parameters(self, request: WantedContext) -> ParameterSet:
        """Return the parameters that are asked for: those that vary, where the others are given."""
        return self.draft.parameters if request.beside is None else varied_parameters(self.draft.parameters)

    def settings(self) -> dict[str, Any]:
        return {"model": self.model.settings(), "temperature": self.how.temperature}

    def messages(self, request: WantedContext) -> tuple[Message, ...]:
        category = self.draft.taxonomy.resolve(request.query.category)
        return self.prompt(request.query).messages(
            request.query,
            category,
            intended_safe=request.intended_safe,
            parameters=self.parameters(request),
            beside=request.beside,
        )

    def reply_options(self, request: WantedContext) -> ReplyOptions:
        return ReplyOptions(
            max_tokens=self.how.max_tokens,
            temperature=self.how.temperature,
            json_schema=context_schema(self.parameters(request)),
            seed=request.tried + request.attempt + 1,  # every attempt has a seed of its own
        )

    def read(self, wanted: WantedContext, reply: Reply, call_fields: dict[str, Any]) -> WrittenContext:
        written = read_context(reply, self.parameters(wanted))
        if wanted.beside is not None and written.wording is not None:
            # what does not vary is as in the text beside it
            whole = with_groups_of(wanted.beside, written.wording, self.draft.parameters, *VARIED)
            written = written.model_copy(update={"wording": whole})
        return written.model_copy(update={"raw_reply": reply.text, "n_tries": reply.attempts, **call_fields})

    def unanswered(
        self, _wanted: WantedContext, reason: NoReplyReason, detail: str, /, **call_fields: Any
    ) -> WrittenContext:
        return WrittenContext(reason=spoken(reason), detail=detail, **call_fields)
