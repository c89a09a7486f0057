"""The chat-completions protocol: bodies, answers, and what an endpoint accepts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from casewise.models.protocol import Message, Model, Position, Reply, ReplyOptions, TokenLogprob, Usage
from casewise.records.base import all_writable

# What an endpoint can do, learnt from its own complaints.
#
# Chat-completions servers differ in which parameters they take. The first call asks for all that is wanted; a refusal
# that names a parameter is remembered, and that call and all later ones go without it. `probe` finds out with one call.


COMPLAINT = re.compile(
    r"unsupported|not (?:currently )?(?:be )?(?:support|permit|allow|available|enabled)|does(?:n't| not) support"
    r"|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs?|fields?)|only the default|deprecated"
    r"|must be|at most|less than|greater than|too (?:large|many|high)|maximum|out of range|invalid",
    re.IGNORECASE,
)


@dataclass
class Capabilities:
    """What may be sent. Changes only from more to less, apart from the name of the token limit."""

    token_limit: str = "max_tokens"
    temperature: bool = True
    logprobs: bool = True
    most_top_logprobs: int = 20
    json_schema: bool = True
    seed: bool = True

    def learn(self, body: Mapping[str, Any], complaint: str) -> bool:
        """Note what `complaint`, the answer to `body`, says cannot be done. True if the call is worth repeating.

        It is also when an earlier call has taught the same while this one was under way.
        """
        if not COMPLAINT.search(complaint):
            return False
        return any(lesson(self, body, complaint) for lesson in LESSONS)

    @property
    def takes(self) -> frozenset[str]:
        """The options of a reply that may be sent."""
        return frozenset(name for name in ("temperature", "json_schema", "seed") if getattr(self, name))

    def settings(self) -> dict[str, Any]:
        """What was learnt, for the notes of a run's session."""
        return dict(vars(self))


Lesson = Callable[[Capabilities, Mapping[str, Any], str], bool]


def about_token_limit(capabilities: Capabilities, body: Mapping[str, Any], complaint: str) -> bool:
    names = ("max_tokens", "max_completion_tokens")
    sent = next((name for name in names if name in body), None)
    if sent is None or not re.search(rf"\b{sent}\b", complaint):
        return False
    wrong_name = re.search(
        r"unsupported|not support|unrecogni|unknown|extra|not permitted|unexpected", complaint, re.IGNORECASE
    )
    if not wrong_name:
        return False
    capabilities.token_limit = names[1 - names.index(sent)]
    return True


def about_top_logprobs(capabilities: Capabilities, body: Mapping[str, Any], complaint: str) -> bool:
    sent = body.get("top_logprobs")
    if not sent or "logprobs" not in complaint:
        return False
    bounds = [int(digits) for digits in re.findall(r"\b\d{1,2}\b", complaint) if 0 < int(digits) < sent]
    if not bounds:
        return False
    capabilities.most_top_logprobs = min(capabilities.most_top_logprobs, max(bounds))
    return True


def about(field: str, attribute: str, pattern: str) -> Lesson:
    """A lesson that drops `field` from all later calls when a complaint matches `pattern`."""

    def lesson(capabilities: Capabilities, body: Mapping[str, Any], complaint: str) -> bool:
        if field not in body or not re.search(pattern, complaint, re.IGNORECASE):
            return False
        setattr(capabilities, attribute, False)
        return True

    return lesson


LESSONS: tuple[Lesson, ...] = (
    about_token_limit,
    about_top_logprobs,
    about("logprobs", "logprobs", r"log[ _]?probs?|logprob"),
    about("temperature", "temperature", r"\btemperature\b"),
    about("response_format", "json_schema", r"response_format|json_schema|structured output|json mode"),
    about("seed", "seed", r"\bseed\b"),
)


QUESTION = (Message("user", 'Reply with the JSON object {"ready": true} and nothing else.'),)

SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Probe:
    """What one call showed. `top_logprobs` is how many tokens were listed at the first position; 0 is none."""

    model: str
    model_version: str | None
    latency_s: float
    temperature: bool
    top_logprobs: int
    json_schema: bool
    seed: bool
    reply: str

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


async def probe(model: Model) -> Probe:
    """Ask for everything at once, in one call; a refused parameter is left out and the call repeated.

    Raises ModelError: the endpoint does not answer at all, or not to this key or model name.
    """
    options = ReplyOptions(64, 0.0, top_logprobs=20, json_schema=SCHEMA, seed=1)
    reply = await model.reply(QUESTION, options)
    first = reply.token_logprobs[0] if reply.token_logprobs else None
    return Probe(
        model=model.name,
        model_version=reply.model_version,
        latency_s=round(reply.latency_s, 3),
        temperature="temperature" in model.takes,
        top_logprobs=len(first.top) if first is not None else 0,
        json_schema="json_schema" in model.takes and fits(reply),
        seed="seed" in model.takes,
        reply=reply.text[:200],
    )


def fits(reply: Reply) -> bool:
    try:
        return isinstance(json.loads(reply.text).get("ready"), bool)
    except (ValueError, AttributeError):
        return False


# The chat-completions protocol: a request's body, and what an answer's body says. No network here.


class WrongShape(ValueError):
    """An answer that is not the JSON of a chat completion: a page of HTML, a torn body, other keys."""


@dataclass(frozen=True)
class ServerError:
    """What an error's body says: the server's `code` (or type), and its words."""

    code: str
    message: str


def request_body(
    model: str, messages: Sequence[Message], *, options: ReplyOptions, can: Capabilities
) -> dict[str, Any]:
    """The body of a request, holding only what the endpoint is known to take."""
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
    if options.top_k is not None:
        body["top_k"] = options.top_k
    if options.template_arguments is not None:
        body["chat_template_kwargs"] = dict(options.template_arguments)
    if options.prefill is not None:
        body["messages"].append({"role": "assistant", "content": options.prefill})
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if options.top_logprobs and can.logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = min(options.top_logprobs, can.most_top_logprobs)
    return body


def read_reply(text: str) -> Reply:
    """The reply in the body of a successful answer. Raises WrongShape: the body is no chat completion."""
    payload = parsed(text)
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        content = flat_text(message.get("content"))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise WrongShape("the answer has no choices[0].message") from error
    thought, answer = apart(content)
    return Reply(
        text=answer,
        finish_reason=optional_text(choice.get("finish_reason")),
        token_logprobs=read_logprobs(choice.get("logprobs")),
        usage=read_usage(payload.get("usage")),
        model_version=version_of(payload),
        reasoning=optional_text(message.get("reasoning_content") or message.get("reasoning")) or thought,
        refusal=optional_text(message.get("refusal")),
    )


def parsed(text: str) -> dict[str, Any]:
    try:
        payload = loaded(text)
    except ValueError as error:
        raise WrongShape(f"the answer is {described(text)}, not JSON") from error
    if not isinstance(payload, dict):
        raise WrongShape(f"the answer is a JSON {type(payload).__name__}, not an object")
    return payload


MAY_BE_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def loaded(text: str) -> Any:
    """The JSON in `text`, in which halves of characters are written as escapes: they can be escaped there and nowhere else."""
    payload = json.loads(text)
    return all_writable(payload) if MAY_BE_HALF.search(text) else payload


def described(text: str) -> str:
    if not text.strip():
        return "empty"
    return "a page of HTML" if re.match(r"\s*<", text) else "cut off or garbled"


def flat_text(content: Any) -> str:
    """The text of a message's content, which is a string, null, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if part.get("type") in ("text", "output_text"))
    raise TypeError(f"content is a {type(content).__name__}")


THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>(?P<thought>.*?)</\1>\s*", re.DOTALL)
UNFINISHED_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>(?P<thought>.*)\Z", re.DOTALL)


def apart(content: str) -> tuple[str | None, str]:
    """What was thought aloud at the beginning of `content`, and what was said after it."""
    if match := THOUGHT.match(content):
        return match["thought"].strip(), content[match.end() :]
    if match := UNFINISHED_THOUGHT.match(content):
        return match["thought"].strip(), ""
    return None, content


def optional_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def version_of(payload: Mapping[str, Any]) -> str | None:
    """The model that answered, with the fingerprint of its configuration where the server gives one."""
    parts = [part for key in ("model", "system_fingerprint") if (part := optional_text(payload.get(key)))]
    return "@".join(parts) or None


def read_usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    return Usage(*(tokens if isinstance(tokens := usage.get(key), int) else None for key in USAGE_KEYS))


USAGE_KEYS = ("prompt_tokens", "completion_tokens")


def read_logprobs(logprobs: Any) -> tuple[Position, ...] | None:
    """Positions from either form in use: `content` (a list of tokens with their rivals), or the older parallel lists
    `tokens`, `token_logprobs` and `top_logprobs`. None where there are none, or they are no numbers."""
    try:
        if not logprobs:
            return None
        if content := logprobs.get("content"):
            return tuple(modern_position(entry) for entry in content)
        if logprobs.get("tokens"):
            rivals = logprobs.get("top_logprobs") or [{}] * len(logprobs["tokens"])
            rows = zip(logprobs["tokens"], logprobs["token_logprobs"], rivals, strict=False)
            return tuple(position(token, value, (rival or {}).items()) for token, value, rival in rows)
    except (KeyError, TypeError, AttributeError, ValueError):
        return None
    return None


def modern_position(entry: Mapping[str, Any]) -> Position:
    rivals = ((rival["token"], rival["logprob"]) for rival in entry.get("top_logprobs") or ())
    return position(entry["token"], entry["logprob"], rivals)


def position(token: str, logprob: Any, rivals: Any) -> Position:
    listed = [TokenLogprob(str(name), finite(value)) for name, value in rivals]
    listed.sort(key=lambda rival: -rival.logprob)
    return Position(str(token), finite(logprob), tuple(listed))


def finite(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError("a log probability is not a number")
    return max(number, -1e4)


def read_error(text: str) -> ServerError:
    """The code and the words in the body of an error, whatever its shape; at most 300 characters of words."""
    try:
        payload = loaded(text)
    except ValueError:
        return ServerError("", described(text) if re.match(r"\s*(<|$)", text) else text.strip()[:300])
    error = payload
    if isinstance(payload, list) and payload:
        error = payload[0]
    if isinstance(error, Mapping):
        error = error.get("error") or error.get("detail") or error
    if not isinstance(error, Mapping):
        return ServerError("", (error if isinstance(error, str) else json.dumps(error))[:300])
    code = " ".join(str(error[key]) for key in ("code", "type", "status") if error.get(key))
    return ServerError(code, str(error.get("message") or json.dumps(error))[:300])
