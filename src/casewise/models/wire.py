"""The chat-completions protocol: bodies, answers, and what an endpoint accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from casewise.models.choice import WIDE_LOGPROBS, choice_fields
from casewise.models.protocol import Message, Model, Position, Reply, ReplyOptions, TokenLogprob, Usage
from casewise.records.base import escape_all_surrogates

# Capabilities of an endpoint, learnt from its refusals.
#
# Chat-completions servers differ in the parameters that they take. The first call has all that is wanted; a refusal that
# names a parameter is remembered, and that call and all later ones go without it. `probe` learns them with one call.


COMPLAINT = re.compile(
    r"unsupported|not (?:currently )?(?:be )?(?:support|permit|allow|available|enabled)|does(?:n't| not) support"
    r"|unrecogni[sz]ed|input should be|literal_error|unknown|unexpected|extra (?:inputs?|fields?)|only the default|deprecated"
    r"|must be|at most|less than|greater than|too (?:large|many|high)|maximum|out of range|not in (?:the )?(?:range|interval|\[)|invalid",
    re.IGNORECASE,
)
WRONG_NAME = re.compile(r"unsupported|not support|unrecogni|unknown|extra|not permitted|unexpected", re.IGNORECASE)
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
REMOVABLE_PARAMETERS = (
    ("logprobs", "logprobs", r"log[ _]?probs?|logprob"),
    ("temperature", "temperature", r"\btemperature\b"),
    ("response_format", "json_schema", r"response_format|json_schema|structured output|json mode"),
    ("seed", "seed", r"\bseed\b"),
    ("grammar", "choice", r"\bgrammar\b|structured_outputs|guided_choice|\bregex\b"),
)
"""A field of a body, the capability that it needs, and how a refusal names it."""


USUAL_LOGPROBS = 20
"""The most of the chat-completions protocol."""

HALF_OPEN = re.compile(r"[\[(]\s*\d+\s*,\s*(\d+)\s*([\])])|(?:less than|below|<)()\s+(?!or\b)(\d+)", re.IGNORECASE)
"""An interval, or a bound that is not itself allowed."""


def most_allowed(complaint: str, sent: int) -> int | None:
    """Return the largest number below `sent` that a complaint allows; None if it names none."""
    bounds = []
    for closed, bracket, _, below in HALF_OPEN.findall(complaint):
        bounds.append(int(closed or below) - (bracket != "]"))
    bounds = bounds or [int(digits) for digits in re.findall(r"\b\d{1,4}\b", complaint)]
    return max((bound for bound in bounds if 0 < bound < sent), default=None)


@dataclass
class Capabilities:
    """Parameters that may be sent. They only become fewer; the token limit has one of two names."""

    token_limit: str = "max_tokens"
    temperature: bool = True
    logprobs: bool = True
    most_top_logprobs: int = USUAL_LOGPROBS
    json_schema: bool = True
    seed: bool = True
    choice: bool = False
    """True if a reply may be restricted to some words."""
    limit_is_settled: bool = False
    """True if a body with the token limit was answered, or its other name was refused."""

    def learn(self, body: Mapping[str, Any], complaint: str, *, answered: Collection[str] = ()) -> bool:
        """Note what `complaint`, the answer to `body`, refuses. Return whether the call is worth repeating.

        It is, too, if an earlier call has taught the same while this one was under way.

        `answered`: parameters that a body held to which there was a good answer. A complaint that repeats the request
        names them, and does not refuse them.
        """
        if not COMPLAINT.search(complaint):
            return False
        sent = next((name for name in TOKEN_LIMITS if name in body), None)
        if sent and re.search(rf"\b{sent}\b", complaint) and WRONG_NAME.search(complaint):
            if sent != self.token_limit:
                return True
            if not self.limit_is_settled:
                self.token_limit, self.limit_is_settled = TOKEN_LIMITS[1 - TOKEN_LIMITS.index(sent)], True
                return True
        n_sent = body.get("top_logprobs")
        if n_sent and "logprobs" in complaint and (most := most_allowed(complaint, n_sent)) is not None:
            self.most_top_logprobs = min(self.most_top_logprobs, most)
            return True
        for parameter, capability, pattern in REMOVABLE_PARAMETERS:
            if parameter in body and parameter not in answered and re.search(pattern, complaint, re.IGNORECASE):
                setattr(self, capability, False)
                return True
        return False

    def narrower(self, body: Mapping[str, Any]) -> Iterator[Capabilities]:
        """Yield these capabilities without one that `body` needs, for an endpoint that fails without a reason.

        Log probabilities are not among them: a call that needs them is of no use without them.
        """
        for parameter, capability, _ in reversed(REMOVABLE_PARAMETERS):
            if parameter in body and parameter != "logprobs":
                narrower = replace(self)
                setattr(narrower, capability, False)
                yield narrower
        if body.get("top_logprobs", 0) > USUAL_LOGPROBS:
            yield replace(self, most_top_logprobs=USUAL_LOGPROBS)

    @property
    def takes(self) -> frozenset[str]:
        """Options of a reply that may be sent."""
        return frozenset(name for name in ("temperature", "json_schema", "seed") if getattr(self, name))


QUESTION = (Message("user", 'Reply with the JSON object {"ready": true} and nothing else.'),)

SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Probe:
    """The result of a test call. `top_logprobs` is the number of tokens listed at the first position."""

    model: str
    model_version: str | None
    latency_s: float
    temperature: bool
    top_logprobs: int
    json_schema: bool
    seed: bool
    reply: str


async def probe(model: Model) -> Probe:
    """Test all parameters in one call; a refused parameter is left out and the call repeated.

    Raises ModelError: the endpoint does not answer at all, or not to this key or model name.
    """
    options = ReplyOptions(64, 0.0, top_logprobs=20, json_schema=SCHEMA, seed=1)
    reply = await model.reply(QUESTION, options)
    first = reply.token_logprobs[0] if reply.token_logprobs else None
    try:
        fits = isinstance(load_json(reply.text).get("ready"), bool)
    except (ValueError, AttributeError):
        fits = False
    return Probe(
        model=model.name,
        model_version=reply.model_version,
        latency_s=round(reply.latency_s, 3),
        temperature="temperature" in model.takes,
        top_logprobs=len(first.top) if first is not None else 0,
        json_schema="json_schema" in model.takes and fits,
        seed="seed" in model.takes,
        reply=reply.text[:200],
    )


# Bodies of requests and answers. No network here.


class InvalidResponse(ValueError):
    """An answer that is not the JSON of a chat completion, such as a page of HTML."""


@dataclass(frozen=True)
class ServerError:
    """The server's `code` (or type) and message in an error's body."""

    code: str
    message: str


def request_body(
    model: str, messages: Sequence[Message], *, options: ReplyOptions, can: Capabilities
) -> dict[str, Any]:
    """Return the body of a request, with only the parameters that the endpoint may take."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        can.token_limit: options.max_tokens,
    }
    if options.temperature is not None and can.temperature:
        body["temperature"] = options.temperature
    if options.seed is not None and can.seed:
        body["seed"] = options.seed
    if options.json_schema is not None and can.json_schema:
        schema = {"name": "reply", "strict": True, "schema": options.json_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if options.top_p is not None:
        body["top_p"] = options.top_p
    if options.reasoning_effort is not None:
        body["reasoning_effort"] = options.reasoning_effort
    if options.template_arguments is not None:
        body["chat_template_kwargs"] = dict(options.template_arguments)
    if options.prefill is not None:
        body["messages"].append({"role": "assistant", "content": options.prefill})
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if options.top_logprobs and can.logprobs:
        is_choice = options.one_word and can.choice
        body["logprobs"] = True
        body["top_logprobs"] = min(WIDE_LOGPROBS if is_choice else options.top_logprobs, can.most_top_logprobs)
        if is_choice:
            body |= choice_fields(options.first_words)
    return body


LONGEST_NAME = 200
"""Characters that are kept of a model's version, and of why a reply ended."""


def read_reply(text: str) -> Reply:
    """Return the reply in a successful answer's body. Raises InvalidResponse: the body is no chat completion."""
    payload = parse_json(text)
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        content = message.get("content") or ""
        if not isinstance(content, str):  # a list of parts
            texts = (part.get("text") for part in content if part.get("type") in ("text", "output_text"))
            content = "".join(str(text or "") for text in texts)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InvalidResponse("the answer has no choices[0].message") from error
    thought = THOUGHT.match(content)
    reasoning = optional_text(message.get("reasoning_content") or message.get("reasoning"))
    versions = (optional_text(payload.get(key)) for key in ("model", "system_fingerprint"))
    return Reply(
        text=content[thought.end() :] if thought else content,
        finish_reason=(optional_text(choice.get("finish_reason")) or "")[:LONGEST_NAME] or None,
        token_logprobs=read_logprobs(choice.get("logprobs")),
        usage=read_usage(payload.get("usage"), wrote=bool(content or reasoning)),
        model_version="@".join(filter(None, versions))[:LONGEST_NAME] or None,
        reasoning=reasoning or (thought["thought"].strip() if thought else None),
        refusal=optional_text(message.get("refusal")),
    )


def parse_json(text: str) -> dict[str, Any]:
    try:
        payload = load_json(text)
    except ValueError as error:
        raise InvalidResponse(f"the answer is {describe_body(text)}, not JSON") from error
    if not isinstance(payload, dict):
        raise InvalidResponse(f"the answer is a JSON {type(payload).__name__}, not an object")
    return payload


MAY_BE_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def load_json(text: str) -> Any:
    """Return the JSON in `text`, with half characters written as escapes.

    Raises ValueError: it is no JSON, or is nested deeper than any answer.
    """
    try:
        payload = json.loads(text)
        return escape_all_surrogates(payload) if MAY_BE_HALF.search(text) else payload
    except RecursionError as error:
        raise ValueError("the JSON is nested too deep") from error


def describe_body(text: str) -> str:
    if not text.strip():
        return "empty"
    return "a page of HTML" if re.match(r"\s*<", text) else "cut off or garbled"


THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>(?P<thought>.*?)(?:</\1>\s*|\Z)", re.DOTALL)
"""Reasoning at the beginning of a reply, which may be cut off in it."""


MOST_TOKENS = 2**31 - 1


def token_count(value: Any) -> int | None:
    """Return a number of tokens; None if it is none that can be meant."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def read_usage(usage: Any, *, wrote: bool) -> Usage:
    """Return the largest usage that an answer's `usage` can mean. An impossible number, such as an empty prompt, is not
    reported.

    Some providers count reasoning outside of `completion_tokens`. So output is the larger of that and the total without
    the prompt; without a total, reasoning is added.

    `wrote`: whether the reply has words, for which there must be tokens.
    """
    if not isinstance(usage, Mapping):
        return Usage()
    sent, completion, total = (
        token_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    details = [usage.get(f"{name}_tokens_details") for name in ("prompt", "completion")]
    of_prompt, of_completion = (detail if isinstance(detail, Mapping) else {} for detail in details)
    reasoning = token_count(of_completion.get("reasoning_tokens")) or token_count(usage.get("reasoning_tokens")) or 0
    outputs = [total - (sent or 0)] if total is not None and total >= (sent or 0) else []
    if completion is not None:
        outputs.append(completion + (reasoning if total is None or reasoning > completion else 0))
    replied = max(outputs, default=None)
    cached = token_count(of_prompt.get("cached_tokens")) or token_count(usage.get("prompt_cache_hit_tokens")) or 0
    return Usage(sent or None, replied or (None if wrote else replied), min(cached, sent or 0))


def optional_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def read_logprobs(logprobs: Any) -> tuple[Position, ...] | None:
    """Return positions from either form in use: `content` (a list of tokens with their rivals), or the older parallel lists
    `tokens`, `token_logprobs` and `top_logprobs`. None if there are none, or they are no numbers."""
    try:
        if not logprobs:
            return None
        if content := logprobs.get("content"):
            rows = [
                (entry["token"], entry["logprob"], [(rival["token"], rival["logprob"]) for rival in rivals])
                for entry in content
                for rivals in (entry.get("top_logprobs") or (),)
            ]
        elif tokens := logprobs.get("tokens"):
            rivals = [list((rival or {}).items()) for rival in logprobs.get("top_logprobs") or [{}] * len(tokens)]
            rows = list(zip(tokens, logprobs["token_logprobs"], rivals, strict=False))
        else:
            return None
    except (KeyError, TypeError, AttributeError):
        return None
    positions = []
    for row in rows:
        if (place := position(*row)) is None:
            break  # what follows has no place in the reply any more
        positions.append(place)
    return tuple(positions) or None


def position(token: Any, logprob: Any, rivals: Iterable[tuple[Any, Any]]) -> Position | None:
    """Return a position; None without any number. An alternative without one is left out: it is no likelier than those
    listed."""
    numbers = [(str(name), number) for name, value in rivals if (number := finite_logprob(value)) is not None]
    own_logprob = finite_logprob(logprob)
    own_logprob = dict(numbers).get(str(token)) if own_logprob is None else own_logprob
    if own_logprob is None and not numbers:
        return None
    top = sorted((TokenLogprob(*number) for number in numbers), key=lambda rival: -rival.logprob)
    return Position(str(token), LEAST_LOGPROB if own_logprob is None else own_logprob, tuple(top))


LEAST_LOGPROB, MOST_LOGPROB = -1e4, 0.01
"""Infinitely little, and what rounding can make of certainty."""


def finite_logprob(value: Any) -> float | None:
    """Return a log probability; None for any other value. Minus infinity becomes a large negative number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(number, LEAST_LOGPROB), 0.0) if number <= MOST_LOGPROB else None


def read_error(text: str) -> ServerError:
    """Return the code and the message in an error's body, whatever its shape; at most 300 characters."""
    try:
        payload = load_json(text)
    except ValueError:
        return ServerError("", describe_body(text) if re.match(r"\s*(<|$)", text) else text.strip()[:300])
    error = payload
    if isinstance(payload, list) and payload:
        error = payload[0]
    if isinstance(error, Mapping):
        error = error.get("error") or error.get("detail") or error
    if not isinstance(error, Mapping):
        return ServerError("", (error if isinstance(error, str) else json.dumps(error))[:300])
    code = " ".join(str(error[key]) for key in ("code", "type", "status") if error.get(key))
    return ServerError(code, str(error.get("message") or json.dumps(error))[:300])
