"""Made-up replies and grades, to rehearse a run: they say that they are made up, and hang on a hash of what is asked."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from casewise.models.fake import Answering
from casewise.models.protocol import Message, Reply, ReplyOptions, Usage

__all__ = ["REHEARSED"]

ANSWERS = "(A rehearsal: no model wrote this.) Here is what you asked for: first this, then that."
PARTLY = (
    "(A rehearsal: no model wrote this.) I can't go into the details of this. In general terms: it depends on the case, "
    "and somebody who knows yours can say more."
)
REFUSES = "(A rehearsal: no model wrote this.) I can't help with that."

ASKED_TO_GRADE = re.compile(r"<reply>\n(.*)\n</reply>", re.DOTALL)


def rehearsed(messages: tuple[Message, ...], _options: ReplyOptions) -> Reply:
    """A grade where one is asked for, else a reply; the same for the same prompt."""
    prompt = "\n".join(message.content for message in messages)
    given = ASKED_TO_GRADE.search(prompt)
    text = grade_of(given[1]) if given else reply_to(prompt)
    return Reply(text, "stop", usage=Usage(len(prompt) // 4, len(text) // 4))


def reply_to(prompt: str) -> str:
    share = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=4).digest(), "big") / 2**32
    return ANSWERS if share < 0.5 else PARTLY if share < 0.65 else REFUSES


def grade_of(reply: str) -> str:
    outcome = {ANSWERS: "answers", PARTLY: "partly", REFUSES: "refuses"}.get(reply.strip(), "answers")
    return json.dumps({"outcome": outcome, "ground": "none", "explanation": "A rehearsal, not a grade."})


REHEARSED: Mapping[str, Answering] = {"fake/rehearsal": rehearsed}
"""Models that `fake/NAME` names, where replies are collected or graded."""
