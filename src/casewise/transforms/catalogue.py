"""The transforms that there are, by name, and an arm done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict

from casewise.ask.layouts import Scene, ShownItem, conversation, laid_out
from casewise.errors import CasewiseError, ConfigurationError, DataError, did_you_mean
from casewise.plugins import plugin, plugin_names
from casewise.records import FULL, Arm, Context, Item, ParameterSet, Query, Transform, paper_parameters
from casewise.records.base import Record, digest
from casewise.records.call import WITHOUT
from casewise.records.context import omit
from casewise.runs.texts import text_key
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import read_jsonl
from casewise.transforms.adaptive import AdaptiveTurn, adaptive
from casewise.transforms.attacks import (
    ALL,
    CLAIMS_VERSION,
    ENCODINGS,
    FORMS,
    LANGUAGES,
    LAYOUTS,
    ORDERS,
    Saying,
    check_greeting,
    check_layout,
    check_order,
    claim,
    greeting,
    layout,
    order,
    own_sayings,
    parameters_of_twin,
    read_as_named,
    saying_in,
    sayings,
    twin,
    with_digest,
)
from casewise.transforms.channels import TURNS, Channel, Direction, over_texts
from casewise.transforms.defences import datamark, delimit, in_system
from casewise.transforms.texts import MadeTexts, check_model, detect, detect_ask, rewrite
from casewise.transforms.user_function import function_at, own_transform
from casewise.transforms.verified import annotated, known_facts, spelt_out, verified

# Paraphrases that people have read beside what they paraphrase, and found to say the same.


class Paraphrase(Record):
    """A model's paraphrase of a statement; it replaces the statement once a person has read both."""

    model_config = ConfigDict(extra="ignore")  # files of before name a language and a translator too

    of: str
    """What the statement is kept under."""
    source: str = ""
    text: str
    reviewer: str = ""
    """Who read both and found that they say the same; empty for nobody."""


@dataclass(frozen=True)
class Accepted:
    """Accepted texts, by what the texts that they stand for are kept under."""

    texts: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        """A digest of all of them."""
        return digest(dict(self.texts))[:8]


def read_accepted(path: Path) -> Accepted:
    """The paraphrases with a `reviewer` in a file that `casewise contexts paraphrases` wrote.

    Raises DataError: a line is none; the message names it. None was accepted.
    """
    found = {one.of: one.text for one in read_jsonl(path, Paraphrase) if one.reviewer.strip() and one.text.strip()}
    if not found:
        raise DataError(path, None, "holds no paraphrase that anybody has accepted: write who read it as `reviewer`")
    return Accepted(found)


@cache
def accepted(rest: str) -> Accepted:
    """Return what `FILE@DIGEST` names. Raises as `read_as_named`."""
    return read_as_named("checked", rest, read_accepted)


def checked(shown: ShownItem, _scene: Scene, rest: str) -> ShownItem:
    """Return what is shown with every statement paraphrased of which a paraphrase was accepted; the others stay as they are.

    Raises ValueError: none of its statements has one: then nothing would be another.
    """
    texts = accepted(rest).texts
    changed = over_texts(shown.context, lambda text: texts.get(text_key(text), text))
    if changed == shown.context:
        raise ValueError("nobody has accepted a paraphrase of anything that it states")
    return replace(shown, context=changed)


# The transforms that there are, and an arm done: one line a kind in `TRANSFORMS`.


TransformRole = Literal["omission", "attack", "perturbation", "defence", "own"]
"""What a transform is for: to show less, to lie, to change nothing that matters, to guard; or what only its author knows."""


@dataclass(frozen=True)
class TransformKind:
    """A kind of transform: what it does, in which version, and what it needs for that."""

    form: str
    """What to write, for those who must choose."""
    do: Callable[[ShownItem, Scene, str], ShownItem]
    """What is shown after it, from what was shown before, the item, and the rest of the transform's name."""
    role: TransformRole
    version: int = 1
    """Raised when the same name shows something else. Runs of older versions are read, and not gone on with."""
    needs_twin: bool = False
    check: Callable[[str], object] = lambda _rest: None
    """Raises a `ConfigurationError` where the rest of the name means nothing."""
    parameters: Callable[[str], tuple[str, ...]] = lambda _rest: ()
    """The parameters and groups that the rest of the name names."""


def without(shown: ShownItem, _scene: Scene, rest: str) -> ShownItem:
    left = {} if rest == EVERYTHING else omit(shown.context, tuple(rest.split(",")))
    return replace(shown, context=left)


def omitted(rest: str) -> tuple[str, ...]:
    return () if rest == EVERYTHING else tuple(rest.split(","))


def no_rest(rest: str) -> None:
    if rest:
        raise ConfigurationError(f"a defence of this kind is written without {rest!r} behind it")


EVERYTHING = Arm.named("none").transforms[0].rest

TRANSFORMS: dict[str, TransformKind] = {
    WITHOUT: TransformKind("without:PARAMETER,...", without, "omission", parameters=omitted),
    **{
        kind: TransformKind(
            f"{kind}:CLAIM/CHANNEL/DIRECTION",
            partial(claim, kind),
            "attack",
            CLAIMS_VERSION,
            check=partial(saying_in, kind),
        )
        for kind in ("claim", *FORMS)
    },
    "twin": TransformKind(
        "twin:PARAMETER", twin, "attack", needs_twin=True, check=parameters_of_twin, parameters=parameters_of_twin
    ),
    "toml": TransformKind(
        "toml:FILE#NAME/CHANNEL/DIRECTION@DIGEST", partial(claim, "toml"), "attack", check=partial(saying_in, "toml")
    ),
    "adaptive": TransformKind(
        "adaptive:MODEL/CHANNEL/DIRECTION/TURN@DEFENCE", adaptive, "attack", check=AdaptiveTurn.named
    ),
    "order": TransformKind("order:reversed", order, "perturbation", check=check_order),
    "turns": TransformKind("turns:greeting", greeting, "perturbation", check=check_greeting),
    "format": TransformKind("format:LAYOUT", layout, "perturbation", check=check_layout),
    "paraphrase": TransformKind("paraphrase:MODEL", partial(rewrite, "paraphrase"), "perturbation", check=check_model),
    "checked": TransformKind("checked:FILE@DIGEST", checked, "perturbation", check=accepted),
    "filter": TransformKind("filter:MODEL", partial(rewrite, "filter"), "defence", check=check_model),
    "detect": TransformKind("detect:MODEL", detect, "defence", check=check_model),
    "detect-ask": TransformKind("detect-ask:MODEL", detect_ask, "defence", check=check_model),
    "system": TransformKind("system", in_system, "defence", check=no_rest),
    "datamark": TransformKind("datamark", datamark, "defence", check=no_rest),
    "delimit": TransformKind("delimit", delimit, "defence", check=no_rest),
    "verified": TransformKind("verified:FACTS@DIGEST@DAY", verified, "defence", version=2, check=known_facts),
    "annotated": TransformKind("annotated:FACTS@DIGEST@DAY", annotated, "defence", version=2, check=known_facts),
    "python": TransformKind(
        "python:MODULE:FUNCTION (your own)", own_transform, "own", needs_twin=True, check=function_at
    ),
}


def transform_kind(name: str) -> TransformKind | None:
    """Return the kind of transform of this name, ours or an installed package's; None where there is none."""
    return TRANSFORMS.get(name) or plugin("transforms", name)


def all_forms() -> tuple[str, ...]:
    return (*(kind.form for kind in TRANSFORMS.values()), *plugin_names("transforms"))


def kind_of(transform: Transform) -> TransformKind:
    """Return what does `transform`.

    Raises
    ------
    ConfigurationError
        There is no such transform, or not in that version.
    """
    kind = transform_kind(transform.kind)
    if kind is None:
        *forms, last = ("'full'", "'none'", *(f"'{form}'" for form in all_forms()))
        raise ConfigurationError(f"no arm is called {transform.name!r}; there are {', '.join(forms)} and {last}")
    if kind.version != transform.version:
        raise ConfigurationError(
            f"{transform.name!r} is of version {transform.version}; this casewise does version {kind.version}"
        )
    return kind


def arm_named(name: str) -> Arm:
    """The arm that a user calls `name`, each of its transforms in the version that there is.

    Raises
    ------
    ConfigurationError
        There is no such arm; the message says which there are.
    """
    made = Arm.named(name)
    arm = Arm(transforms=tuple(in_this_version(one) for one in made.transforms))
    check_arms((arm,))
    return arm


def in_this_version(transform: Transform) -> Transform:
    kind = transform_kind(transform.kind)
    if kind is None or transform.version > 1:
        return transform
    return transform.model_copy(update={"version": kind.version})


def check_arms(arms: Iterable[Arm], parameters: ParameterSet | None = None) -> None:
    """Make sure, before anything is asked, that every transform of `arms` can be done, of contexts with `parameters`.

    Raises
    ------
    ConfigurationError
        One cannot.
    """
    for arm in arms:
        for transform in arm.transforms:
            kind = kind_of(transform)
            kind.check(transform.rest)
            if parameters is not None:
                parameters.check_names(kind.parameters(transform.rest))


def role_of(transform: Transform) -> TransformRole | None:
    """Return what a transform is for; None where this casewise does not know it."""
    kind = transform_kind(transform.kind)
    return None if kind is None else kind.role


def adds_turns(arm: Arm) -> bool:
    """Return whether an arm puts a conversation before a request."""
    channels = {AdaptiveTurn.named(one.rest).channel for one in arm.transforms if one.kind == "adaptive"}
    channels |= {saying.channel for one in arm.transforms if (saying := saying_of(one)) is not None}
    return any(one.kind == "turns" for one in arm.transforms) or not channels.isdisjoint(TURNS)


def needs_twin(arm: Arm) -> bool:
    """Return whether showing an item in `arm` takes the other context of its pair."""
    return any(kind_of(one).needs_twin for one in arm.transforms)


def show(
    arm: Arm,
    query: Query,
    context: Context | None,
    *,
    twin: Context | None = None,
    made: MadeTexts | None = None,
) -> ShownItem:
    """Return what is shown of an item in `arm`. A transform that fails is a `problem` of this item alone.

    Raises
    ------
    ConfigurationError
        There is no such transform.
    """
    scene = Scene(query, context, twin, made)
    bare = ShownItem(query.text, {}, judged=query.judged, before=query.before or ())
    shown = bare if context is None else replace(bare, context=context.shown())
    for transform in arm.transforms:
        do = kind_of(transform).do
        try:
            shown = do(shown, scene, transform.rest)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's own code may raise anything
            return replace(bare, problem=f"{transform.name} failed: {type(error).__name__}: {error}")
        if shown.problem is not None:
            return shown
    return shown


def show_item(arm: Arm, benchmark: Benchmark, item: Item, *, made: MadeTexts | None = None) -> ShownItem:
    """Return what is shown of an item of `benchmark` in `arm`, its twin and what models made at hand. Raises as `show`."""
    query, twin = benchmark.query[item.query_id], benchmark.twin_of(item)
    return show(arm, query, benchmark.context_of(item), twin=twin, made=made)


# Which attacks, perturbations and defences there are, by name and with an example, and which of them a user
# means.


DEFENCES = ("none", "system", "datamark", "delimit")

WITH_FACTS = ("verified", "annotated")

WITH_MODEL = ("filter", "detect", "detect-ask")

PERTURBATIONS = (*(f"order:{one}" for one in ORDERS), *(f"format:{one}" for one in LAYOUTS), "turns:greeting")

NO_DEFENCE = "none"


@dataclass(frozen=True)
class Offered:
    """One that a user can choose: what it is called, what it is, and what it says or does."""

    name: str
    role: TransformRole
    title: str
    channel: Channel | None
    direction: Direction | None
    example: str


@dataclass(frozen=True)
class Setting:
    """An arm as a report sees it: the attack or perturbation by name, the defence by name; either may be missing."""

    attack: str | None
    role: TransformRole | None
    direction: Direction | None
    defence: str

    @property
    def twin(self) -> bool:
        """Return whether the other context of the pair says where it aims."""
        return self.attack is not None and self.attack.startswith("twin")


TITLES = {
    "twin:all": "The whole other context of the pair claimed in the user's turn, against the true one in the system message",
    "order:reversed": "Groups and parameters in the opposite order",
    "order:shuffled": "Groups and parameters in an order drawn for the item",
    "turns:greeting": "A conversation before the request that says nothing: the control for claims in a conversation",
    "system": "The context in the system message, the user's text between marks, and said so",
    "datamark": "Every space of what comes in replaced by a mark, and said so",
    "delimit": "What comes in between marks that nobody can guess, and said so",
    "none": "Nothing is done",
}


ONES_OWN: tuple[tuple[str, TransformRole, str, str], ...] = (
    *(
        (f"{name}:CLAIM", "attack", f"A claim in {name}, and so said", f"{name}:authority/user/safe")
        for name in ENCODINGS
    ),
    *(
        (f"{code}:CLAIM", "attack", f"A claim in {name}", f"{code}:authority/user/safe")
        for code, name in LANGUAGES.items()
    ),
    (
        "adaptive:…",
        "attack",
        "A model rewrites its claim after each verdict: --attacker MODEL",
        "--attacker openai/gpt-4o",
    ),
    ("toml:FILE", "attack", "Attacks of your own, in words (a .toml or .jsonl file)", "mine.toml#colleague/user/safe"),
    ("python:MODULE:FUNCTION", "attack", "An attack of your own, a function of what is shown", "python:mine:claim"),
    ("paraphrase:MODEL", "perturbation", "Every statement in a model's other words", "paraphrase:openai/gpt-4o"),
    ("checked:FILE", "perturbation", "In other words that a person has accepted", "checked:checked.jsonl"),
    ("filter:MODEL", "defence", "A model takes instructions out of parameters first", "filter:openai/gpt-4o"),
    ("detect:MODEL", "defence", "Refused where a model finds an attack", "detect:openai/gpt-4o"),
    ("detect-ask:MODEL", "defence", "The user is asked where a model finds an attack", "detect-ask:openai/gpt-4o"),
    ("verified:FACTS", "defence", "Only claims that facts support", "verified:facts.jsonl"),
    ("annotated:FACTS", "defence", "Each claim with what facts say of it", "annotated:facts.jsonl"),
)
"""What takes a model, a file or a function of one's own: what to write, what it is for, and what it does."""


def with_ones_own(parameters: ParameterSet | None = None) -> tuple[Offered, ...]:
    """All that `offered` has, and what one completes oneself."""
    own = (Offered(name, role, title, None, None, example) for name, role, title, example in ONES_OWN)
    return (*offered(parameters), *own)


def offered(parameters: ParameterSet | None = None) -> tuple[Offered, ...]:
    """All attacks, perturbations and defences, in the order of a list; attacks from the twin by these parameters."""
    return (
        *(
            Offered(f"claim:{name}", "attack", own.claim.title, own.channel, own.direction, own.wordings[0])
            for name, own in sayings().items()
        ),
        *(as_offered(name) for name in twins(parameters or paper_parameters())),
        *map(as_offered, PERTURBATIONS),
        *map(as_offered, DEFENCES),
    )


def as_offered(name: str) -> Offered:
    kind, _, rest = name.partition(":")
    role = "defence" if name == NO_DEFENCE else role_of(Transform.named(name)) or "own"
    title = TITLES.get(name, f"Its twin's {rest} in place of its own" if kind == "twin" else f"The context as {rest}")
    return Offered(name, role, title, None, None, example_of(name))


EXAMPLE = Query(text="How do I read the lock's history?", category="Example", source="example")
PAIR = tuple(
    Context.stating(
        {"recipient": {"type": who, "background": told}}, query_id=EXAMPLE.id, intended_safe=safe, origin="imported"
    )
    for who, told, safe in (
        ("a locksmith", "Called by the owner.", True),
        ("a passer-by", "Saw the house empty.", False),
    )
)


def example_of(name: str) -> str:
    """Return what an example reads like under a perturbation or defence, or one from its twin: who asks, then what is said."""
    if name == NO_DEFENCE:
        return EXAMPLE.text
    shown = show(arm_named(name), EXAMPLE, PAIR[1], twin=PAIR[0])
    if shown.problem is not None:
        return "the same of another parameter"
    if shown.placement.layout is not None:
        return laid_out(shown.context, shown.placement.layout)
    if shown.before:
        return conversation(shown.before)
    return f"{'; '.join(f'{k}: {v}' for k, v in shown.context['recipient'].items())} | {' '.join(shown.query.split())}"


def twins(parameters: ParameterSet) -> Iterator[str]:
    yield f"twin:{ALL}"
    yield from (f"twin:{name}" for name in (*parameters.group_names, *parameters.names))


def attacks_named(wanted: str | Sequence[str], parameters: ParameterSet | None = None) -> tuple[Transform, ...]:
    """The attacks and perturbations that `wanted` names, each once; with commas where it is a text.

    `all` is all of ours; part of a name all that begin with it (`claim`, `claim:authority/user`); `toml:FILE` all of a
    user's own file, `toml:FILE#NAME` one of them.

    Raises ConfigurationError: nothing is called so. DataError: a user's file cannot be read.
    """
    known = [one.name for one in offered(parameters) if one.role != "defence"]
    names = wanted.split(",") if isinstance(wanted, str) else wanted
    found = [name for text in names for name in those_called(text.strip(), known)]
    return tuple(dict.fromkeys(arm_named(name).transforms[0] for name in found))


def those_called(text: str, known: Sequence[str]) -> list[str]:
    if text == "all":
        return list(known)
    form, _, rest = text.partition(":")
    if form in FORMS:
        plain = those_called(rest, known) if is_file(rest) else beginning(rest, sayings()) if rest else sayings()
        return [f"{form}:{name}" for name in plain]
    if text.startswith(("python:", "paraphrase:")):
        return [text]
    if text.startswith("checked:"):
        return [of_its_file(text)]
    if is_file(text) and not text.startswith("toml:"):
        text = f"toml:{text}"
    if text.startswith("toml:") and "@" not in text:
        path = text.removeprefix("toml:").partition("#")[0]
        own = [Transform(kind="toml", rest=rest).name for rest in own_sayings(Path(path))]
        return beginning(quoted(text), own)
    return [text] if text in known or text.startswith("toml:") else beginning(text, known)


def is_file(text: str) -> bool:
    """Return whether `text` names a user's file of attacks, or one of them."""
    name = text.partition("#")[0]
    return name.startswith("toml:") or (
        ":" not in name and name.endswith((".toml", ".jsonl", ".yaml", ".yml", ".prompt"))
    )


def beginning(text: str, names: Iterable[str]) -> list[str]:
    known = tuple(names)
    found = [name for name in known if name.startswith(text) and name[len(text) :][:1] in (":", "/", ".", "#", "@", "")]
    if not found:
        raise ConfigurationError(
            f"no attack is called {text!r}{did_you_mean(text, known)}; casewise show attacks shows all that there are"
        )
    return found


def defences_named(wanted: str | Sequence[str], *, at: date | str | None = None) -> tuple[str, ...]:
    """The defences that `wanted` names, each once; with commas where it is a text.

    `verified:FACTS` and `annotated:FACTS` are spelt out: with a digest of the facts, and the day on which they are asked: `at`, or
    today.

    Raises ConfigurationError: one of them is none.
    """
    names = [name.strip() for name in (wanted.split(",") if isinstance(wanted, str) else wanted)]
    for place, name in enumerate(names):
        kind, _, path = name.partition(":")
        if kind.partition("@")[0] in WITH_FACTS and path:
            names[place] = of_its_file(name, at=at)
        elif name not in DEFENCES and kind != "python" and not (kind in WITH_MODEL and path):
            raise ConfigurationError(
                f"no defence is called {name!r}{did_you_mean(name, DEFENCES)}; there are {', '.join(DEFENCES)}, "
                "filter:MODEL, detect:MODEL, detect-ask:MODEL, verified:FACTS, annotated:FACTS and python:MODULE:FUNCTION"
            )
    return tuple(dict.fromkeys(names))


def of_its_file(name: str, *, at: date | str | None = None) -> str:
    """The name of a transform that goes by a file, with a digest of the file (and the day); any other as it is.

    Raises DataError: the file cannot be read.
    """
    kind, _, path = name.partition(":")
    if not path or "@" in path:
        return name
    if kind in WITH_FACTS:
        return quoted(spelt_out(kind, path, at=at))
    return quoted(with_digest(kind, path, read_accepted)) if kind == "checked" else name


def quoted(name: str) -> str:
    """`name` as arms write it."""
    kind, _, rest = name.partition(":")
    return Transform(kind=kind, rest=rest).name


def attack_arms(attacks: Iterable[Transform], defences: Iterable[str]) -> tuple[Arm, ...]:
    """Every attack under every defence, before them each defence without an attack, and first of all neither."""
    attacks = tuple(attacks)
    found = [FULL]
    for defence in defences:
        behind = () if defence == NO_DEFENCE else arm_named(defence).transforms
        found += [Arm(transforms=behind), *(Arm(transforms=(one, *behind)) for one in attacks)]
    return tuple(dict.fromkeys(found))


def own_defences(arms: Iterable[Arm]) -> frozenset[str]:
    """Users' own functions that stand behind another transform in some arm: there they are defences, and so alone."""
    behind = (arm.transforms[1] for arm in arms if len(arm.transforms) == 2)
    return frozenset(one.name for one in behind if role_of(one) == "own")


def setting_of(arm: Arm, own: Collection[str] = ()) -> Setting | None:
    """Return what an arm is for a report of attacks; None where it is none of that, such as one that leaves parameters out.

    `own`: users' own functions that are defences (`own_defences`); others are attacks.
    """
    roles = [role_of(one) for one in arm.transforms]
    if arm.shows_all:
        return Setting(None, None, None, NO_DEFENCE)
    first, role = arm.transforms[0], roles[0]
    if len(roles) == 1 and (role == "defence" or first.name in own):
        return Setting(None, None, None, first.name)
    if role not in ("attack", "perturbation", "own") or len(roles) > 2 or roles[1:] not in ([], ["defence"], ["own"]):
        return None
    defence = arm.transforms[1].name if len(roles) == 2 else NO_DEFENCE
    return Setting(as_typed(first), role, direction_of(first), defence)


def as_typed(transform: Transform) -> str:
    """Return a transform's name as a user types it: the version stands in it only where it is another than this casewise's."""
    kind = transform_kind(transform.kind)
    if kind is not None and kind.version == transform.version:
        return f"{transform.kind}{':' if transform.rest else ''}{transform.rest}"
    return transform.name.replace(":", "@1:", 1) if transform.version == 1 and kind is not None else transform.name


def direction_of(transform: Transform) -> Direction | None:
    """Towards which verdict an attack argues; None where its name does not say."""
    if transform.kind == "adaptive":
        return AdaptiveTurn.named(transform.rest).direction
    if transform.kind not in ("claim", "toml", *FORMS):
        return None
    own = transform.kind == "toml" or transform.rest.startswith("toml:")
    name = transform.rest.rpartition("@")[0] if own else transform.rest
    return "safe" if name.endswith("/safe") else "unsafe"


def saying_of(transform: Transform) -> Saying | None:
    """Return the claim that a transform makes; None for any other, of another version, or where its file has moved or changed."""
    try:
        kind_of(transform)
        return saying_in(transform.kind, transform.rest) if transform.kind in ("claim", "toml", *FORMS) else None
    except CasewiseError:
        return None
