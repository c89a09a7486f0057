"""Forced choice over HTTP: a server restricts a reply to some words, and lists the probabilities of their tokens.

Three kinds of servers restrict a reply, each by a field of its own, and pass over those of others: llama.cpp takes a
grammar, vLLM structured outputs (`guided_choice` in older versions), SGLang a regular expression. That the reply is one
of the words is the proof that the server did so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from casewise.models.label_tokens import class_of, first_token_ids
from casewise.models.protocol import Position, Reply

WIDE_LOGPROBS = 2000
"""Tokens that are asked for where a server may list more than the 20 of the protocol."""


def choice_fields(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields that restrict a reply to one of `words`."""
    return {
        "grammar": "root ::= " + " | ".join(json.dumps(word) for word in words),
        "structured_outputs": {"choice": list(words)},
        "guided_choice": list(words),
        "regex": f"({'|'.join(map(re.escape, words))})",
    }


# The tokens of the words, from a server that shows its tokenizer: the same rule as for local models.


def tokenize_body(model: str, text: str) -> dict[str, Any]:
    """Return the body of a request to `/tokenize`, as llama.cpp and vLLM take it."""
    llama_cpp = {"content": text, "with_pieces": True, "add_special": False}
    return {"model": model, "prompt": text, "add_special_tokens": False, "return_token_strs": True, **llama_cpp}


def first_token(answer: Any) -> tuple[int, str] | None:
    """Return id and text of the first token in an answer of `/tokenize`; None if the answer has another shape."""
    try:
        first = answer["tokens"][0]
        if isinstance(first, Mapping):
            piece = first["piece"]
            text = piece if isinstance(piece, str) else bytes(piece).decode(errors="replace")
            return int(first["id"]), text
        return int(first), str(answer["token_strs"][0]).replace("Ġ", " ").replace("▁", " ").replace("Ċ", "\n")
    except (LookupError, TypeError, ValueError):
        return None


def label_texts(words: tuple[str, ...], first: Mapping[str, tuple[int, str]]) -> Mapping[str, tuple[str, ...]]:
    """Return for each word the texts of the tokens with which a reply of it may begin.

    `first`: id and text of the first token of each spelling of the words.
    """
    texts = dict(first.values())
    ids = first_token_ids(words, lambda text: [first[text][0]], texts.__getitem__)
    return {word: tuple(texts[id_] for id_ in of_word) for word, of_word in ids.items()}


def mark_choice(reply: Reply, words: tuple[str, ...], labels: Mapping[str, tuple[str, ...]] | None) -> Reply:
    """Return a reply, marked as a forced choice if it is one of `words`. Only the tokens that the rule allows count for
    them.

    `labels`: what `label_texts` returns; None if the server does not show its tokenizer.
    """
    begins = reply.token_logprobs[0].token if reply.token_logprobs else ""
    reply = replace(reply, forced=reply.text in words and begins != "" and reply.text.startswith(begins))
    if labels is None or not reply.forced or not reply.token_logprobs:
        return reply
    first, *rest = reply.token_logprobs
    texts, itself = {text for of_word in labels.values() for text in of_word}, {word: word for word in words}
    is_complete = texts <= {token.token for token in first.top}
    top = tuple(
        token
        for token in first.top
        if token.token in texts or (not is_complete and class_of(token.token, itself) is None)
    )
    return replace(reply, token_logprobs=(Position(first.token, first.logprob, top, complete=is_complete), *rest))
