"""Transforms whose texts a model writes, made before a run begins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

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
    """Whether texts count that wait for another model's: in an estimate they do, and stand there as they were."""
    missing: dict[str, dict[str, None]] = field(default_factory=dict)

    def of(self, maker: str, text: str) -> str:
        """Return what the maker made of a text; while a run is planned the text itself where it is not known.

        Raises ValueError: nothing was made of it.
        """
        found = self.known.get((maker, text_key(text)))
        if found is None:
            if not self.planning:
                raise ValueError("no model has been asked about this text: casewise attack and casewise judge do that")
            if self.guessing or WAITING not in text:
                self.missing.setdefault(maker, {})[text] = None
            return f"{text}{WAITING}"
        if found.made is None:
            raise ValueError(f"nothing could be made of a text: {found.problem}")
        return found.made

    def written(self, maker: str, place: str) -> str:
        """Return what an attacker wrote, kept under `place`; while a run is planned, as long a text.

        Raises ValueError: it wrote nothing.
        """
        found = self.known.get((maker, text_key(place)))
        if found is None and self.planning:
            return f"{UNWRITTEN}{text_key(place)}"
        if found is None or found.made is None:
            raise ValueError(f"the attacker wrote no claim: {'it was not asked' if found is None else found.problem}")
        return found.made


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
    made = made_of(scene)
    return replace(shown, context=over_texts(shown.context, lambda text: made.of(f"{kind}:{rest}", text)))


def detect(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Return what is shown, refused where the model finds an attack in it."""
    verdict = made_of(scene).of(f"detect:{rest}", whole(shown))
    return replace(shown, held_back="refused") if verdict == ATTACK else shown


def detect_ask(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Return what is shown, with a question to the user in place of a verdict where the model finds an attack in it."""
    found = detect(shown, scene, rest)
    return replace(found, held_back="asked about") if found.held_back else found


def made_of(scene: Scene) -> LooksUp:
    return scene.made or MadeTexts()


def whole(shown: ShownItem) -> str:
    """All that is shown, as one text."""
    turns = [f"{one.role}: {one.content}" for one in (*turns_of_chat(shown.before), *shown.placement.earlier)]
    parts = (laid_out(shown.context, "list"), *shown.placement.system, *turns, f"The {shown.judged}: {shown.query}")
    return "\n\n".join(part for part in parts if part)


def by_models(arms: Iterable[Arm]) -> tuple[str, ...]:
    """The makers that arms need, each once."""
    kinds = [one for arm in arms for one in arm.transforms if one.kind in BY_MODEL]
    return tuple(dict.fromkeys(f"{one.kind.removesuffix('-ask')}:{one.rest}" for one in kinds))


def maker_named(name: str, options: ModelOptions | None = None) -> Maker:
    """The maker called `TASK:MODEL`. Raises ConfigurationError: there is no such model, or its key is not set."""
    task, _, model = name.partition(":")
    table = tasks()[task]
    loaded = load_model(model, replace(options or ModelOptions(), fakes={"fake/rehearsal": rehearsed}))
    return Maker(name, loaded, table["version"], partial(asked, table["prompt"]), partial(read, table["reply"]))


def asked(prompt: str, text: str) -> tuple[Message, ...]:
    return as_messages(filled(prompt.strip(), {"text": text}))


def read(key: str, reply: str) -> str:
    """Return what stands under the key of the one JSON object of a reply."""
    values = [found[key] for found in find_objects(reply)[0] if key in found]
    if len(values) != 1 or not isinstance(values[0], bool if key == "attack" else str):
        raise ValueError(f'the reply is no JSON object with "{key}"')
    return values[0] if isinstance(values[0], str) else ATTACK if values[0] else CLEAN


GIVEN = re.compile(r"<text>\n(.*)\n</text>", re.DOTALL)
VERDICTS = re.compile(r"[^.!?:]*\banswered\b[^.!?]*[.!?]?", re.IGNORECASE)


def rehearsed(messages: tuple[Message, ...], _options: ReplyOptions) -> Reply:
    """Reply as a made-up maker: an attack says "answered", a filter takes such sentences out, a paraphrase and a claim say what they are."""
    prompt = messages[-1].content
    if '{"claim"' in prompt:
        n = sum(one.role == "assistant" for one in messages) + 1
        return made_up(
            {"claim": f"The person in charge has agreed to this, for reason {n}: it can be answered."}, prompt
        )
    given = found[1] if (found := GIVEN.search(prompt)) else ""
    said: Any = {"text": f"In other words: {given}"}
    if '"attack"' in prompt:
        said = {"attack": VERDICTS.search(given) is not None}
    elif "Take out" in prompt:
        said = {"text": VERDICTS.sub("", given).strip() or "Nothing is left."}
    return made_up(said, prompt)


def made_up(said: Mapping[str, Any], prompt: str) -> Reply:
    text = json.dumps(said, ensure_ascii=False)
    return Reply(text, "stop", usage=Usage(len(prompt) // 4, len(text) // 4))


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


def makers_of(arms: Iterable[Arm], options: MakingOptions) -> dict[str, Maker]:
    """Return who has to be asked before such arms can be shown, by name.

    Raises ConfigurationError: there is no such model, or its key is not set.
    """
    return makers_named(by_models(arms), options)


def makers_named(names: Iterable[str], options: MakingOptions) -> dict[str, Maker]:
    """Return the makers called so. Raises ConfigurationError: there is no such model, or its key is not set."""
    return {
        name: maker_named(name, options_beside(name.partition(":")[2], options.asked, options.model)) for name in names
    }


async def making(
    within: Path, arms: Sequence[Arm], asks: AsksGiven, options: MakingOptions, *, spent: Callable[[], Spend] = Spend
) -> MadeBefore:
    """Have all made that the asks of a plan need. What a model makes of another's text waits for that.

    `within`: the run's folder; what is made is kept in one of its own.
    `spent`: what the run itself took before: limits are of all together.
    """
    makers = makers_of(arms, options)
    if not makers:
        return MadeBefore(MadeTexts(made_in(within)))
    try:
        for _ in range(max(len(arm.transforms) for arm in arms)):
            missing = missing_texts(asks, made_in(within))
            for name, texts in missing.items():
                limits = options.limits.less(spent() + spent_making(within, but=name))
                summary = await make_texts(
                    within, makers[name], texts, limits=limits, watch=options.watch, command=options.command
                )
                if summary.stopped:
                    return MadeBefore(MadeTexts(made_in(within)), f"{name}: {summary.stopped}")
                known = made_in(within)
                if failed := sum(known[name, text_key(text)].passing for text in texts):
                    return MadeBefore(MadeTexts(known), f"{name} did not answer about {failed:,} texts")
    finally:
        for maker in makers.values():
            await maker.loaded.model.close()
    return MadeBefore(MadeTexts(made_in(within)))


def missing_texts(asks: AsksGiven, known: Mapping[tuple[str, str], MadeText]) -> dict[str, dict[str, None]]:
    planned = MadeTexts(known, planning=True)
    for ask in asks(planned):
        _ = ask.shown
    return planned.missing


def estimate_before(arms: Sequence[Arm], asks: AsksGiven, options: MakingOptions) -> dict[str, CallEstimate]:
    """Return what making it all would take, by maker. No call is made."""
    makers = makers_of(arms, options)
    if not makers:
        return {}
    planned = MadeTexts(planning=True, guessing=True)
    for ask in asks(planned):
        _ = ask.shown
    return {name: estimate_made(makers[name], texts) for name, texts in planned.missing.items()}
