"""Steps that ask a model where the structured one says nothing: does a fact's sentence entail a claim, or contradict it?

`hf:PATH` is a local cross-encoder with labels for entailment and contradiction; `rubric:MODEL` any model that chats. Each is asked about
pairs of a fact and a claim, and its word is one step more: what the steps before decided is not asked again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from casewise.errors import ConfigurationError
from casewise.models.load import ModelOptions, load_classifier, load_model
from casewise.models.protocol import Message, PairClassifier, Reply, ReplyOptions, Usage, as_messages
from casewise.prompting.context_words import spoken
from casewise.prompting.json_in_reply import find_objects
from casewise.prompting.substitution import filled
from casewise.records.toml import shipped_toml
from casewise.runs.made_texts import Maker, made_in, text_key
from casewise.verifying.claimed import Claimed, plain_words
from casewise.verifying.facts import SourcedFact

__all__ = [
    "ModelStep",
    "Said",
    "check_verifier",
    "classified",
    "pair_in_words",
    "pair_of",
    "pair_texts",
    "replied",
    "rubric_maker",
]

Said = Literal["entailed", "contradicted", "neither"]


def pair_of(fact: SourcedFact, claim: Claimed) -> str:
    """A fact and a claim in words, as one text that tells this pair from every other."""
    about = f"{spoken(claim.parameter.partition('.')[0])}, {spoken(fact.name)}"
    said = f"{claim.heading}: {claim.text}" if claim.heading else claim.text
    return pair_in_words(f"Of the {about}: {fact.value}", f"Of the {about}: {said}")


def pair_in_words(fact: str, claim: str) -> str:
    """Two sentences as one text."""
    return json.dumps({"fact": fact, "claim": claim}, ensure_ascii=False)


def pair_texts(pair: str) -> dict[str, str]:
    """The `fact` and the `claim` of such a text."""
    found: dict[str, str] = json.loads(pair)
    return found


@dataclass(frozen=True)
class ModelStep:
    """What one verifier said, by pair; pairs of which it said nothing that could be read are absent."""

    name: str
    said: Mapping[str, Said]
    asked: int = 0


def check_verifier(name: str) -> str:
    """`hf:PATH` or `rubric:MODEL`. Raises ConfigurationError: it is neither."""
    kind, _, rest = name.partition(":")
    if kind not in ("hf", "rubric") or not rest:
        raise ConfigurationError(
            f"no verifier is called {name!r}; there are hf:PATH (a local cross-encoder) and rubric:MODEL"
        )
    return name


@cache
def rubric() -> dict[str, str]:
    found: dict[str, str] = shipped_toml("casewise.verifying", "rubric.toml")["entailment"]
    return found


def rubric_maker(name: str, options: ModelOptions | None = None) -> Maker:
    """The model of `rubric:MODEL`, with its task.

    Raises ConfigurationError: there is no such model, or its key is not set.
    """
    fakes = replace(options or ModelOptions(), fakes={"fake/rehearsal": rehearsed})
    return Maker(name, load_model(name.partition(":")[2], fakes), rubric()["version"], asked, read, max_tokens=256)


def asked(pair: str) -> tuple[Message, ...]:
    return as_messages(filled(rubric()["prompt"].strip(), pair_texts(pair)))


def read(reply: str) -> str:
    said = {str(found["verdict"]).strip().lower() for found in find_objects(reply)[0] if "verdict" in found}
    if len(said) != 1 or not said <= set(get_args(Said)):
        raise ValueError('the reply is no JSON object with a "verdict"')
    return said.pop()


def replied(within: Path, name: str, pairs: Sequence[str]) -> ModelStep:
    """What a rubric's model said of pairs, as the folder of its replies has it."""
    made = made_in(within)
    found = {pair: one.made for pair in pairs if (one := made.get((name, text_key(pair)))) and one.made}
    return ModelStep(name, found, len(pairs))  # type: ignore[arg-type]  # `read` lets no other word through


async def classified(name: str, pairs: Sequence[str], options: ModelOptions | None = None) -> ModelStep:
    """What a local cross-encoder says of pairs: its likeliest label.

    Raises ConfigurationError: there is no such model, or its labels name neither entailment nor contradiction.
    """
    model = load_classifier(name, options)
    try:
        words = {label: meant(label) for label in model.labels}
        if not isinstance(model, PairClassifier):
            raise ConfigurationError(f"{name} takes no two texts; give a cross-encoder that runs here, hf:PATH")
        if not {"entailed", "contradicted"} <= set(words.values()):
            raise ConfigurationError(
                f"{name} has the labels {', '.join(model.labels)}; a verifier needs one with 'entail' and one with 'contradict'"
            )
        likeliest = await asyncio.gather(*(likeliest_label(model, pair) for pair in pairs))
    finally:
        await model.close()
    return ModelStep(name, {pair: words[label] for pair, label in zip(pairs, likeliest, strict=True)}, len(pairs))


def meant(label: str) -> Said:
    lowered = label.casefold()
    if "contradict" in lowered or lowered.startswith(("not", "non")):
        return "contradicted" if "contradict" in lowered else "neither"
    return "entailed" if "entail" in lowered else "neither"


async def likeliest_label(model: PairClassifier, pair: str) -> str:
    both = pair_texts(pair)
    found = await model.classify_pair(both["fact"], both["claim"])
    return max(found.probabilities, key=lambda label: found.probabilities[label])


def rehearsed(messages: Iterable[Message], _options: ReplyOptions) -> Reply:
    """A made-up verifier: a claim that has all words of the fact is entailed."""
    prompt = "\n".join(one.content for one in messages)
    fact, claim = (prompt.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0] for tag in ("fact", "claim"))
    verdict = "entailed" if set(plain_words(fact)) <= set(plain_words(claim)) else "neither"
    return Reply(json.dumps({"verdict": verdict}), "stop", usage=Usage(len(prompt) // 4, 6))
