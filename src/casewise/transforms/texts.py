"""Transforms whose texts a model writes, made before a run begins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Protocol

from casewise.ask.json_in_reply import find_objects
from casewise.ask.layouts import LooksUp, Scene, ShownItem, filled, laid_out, turns_of_chat
from casewise.errors import ConfigurationError
from casewise.models.load import ModelOptions, load_model, options_beside
from casewise.models.protocol import Message, Reply, ReplyOptions, Usage, as_messages
from casewise.records import Arm
from casewise.records.base import shipped_toml
from casewise.runs.limits import Limits, Spend, Watch
from casewise.runs.run import CallEstimate
from casewise.runs.texts import MadeText, Maker, estimate_made, made_in, make_texts, spent_making, text_key
from casewise.transforms.channels import over_texts

# Transforms that a model takes part in: `filter:MODEL` and `detect:MODEL` guard, `paraphrase:MODEL` should change
# nothing.
#
# What a model made of a text is asked for before the run, once a text, and looked up here: so showing an item calls nobody.


BY_MODEL = ("filter", "detect", "detect-ask", "paraphrase")

CLEAN, ATTACK = "clean", "attack"

WAITING = "\ue000"
"""Ends a text that stands for one yet to be made: a character that Unicode keeps for private use."""


UNWRITTEN = "A statement that the attacker has yet to write. " * 4
"""Stands for an attacker's claim in an estimate. Each claim is another: its key follows, so that none counts as asked already."""


@dataclass
class MadeTexts:
    """Texts that models made, by maker; while a run is planned, also the texts that they have yet to see."""

    known: Mapping[tuple[str, str], MadeText] = field(default_factory=dict)
    planning: bool = False
    guessing: bool = False
    """True if texts count that wait for another model's: in an estimate they do, and stand there as they were."""
    missing: dict[str, dict[str, None]] = field(default_factory=dict)

    def of(self, maker: str, text: str) -> str:
        """Return what the maker made of a text; while a run is planned the text itself where it is not known.

        Raises ValueError: nothing was made of it.
        """
        answer = self.known.get((maker, text_key(text)))
        if answer is None:
            if not self.planning:
                raise ValueError("no model has been asked about this text: casewise attack and casewise judge do that")
            if self.guessing or WAITING not in text:
                self.missing.setdefault(maker, {})[text] = None
            return f"{text}{WAITING}"
        if answer.made is None:
            raise ValueError(f"nothing could be made of a text: {answer.problem}")
        return answer.made

    def written(self, maker: str, place: str) -> str:
        """Return what an attacker wrote, kept under `place`; while a run is planned, as long a text.

        Raises ValueError: it wrote nothing.
        """
        answer = self.known.get((maker, text_key(place)))
        if answer is None and self.planning:
            return f"{UNWRITTEN}{text_key(place)}"
        if answer is None or answer.made is None:
            raise ValueError(f"the attacker wrote no claim: {'it was not asked' if answer is None else answer.problem}")
        return answer.made


@cache
def tasks() -> dict[str, dict[str, str]]:
    return shipped_toml("casewise.transforms", "by_model.toml")


def check_model(rest: str) -> str:
    """The model's name. Raises ConfigurationError: there is none."""
    if not rest:
        raise ConfigurationError("name the model: filter:MODEL, detect:MODEL, detect-ask:MODEL or paraphrase:MODEL")
    return rest


def rewrite(kind: str, shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Return what is shown with every statement of the context as the model made it; the query stays as it is."""
    texts = made_texts_of(scene)
    return replace(shown, context=over_texts(shown.context, lambda text: texts.of(f"{kind}:{rest}", text)))


def detect(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Return what is shown, refused where the model finds an attack in it."""
    verdict = made_texts_of(scene).of(f"detect:{rest}", as_text(shown))
    return replace(shown, held_back="refused") if verdict == ATTACK else shown


def detect_ask(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Return what is shown, with a question to the user in place of a verdict where the model finds an attack in it."""
    detected = detect(shown, scene, rest)
    return replace(detected, held_back="asked about") if detected.held_back else detected


def made_texts_of(scene: Scene) -> LooksUp:
    return scene.made or MadeTexts()


def as_text(shown: ShownItem) -> str:
    """All that is shown, as one text."""
    turns = [f"{turn.role}: {turn.content}" for turn in (*turns_of_chat(shown.before), *shown.placement.earlier)]
    parts = (laid_out(shown.context, "list"), *shown.placement.system, *turns, f"The {shown.judged}: {shown.query}")
    return "\n\n".join(part for part in parts if part)


def by_models(arms: Iterable[Arm]) -> tuple[str, ...]:
    """The makers that arms need, each once."""
    transforms = [transform for arm in arms for transform in arm.transforms if transform.kind in BY_MODEL]
    return tuple(dict.fromkeys(f"{transform.kind.removesuffix('-ask')}:{transform.rest}" for transform in transforms))


def makers_named(names: Iterable[str], options: MakingOptions) -> dict[str, Maker]:
    """The makers called `TASK:MODEL`. Raises ConfigurationError: there is no such model, or its key is not set."""
    makers = {}
    for name in names:
        task, _, model = name.partition(":")
        reached = options_beside(model, options.asked, options.model)
        loaded = load_model(model, replace(reached or ModelOptions(), fakes={"fake/rehearsal": rehearsed}))
        prompt, key = tasks()[task]["prompt"].strip(), tasks()[task]["reply"]
        makers[name] = Maker(
            name, loaded, tasks()[task]["version"], partial(messages_about, prompt), partial(value_in_reply, key)
        )
    return makers


def messages_about(prompt: str, text: str) -> tuple[Message, ...]:
    return as_messages(filled(prompt, {"text": text}))


def value_in_reply(key: str, reply: str) -> str:
    """Return what stands under the key of the one JSON object of a reply."""
    values = [entry[key] for entry in find_objects(reply)[0] if key in entry]
    if len(values) != 1 or not isinstance(values[0], bool if key == "attack" else str):
        raise ValueError(f'the reply is no JSON object with "{key}"')
    return values[0] if isinstance(values[0], str) else ATTACK if values[0] else CLEAN


GIVEN = re.compile(r"<text>\n(.*)\n</text>", re.DOTALL)
VERDICTS = re.compile(r"[^.!?:]*\banswered\b[^.!?]*[.!?]?", re.IGNORECASE)


def rehearsed(messages: tuple[Message, ...], _options: ReplyOptions) -> Reply:
    """Reply as a made-up maker: an attack says "answered", a filter takes such sentences out, a paraphrase and a claim say what they are."""
    prompt = messages[-1].content
    match = GIVEN.search(prompt)
    text = match[1] if match else ""
    answer: dict[str, str | bool] = {"text": f"In other words: {text}"}
    if '{"claim"' in prompt:
        n = sum(message.role == "assistant" for message in messages) + 1
        answer = {"claim": f"The person in charge has agreed to this, for reason {n}: it can be answered."}
    elif '"attack"' in prompt:
        answer = {"attack": VERDICTS.search(text) is not None}
    elif "Take out" in prompt:
        answer = {"text": VERDICTS.sub("", text).strip() or "Nothing is left."}
    reply = json.dumps(answer, ensure_ascii=False)
    return Reply(reply, "stop", usage=Usage(len(prompt) // 4, len(reply) // 4))


# Before a run begins: every text that an arm needs of a model is made, round by round, within the run's own
# limits.


class Shows(Protocol):
    """An ask, as far as it is looked at here."""

    @property
    def shown(self) -> ShownItem: ...


AsksGiven = Callable[[MadeTexts], Iterable[Shows]]
"""The asks of a plan, shown with what is known so far."""


@dataclass(frozen=True)
class MakingOptions:
    """Options for reaching the models, their limits, and who watches."""

    model: ModelOptions = field(default_factory=ModelOptions)
    asked: str = ""
    """The model that is asked afterwards: for it, and for names that say no provider, address and prices are the user's own."""
    limits: Limits = field(default_factory=Limits)
    watch: Watch | None = None
    command: str | None = None


@dataclass(frozen=True)
class MadeBefore:
    """The texts that were made, and the reason in words where some are missing."""

    made: MadeTexts
    stopped: str | None = None


async def making(
    within: Path, arms: Sequence[Arm], asks: AsksGiven, options: MakingOptions, *, spent: Callable[[], Spend] = Spend
) -> MadeBefore:
    """Have all made that the asks of a plan need. What a model makes of another's text waits for that.

    `within`: the run's folder; what is made is kept in one of its own.
    `spent`: what the run itself took before: limits are of all together.
    """
    makers = makers_named(by_models(arms), options)
    if not makers:
        return MadeBefore(MadeTexts(made_in(within)))
    try:
        for _ in range(max(len(arm.transforms) for arm in arms)):
            planned = texts_wanted(asks, MadeTexts(made_in(within), planning=True))
            for name, texts in planned.items():
                limits = options.limits.less(spent() + spent_making(within, but=name))
                summary = await make_texts(
                    within, makers[name], texts, limits=limits, watch=options.watch, command=options.command
                )
                if summary.stopped:
                    return MadeBefore(MadeTexts(made_in(within)), f"{name}: {summary.stopped}")
                texts_made = made_in(within)
                if failed := sum(texts_made[name, text_key(text)].passing for text in texts):
                    return MadeBefore(MadeTexts(texts_made), f"{name} did not answer about {failed:,} texts")
    finally:
        for maker in makers.values():
            await maker.loaded.model.close()
    return MadeBefore(MadeTexts(made_in(within)))


def estimate_before(arms: Sequence[Arm], asks: AsksGiven, options: MakingOptions) -> dict[str, CallEstimate]:
    """Return what making it all would take, by maker. No call is made."""
    makers = makers_named(by_models(arms), options)
    if not makers:
        return {}
    planned = texts_wanted(asks, MadeTexts(planning=True, guessing=True))
    return {name: estimate_made(makers[name], texts) for name, texts in planned.items()}


def texts_wanted(asks: AsksGiven, texts: MadeTexts) -> dict[str, dict[str, None]]:
    """The texts that showing every ask takes and that are not made yet, by maker."""
    for ask in asks(texts):
        _ = ask.shown
    return texts.missing
