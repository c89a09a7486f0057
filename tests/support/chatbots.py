"""Chatbots' replies that say themselves what they do, and people's labels of them."""

import json
from typing import Any

import casewise
from casewise.models.protocol import FakeModel
from casewise.replies.collect import CollectOptions
from casewise.runs.limits import Limits

DEMO: Any = casewise.load("demo")


def collected(folder, does, *, name="openai/x", chat=None):
    """Replies that say `does` of each item of the demo, in its order, and the item's place."""
    texts: Any = iter([f"{outcome} {place}" for place, outcome in enumerate(does)])
    model = FakeModel(lambda _messages, _options: next(texts), name=name)
    options = CollectOptions(limits=Limits(concurrency=1))
    return casewise.collect("demo", model, out=folder, chat=chat, options=options).path


def replies(folder, does, *, grader=None, **how):
    """The same, graded: by their own first word if by no other grader."""
    path = collected(folder, does, **how)
    casewise.grade(path, grader or (lambda _query, reply: reply.split()[0]))
    return path


def labelled(path, does, places):
    """A file of people's labels of the replies to the items at these places of the demo."""
    rows = [{"item_id": DEMO.items[place].id, "label": does[place]} for place in places]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
