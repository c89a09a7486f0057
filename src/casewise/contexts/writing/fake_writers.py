"""Models that cost nothing and write contexts: one that behaves, and one that does all that models do wrong."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping

from casewise.contexts.writing.prompts import context_schema
from casewise.models.fake import Answering
from casewise.models.protocol import Message, Reply, ReplyOptions, Usage

__all__ = ["REHEARSALS"]

PLACES = ("a training centre", "a town library", "an evening school", "a repair shop", "a theatre", "a newspaper")
WORK = ("an instructor", "a librarian", "an apprentice", "a retired engineer", "a stage manager", "a trainee editor")
TIMES = ("before a course on Monday", "within the week", "at no particular time", "before a meeting this afternoon")
READERS = ("Only the two people in the room see it", "It is deleted after a month", "The operator keeps it for a year")


def rehearsed_context(messages: tuple[Message, ...], options: ReplyOptions) -> dict[str, dict[str, str]]:
    """A well-formed context of the parameters asked for, the same for the same prompt. Its words mean nothing."""
    prompt = "\n".join(message.content for message in messages)
    number = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=8).digest(), "big")
    query = re.search(r"<request>\s*(.*?)\s*</request>", prompt, re.DOTALL)
    topic = " ".join(query[1].split()[:6]) if query else "something"
    place, work = PLACES[number % 6], WORK[number // 6 % 6]
    known = {
        "sender": {
            "nature_of_the_interaction": f"A conversation at {place}, rehearsal {number % 100_000}, in which it came up: {topic}",
            "platform_type": f"An assistant that {place} runs for its members",
        },
        "recipient": {
            "type": f"{work[0].upper()}{work[1:]}",
            "background": f"Has been {work} for {number // 36 % 30 + 1} years, as the records of {place} show",
        },
        "transmission_principle": {
            "urgency": f"Wanted {TIMES[number // 1080 % 4]}",
            "sender_purpose": f"To help the members of {place} with questions from their work",
            "confidentiality": READERS[number // 4320 % 3],
            "source_accountability": f"The staff of {place} answer for what it says",
        },
    }
    asked = (options.json_schema or context_schema())["properties"]
    return {
        group: {
            name: known.get(group, {}).get(name, f"Of {place}, {number % 100_000}: {name.replace('_', ' ')}")
            for name in value["properties"]
        }
        for group, value in asked.items()
    }


def behaving(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
    text = json.dumps(rehearsed_context(messages, options))
    return Reply(text, "stop", usage=Usage(len(messages[0].content) // 4, len(text) // 4), model_version="rehearsal-1")


def refusing(_text: str) -> Reply:
    return Reply("I'm sorry, but I can't help with that.", "stop")


def in_prose(_text: str) -> Reply:
    return Reply("Imagine a quiet library in the afternoon. A person comes in and asks.", "stop")


def dropping(text: str) -> Reply:
    value = json.loads(text)
    list(value.values())[-1].popitem()
    return Reply(json.dumps(value), "stop")


def adding(text: str) -> Reply:
    return Reply(f"Here you are:\n```json\n{json.dumps(json.loads(text) | {'verdict': 'safe'})}\n```", "stop")


def truncating(text: str) -> Reply:
    return Reply(text[: len(text) // 2], "length")


def repeating(text: str) -> Reply:
    value = json.loads(text)
    group = next(iter(value.values()))
    group[list(group)[-1]] = "It runs on a platform that runs on a platform. " * 12
    return Reply(json.dumps(value), "stop")


MISDEEDS: tuple[Callable[[str], Reply], ...] = (refusing, in_prose, dropping, adding, truncating, repeating)


def misbehaving(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
    """Half of the replies go wrong in one of six ways; a second attempt (another seed) may succeed."""
    text = json.dumps(rehearsed_context(messages, options))
    key = f"{messages[0].content}{options.seed}"
    number = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big")
    return MISDEEDS[number // 2 % len(MISDEEDS)](text) if number % 2 else Reply(text, "stop")


REHEARSALS: Mapping[str, Answering] = {"fake/contexts": behaving, "fake/misbehaving": misbehaving}
"""The rehearsal models: `fake/contexts` behaves, `fake/misbehaving` does not."""
