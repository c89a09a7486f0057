"""The transforms that there are, by name, and an arm done."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from casewise.ask.layouts import Scene, ShownItem
from casewise.errors import CasewiseError, ConfigurationError, did_you_mean, one_of
from casewise.plugins import find_part, part_names
from casewise.records import FULL, Arm, Context, Item, ParameterSet, Query, Transform, paper_parameters
from casewise.records.call import WITHOUT
from casewise.records.context import omit
from casewise.storage.benchmark import Benchmark
from casewise.transforms.attacks import (
    ALL,
    CLAIMS_VERSION,
    FORMS,
    GREETINGS,
    LAYOUTS,
    ORDERS,
    Attack,
    attacks_by_name,
    claim,
    find_attack,
    greeting,
    layout,
    order,
    parameters_of_twin,
    read_claims,
    shipped_claims,
    twin,
)
from casewise.transforms.channels import TURNS, Channel, Direction, datamark, delimit, move_to_system
from casewise.transforms.texts import AdaptiveTurn, MadeTexts, adaptive, check_model, detect, rewrite
from casewise.transforms.user_function import apply_user_function, load_function
from casewise.transforms.verified import annotate_claims, dated_facts, keep_verified, read_facts

# The transforms that there are, and an arm done: one line a kind in `TRANSFORMS`.

TransformRole = Literal["omission", "attack", "perturbation", "defence", "own"]
"""The purpose of a transform: to show less, to lie, to change nothing that matters, or to guard. Only its author knows
that of `own`."""


@dataclass(frozen=True)
class TransformKind:
    """A kind of transform: what it does, in which version, and what it needs for that."""

    form: str
    """The form to write, for those who must choose."""
    do: Callable[[ShownItem, Scene, str], ShownItem]
    """Returns the item as shown after it, from the item before, the scene, and the rest of the transform's name."""
    role: TransformRole
    version: int = 1
    """Raised when the same name shows something else. Runs of older versions are read, and not gone on with."""
    needs_twin: bool = False
    check: Callable[[str], object] = lambda _rest: None
    """Raises a `ConfigurationError` where the rest of the name means nothing."""
    parameters: Callable[[str], tuple[str, ...]] = lambda _rest: ()
    """The parameters and groups that the rest of the name names."""
    title: str = ""
    """What it does, in a list for those who must choose."""
    example: str = ""
    """A whole name, where a user completes the form with a model, a file or a function."""


def without(shown: ShownItem, _scene: Scene, argument: str) -> ShownItem:
    return replace(shown, context={} if argument == EVERYTHING else omit(shown.context, omitted(argument)))


def omitted(argument: str) -> tuple[str, ...]:
    return () if argument == EVERYTHING else tuple(argument.split(","))


def check_no_rest(argument: str) -> None:
    if argument:
        raise ConfigurationError(f"a defence of this kind is written without {argument!r} behind it")


EVERYTHING = Arm.parse("none").transforms[0].rest

BY_MODELS: tuple[tuple[str, Callable[[ShownItem, Scene, str], ShownItem], TransformRole, str], ...] = (
    ("paraphrase", partial(rewrite, "paraphrase"), "perturbation", "Every statement in a model's other words"),
    ("filter", partial(rewrite, "filter"), "defence", "A model takes instructions out of parameters first"),
    ("detect", partial(detect, "refused"), "defence", "Refused where a model finds an attack"),
    ("detect-ask", partial(detect, "asked about"), "defence", "The user is asked where a model finds an attack"),
)


def claim_kind(
    kind: str, form: str, title: str = "", example: str = "", *, version: int = CLAIMS_VERSION
) -> TransformKind:
    do, check = partial(claim, kind), partial(find_attack, kind)
    return TransformKind(form, do, "attack", version, check=check, title=title, example=example)


TRANSFORMS: dict[str, TransformKind] = {
    WITHOUT: TransformKind("without:PARAMETER,...", without, "omission", parameters=omitted),
    "claim": claim_kind("claim", "claim:CLAIM/CHANNEL/DIRECTION"),
    **{kind: claim_kind(kind, f"{kind}:CLAIM", title, f"{kind}:authority/user/safe") for kind, title in FORMS.items()},
    "toml": claim_kind(
        "toml", "toml:FILE", "Attacks of your own, in words (.toml, .jsonl)", "mine.toml#colleague/user/safe", version=1
    ),
    "twin": TransformKind(
        "twin:PARAMETER", twin, "attack", needs_twin=True, check=parameters_of_twin, parameters=parameters_of_twin
    ),
    "adaptive": TransformKind(
        "adaptive:…",
        adaptive,
        "attack",
        check=AdaptiveTurn.parse,
        title="A model rewrites its claim after each verdict: --attacker MODEL",
        example="--attacker openai/gpt-4o",
    ),
    "python": TransformKind(
        "python:MODULE:FUNCTION",
        apply_user_function,
        "own",
        needs_twin=True,
        check=load_function,
        title="An attack of your own, a function of what is shown",
        example="python:mine:claim",
    ),
    **{
        kind: TransformKind(f"{kind}:{form}", do, "perturbation", check=partial(one_of, choices=names, name=kind))
        for kind, form, do, names in (
            ("order", "reversed", order, ORDERS),
            ("turns", "greeting", greeting, GREETINGS),
            ("format", "LAYOUT", layout, LAYOUTS),
        )
    },
    **{
        kind: TransformKind(f"{kind}:MODEL", do, role, check=check_model, title=title, example=f"{kind}:openai/gpt-4o")
        for kind, do, role, title in BY_MODELS
    },
    **{
        kind: TransformKind(kind, do, "defence", check=check_no_rest, title=title)
        for kind, do, title in (
            ("system", move_to_system, "The context in the system message, the user's text between explained marks"),
            ("datamark", datamark, "Every space of the input replaced by an explained mark"),
            ("delimit", delimit, "The input between explained marks that cannot be guessed"),
        )
    },
    **{
        kind: TransformKind(
            f"{kind}:FACTS", do, "defence", 2, check=dated_facts, title=title, example=f"{kind}:facts.jsonl"
        )
        for kind, do, title in (
            ("verified", keep_verified, "Only claims that facts support"),
            ("annotated", annotate_claims, "Each claim with what facts say about it"),
        )
    },
}


def transform_kind(name: str) -> TransformKind | None:
    """Return the kind of transform of this name, ours or an installed package's; None where there is none."""
    return find_part("transforms", name, TransformKind)


def kind_of(transform: Transform) -> TransformKind:
    """Return the kind of `transform`, which carries it out.

    Raises ConfigurationError: there is no such transform, or not in that version.
    """
    kind = transform_kind(transform.kind)
    if kind is None:
        forms = ("full", "none", *(kind.form for kind in TRANSFORMS.values()))
        forms += tuple(name for name in part_names("transforms") if name not in TRANSFORMS)
        raise ConfigurationError(
            f"no arm is called {transform.name!r}; there are {', '.join(map(repr, forms[:-1]))} and {forms[-1]!r}"
        )
    if kind.version != transform.version:
        raise ConfigurationError(
            f"{transform.name!r} is of version {transform.version}; this casewise does version {kind.version}"
        )
    return kind


def parse_arm(name: str) -> Arm:
    """Return the arm that a user calls `name`, each of its transforms in the version that there is.

    Raises ConfigurationError: there is no such arm; the message says which there are.
    """
    transforms = []
    for transform in Arm.parse(name).transforms:
        kind = transform_kind(transform.kind)
        now = (
            transform
            if kind is None or transform.version > 1
            else transform.model_copy(update={"version": kind.version})
        )
        transforms.append(now)
    arm = Arm(transforms=tuple(transforms))
    check_arms((arm,))
    return arm


def check_arms(arms: Iterable[Arm], parameters: ParameterSet | None = None) -> None:
    """Check before the first call that every transform of `arms` works on contexts with `parameters`.

    Raises ConfigurationError: one cannot.
    """
    for arm in arms:
        for transform in arm.transforms:
            kind = kind_of(transform)
            kind.check(transform.rest)
            if parameters is not None:
                parameters.check_names(kind.parameters(transform.rest))


def role_of(transform: Transform) -> TransformRole | None:
    """Return the role of a transform; None for an unknown one."""
    kind = transform_kind(transform.kind)
    return None if kind is None else kind.role


def adds_turns(arm: Arm) -> bool:
    """Return whether an arm puts a conversation before a request."""
    channels = {channel_of(transform) for transform in arm.transforms}
    return any(transform.kind == "turns" for transform in arm.transforms) or not channels.isdisjoint(TURNS)


def needs_twin(arm: Arm) -> bool:
    """Return whether showing an item in `arm` takes the other context of its pair."""
    return any(kind_of(transform).needs_twin for transform in arm.transforms)


def show(
    arm: Arm,
    query: Query,
    context: Context | None,
    *,
    twin: Context | None = None,
    made: MadeTexts | None = None,
) -> ShownItem:
    """Return what is shown of an item in `arm`. A transform that fails is a `problem` of this item alone.

    Raises ConfigurationError: there is no such transform.
    """
    scene = Scene(query, context, twin, made)
    without_context = ShownItem(query.text, {}, judged=query.judged, before=query.before or ())
    shown = without_context if context is None else replace(without_context, context=context.shown())
    for transform in arm.transforms:
        do = kind_of(transform).do
        try:
            shown = do(shown, scene, transform.rest)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's own code may raise anything
            return replace(without_context, problem=f"{transform.name} failed: {type(error).__name__}: {error}")
        if shown.problem is not None:
            return shown
    return shown


def show_item(arm: Arm, benchmark: Benchmark, item: Item, *, made: MadeTexts | None = None) -> ShownItem:
    """Return what is shown of an item of `benchmark` in `arm`, its twin and what models made at hand. Raises as `show`."""
    query, twin = benchmark.query[item.query_id], benchmark.twin_of(item)
    return show(arm, query, benchmark.context_of(item), twin=twin, made=made)


# Which attacks, perturbations and defences there are, by name and with an example, and which of them a user means.

DEFENCES = ("none", "system", "datamark", "delimit")

WITH_FACTS = ("verified", "annotated")

DETECTORS = ("detect", "detect-ask")
"""Defences that hold an item back from the judge."""

WITH_MODEL = ("filter", *DETECTORS)

PERTURBATIONS = (*(f"order:{name}" for name in ORDERS), *(f"format:{name}" for name in LAYOUTS), "turns:greeting")

NO_DEFENCE = "none"


@dataclass(frozen=True)
class AvailableTransform:
    """A transform that a user can choose, with its role, its title and an example."""

    name: str
    role: TransformRole
    title: str
    example: str = ""
    channel: Channel | None = None
    direction: Direction | None = None


@dataclass(frozen=True)
class Setting:
    """An arm as a report sees it: the attack or perturbation by name, the defence by name; either may be missing."""

    attack: str | None
    role: TransformRole | None
    direction: Direction | None
    defence: str

    @property
    def twin(self) -> bool:
        """True if the intent of the pair's other context gives its direction."""
        return self.attack is not None and self.attack.startswith("twin")

    @property
    def has_detector(self) -> bool:
        """True if the defence holds back items in which it finds an attack."""
        return self.defence.partition(":")[0] in DETECTORS


TITLES = {
    "twin:all": "The whole other context of the pair claimed in the user's turn, against the true one in the system message",
    "order:reversed": "Groups and parameters in the opposite order",
    "order:shuffled": "Groups and parameters in an order drawn for the item",
    "turns:greeting": "A conversation before the request that says nothing: the control for claims in a conversation",
    "none": "Nothing is done",
}

TO_COMPLETE = tuple(
    AvailableTransform(kind.form, "attack" if kind.role == "own" else kind.role, kind.title, kind.example)
    for kind in TRANSFORMS.values()
    if kind.example
)
"""Transforms that a user completes with a model, a file or a function."""


def available_transforms(parameters: ParameterSet | None = None) -> tuple[AvailableTransform, ...]:
    """Return all attacks, perturbations and defences, in the order of a list; attacks from the twin by these parameters."""
    parameters = parameters or paper_parameters()
    twins = (f"twin:{name}" for name in (ALL, *parameters.group_names, *parameters.names))
    attacks = [
        AvailableTransform(
            f"claim:{name}", "attack", attack.claim.title, attack.wordings[0], attack.channel, attack.direction
        )
        for name, attack in attacks_by_name(shipped_claims()).items()
    ]
    for name in (*twins, *PERTURBATIONS, *DEFENCES):
        kind, _, argument = name.partition(":")
        role: TransformRole = "defence" if name == NO_DEFENCE else TRANSFORMS[kind].role
        title = f"Its twin's {argument} in place of its own" if kind == "twin" else f"The context as {argument}"
        attacks.append(AvailableTransform(name, role, TITLES.get(name) or TRANSFORMS[kind].title or title))
    return tuple(attacks)


def parse_attacks(attacks: str | Sequence[str], parameters: ParameterSet | None = None) -> tuple[Transform, ...]:
    """Return the attacks and perturbations that `attacks` names, each once; with commas where it is a text.

    `all` is all of ours; part of a name all that begin with it (`claim`, `claim:authority/user`); `toml:FILE` all of a
    user's own file, `toml:FILE#NAME` one of them.

    Raises ConfigurationError: nothing is called so. DataError: a user's file cannot be read.
    """
    offers = [offer.name for offer in available_transforms(parameters) if offer.role != "defence"]
    texts = attacks.split(",") if isinstance(attacks, str) else attacks
    names = [name for text in texts for name in complete_names(text.strip(), offers)]
    return tuple(dict.fromkeys(parse_arm(name).transforms[0] for name in names))


def complete_names(text: str, offers: Sequence[str]) -> list[str]:
    """Return the whole names of the attacks that a user calls `text`, among these offers or in a file."""
    if text == "all":
        return list(offers)
    form, _, argument = text.partition(":")
    if form in FORMS:
        claims = attacks_by_name(shipped_claims())
        spelt = (
            complete_names(argument, offers)
            if is_file(argument)
            else names_beginning_with(argument, claims)
            if argument
            else claims
        )
        return [f"{form}:{name}" for name in spelt]
    if text.startswith(("python:", "paraphrase:")):
        return [text]
    if is_file(text) and not text.startswith("toml:"):
        text = f"toml:{text}"
    if text.startswith("toml:") and "@" not in text:
        path = Path(text.removeprefix("toml:").partition("#")[0])
        attacks = attacks_by_name(read_claims(path)).items()
        attack_names = [quoted(f"toml:{path}#{name}@{attack.fingerprint}") for name, attack in attacks]
        return names_beginning_with(quoted(text), attack_names)
    return [text] if text in offers or text.startswith("toml:") else names_beginning_with(text, offers)


def is_file(text: str) -> bool:
    """Return whether `text` names a user's file of attacks, or one of them."""
    name = text.partition("#")[0]
    return name.startswith("toml:") or (
        ":" not in name and name.endswith((".toml", ".jsonl", ".yaml", ".yml", ".prompt"))
    )


def names_beginning_with(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with `text` as a whole word."""
    names = tuple(names)
    ends = (":", "/", ".", "#", "@", "")
    matches = [name for name in names if name.startswith(text) and name[len(text) :][:1] in ends]
    if not matches:
        raise ConfigurationError(
            f"no attack is called {text!r}{did_you_mean(text, names)}; casewise show attacks shows all that there are"
        )
    return matches


def parse_defences(defences: str | Sequence[str], *, at: date | str | None = None) -> tuple[str, ...]:
    """Return the defences that `defences` names, each once; with commas where it is a text.

    `verified:FACTS` and `annotated:FACTS` are spelt out: with a digest of the facts, and the day on which they are asked: `at`, or
    today.

    Raises ConfigurationError: one of them is none.
    """
    names = [name.strip() for name in (defences.split(",") if isinstance(defences, str) else defences)]
    for place, name in enumerate(names):
        kind, _, path = name.partition(":")
        if kind.partition("@")[0] in WITH_FACTS and path:
            names[place] = with_digest(name, at=at)
        elif name not in DEFENCES and kind != "python" and not (kind in WITH_MODEL and path):
            raise ConfigurationError(
                f"no defence is called {name!r}{did_you_mean(name, DEFENCES)}; there are {', '.join(DEFENCES)}, "
                "filter:MODEL, detect:MODEL, detect-ask:MODEL, verified:FACTS, annotated:FACTS and python:MODULE:FUNCTION"
            )
    return tuple(dict.fromkeys(names))


def with_digest(name: str, *, at: date | str | None = None) -> str:
    """Return the name of a defence by facts, with a digest of them and the day on which they are asked; any other as it is.

    Raises DataError: the file cannot be read, or a line is no fact. ConfigurationError: `at` is no day.
    """
    kind, _, path = name.partition(":")
    if kind not in WITH_FACTS or not path or "@" in path:
        return name
    try:
        day = date.fromisoformat(at) if isinstance(at, str) else at or datetime.now(tz=UTC).date()
    except ValueError:
        raise ConfigurationError(f"{at!r} is not a date; write it as 2026-01-31") from None
    return quoted(f"{name}@{read_facts(Path(path)).fingerprint}@{day.isoformat()}")


def quoted(name: str) -> str:
    """Return `name` as arms write it."""
    kind, _, argument = name.partition(":")
    return Transform(kind=kind, rest=argument).name


def attack_arms(attacks: Iterable[Transform], defences: Iterable[str]) -> tuple[Arm, ...]:
    """Return every attack under every defence, before them each defence without an attack, and first of all neither."""
    attacks = tuple(attacks)
    arms = [FULL]
    for defence in defences:
        behind = () if defence == NO_DEFENCE else parse_arm(defence).transforms
        arms += [Arm(transforms=behind), *(Arm(transforms=(attack, *behind)) for attack in attacks)]
    return tuple(dict.fromkeys(arms))


def user_defences(arms: Iterable[Arm]) -> frozenset[str]:
    """Return the users' functions that follow another transform in some arm. They are defences, also where they stand alone."""
    second_transforms = (arm.transforms[1] for arm in arms if len(arm.transforms) == 2)
    return frozenset(transform.name for transform in second_transforms if role_of(transform) == "own")


def setting_of(arm: Arm, own_attacks: Collection[str] = ()) -> Setting | None:
    """Return the attack and the defence of an arm; None for any other arm, such as one that leaves parameters out.

    `own_attacks`: users' own functions that are defences (`user_defences`); others are attacks.
    """
    roles = [role_of(transform) for transform in arm.transforms]
    if arm.shows_all:
        return Setting(None, None, None, NO_DEFENCE)
    first, role = arm.transforms[0], roles[0]
    if len(roles) == 1 and (role == "defence" or first.name in own_attacks):
        return Setting(None, None, None, first.name)
    if role not in ("attack", "perturbation", "own") or len(roles) > 2 or roles[1:] not in ([], ["defence"], ["own"]):
        return None
    defence = arm.transforms[1].name if len(roles) == 2 else NO_DEFENCE
    return Setting(typed_name(first), role, direction_of(first), defence)


def first_attack(arm: Arm, own_attacks: Collection[str] = ()) -> Transform | None:
    """Return the attack or perturbation that an arm begins with, if it does; `own_attacks`: users' functions that are defences."""
    if not arm.transforms or role_of(first := arm.transforms[0]) not in ("attack", "perturbation", "own"):
        return None
    return None if len(arm.transforms) == 1 and first.name in own_attacks else first


def typed_name(transform: Transform) -> str:
    """Return a transform's name as a user types it, with its version only if that is not the current one."""
    kind = transform_kind(transform.kind)
    if kind is not None and kind.version == transform.version:
        return f"{transform.kind}{':' if transform.rest else ''}{transform.rest}"
    return transform.name.replace(":", "@1:", 1) if transform.version == 1 and kind is not None else transform.name


def direction_of(transform: Transform) -> Direction | None:
    """Return the verdict that an attack argues for; None where its name does not say."""
    if transform.kind == "adaptive":
        return AdaptiveTurn.parse(transform.rest).direction
    if transform.kind not in ("claim", "toml", *FORMS):
        return None
    named = re.search(r"/(safe|unsafe)(?:@[^/]*)?\Z", transform.rest)
    return "safe" if named and named[1] == "safe" else "unsafe"


def channel_of(transform: Transform) -> Channel | None:
    """Return the channel of an attack's claim; None for a perturbation, a twin or a function."""
    if transform.kind == "adaptive":
        return AdaptiveTurn.parse(transform.rest).channel
    attack = attack_of_transform(transform)
    return None if attack is None else attack.channel


def place_of_attack(transform: Transform) -> str:
    """Return in words where a claim stands; of another attack or perturbation its kind."""
    attack, channel = attack_of_transform(transform), channel_of(transform)
    if attack is not None and attack.claim.conversation:
        return "in a made-up conversation"
    return f"of the kind {transform.kind}" if channel is None else f"in the channel {channel}"


def attack_of_transform(transform: Transform) -> Attack | None:
    """Return the claim that a transform makes; None for any other, of another version, or where its file has moved or changed."""
    try:
        kind_of(transform)
        return find_attack(transform.kind, transform.rest) if transform.kind in ("claim", "toml", *FORMS) else None
    except CasewiseError:
        return None
