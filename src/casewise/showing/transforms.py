"""The transforms that there are, and an arm done: one line a kind in `TRANSFORMS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from casewise.errors import ConfigurationError
from casewise.records import Arm, Context, Item, ParameterSet, Query, Transform
from casewise.records.arm import WITHOUT
from casewise.records.context import omit
from casewise.showing.by_model import MadeTexts, check_model, detect, detect_ask, rewrite
from casewise.showing.checked import accepted, checked
from casewise.showing.claims import claim, own_claim, own_said, said
from casewise.showing.defences import datamark, delimit, in_system
from casewise.showing.perturbations import check_layout, check_order, layout, order
from casewise.showing.shown import Scene, ShownItem
from casewise.showing.twins import parameters_of_twin, twin
from casewise.showing.user_function import function_at, own_transform
from casewise.showing.verified import annotated, known, known_facts, known_systems, verified
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = [
    "TRANSFORMS",
    "TransformKind",
    "TransformRole",
    "arm_named",
    "check_arms",
    "needs_twin",
    "role_of",
    "show",
    "show_item",
]

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
    "claim": TransformKind("claim:CLAIM/CHANNEL/DIRECTION", claim, "attack", check=said),
    "twin": TransformKind(
        "twin:PARAMETER", twin, "attack", needs_twin=True, check=parameters_of_twin, parameters=parameters_of_twin
    ),
    "toml": TransformKind("toml:FILE#NAME/CHANNEL/DIRECTION@DIGEST", own_claim, "attack", check=own_said),
    "order": TransformKind("order:reversed", order, "perturbation", check=check_order),
    "format": TransformKind("format:LAYOUT", layout, "perturbation", check=check_layout),
    "paraphrase": TransformKind("paraphrase:MODEL", partial(rewrite, "paraphrase"), "perturbation", check=check_model),
    "checked": TransformKind("checked:FILE@DIGEST", checked, "perturbation", check=accepted),
    "filter": TransformKind("filter:MODEL", partial(rewrite, "filter"), "defence", check=check_model),
    "detect": TransformKind("detect:MODEL", detect, "defence", check=check_model),
    "detect-ask": TransformKind("detect-ask:MODEL", detect_ask, "defence", check=check_model),
    "system": TransformKind("system", in_system, "defence", check=no_rest),
    "datamark": TransformKind("datamark", datamark, "defence", check=no_rest),
    "delimit": TransformKind("delimit", delimit, "defence", check=no_rest),
    "verified": TransformKind("verified:FACTS@DIGEST@DAY", verified, "defence", check=known_facts),
    "known": TransformKind("known:FILE@DIGEST", known, "defence", check=known_systems),
    "annotated": TransformKind("annotated:FACTS@DIGEST@DAY", annotated, "defence", check=known_facts),
    "python": TransformKind(
        "python:MODULE:FUNCTION (your own)", own_transform, "own", needs_twin=True, check=function_at
    ),
}


def kind_of(transform: Transform) -> TransformKind:
    """What does `transform`.

    Raises
    ------
    ConfigurationError
        There is no such transform, or not in that version.
    """
    kind = TRANSFORMS.get(transform.kind)
    if kind is None:
        *forms, last = ("'full'", "'none'", *(f"'{one.form}'" for one in TRANSFORMS.values()))
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
    kind = TRANSFORMS.get(transform.kind)
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
    """What a transform is for; None where this casewise does not know it."""
    kind = TRANSFORMS.get(transform.kind)
    return None if kind is None else kind.role


def needs_twin(arm: Arm) -> bool:
    """Whether showing an item in `arm` takes the other context of its pair."""
    return any(kind_of(one).needs_twin for one in arm.transforms)


def show(
    arm: Arm,
    query: Query,
    context: Context | None,
    *,
    twin: Context | None = None,
    made: MadeTexts | None = None,
) -> ShownItem:
    """What is shown of an item in `arm`. A transform that fails is a `problem` of this item alone.

    Raises
    ------
    ConfigurationError
        There is no such transform.
    """
    scene = Scene(query, context, twin, made)
    shown = ShownItem(query.text, context.shown() if context is not None else {})
    for transform in arm.transforms:
        do = kind_of(transform).do
        try:
            shown = do(shown, scene, transform.rest)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's own code may raise anything
            return ShownItem(query.text, {}, problem=f"{transform.name} failed: {type(error).__name__}: {error}")
        if shown.problem is not None:
            return shown
    return shown


def show_item(arm: Arm, benchmark: Benchmark, item: Item, *, made: MadeTexts | None = None) -> ShownItem:
    """What is shown of an item of `benchmark` in `arm`, its twin and what models made at hand. Raises as `show`."""
    query, twin = benchmark.query[item.query_id], benchmark.twin_of(item)
    return show(arm, query, benchmark.context_of(item), twin=twin, made=made)
