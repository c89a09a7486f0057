"""The transforms that there are, and an arm done: one line a kind in `TRANSFORMS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from casewise.errors import ConfigurationError
from casewise.records import Arm, Context, ParameterSet, Query, Transform
from casewise.records.arm import WITHOUT
from casewise.records.context import omit
from casewise.showing.own import function_at, own_transform
from casewise.showing.shown import Scene, ShownItem

__all__ = ["TRANSFORMS", "TransformKind", "arm_named", "check_arms", "needs_twin", "show"]


@dataclass(frozen=True)
class TransformKind:
    """A kind of transform: what it does, in which version, and what it needs for that."""

    form: str
    """What to write, for those who must choose."""
    do: Callable[[ShownItem, Scene, str], ShownItem]
    """What is shown after it, from what was shown before, the item, and the rest of the transform's name."""
    version: int = 1
    """Raised when the same name shows something else. Runs of older versions are read, and not gone on with."""
    needs_twin: bool = False
    check: Callable[[str], object] = lambda _rest: None
    """Raises a `ConfigurationError` where the rest of the name means nothing."""


def without(shown: ShownItem, _scene: Scene, rest: str) -> ShownItem:
    left = {} if rest == EVERYTHING else omit(shown.context, tuple(rest.split(",")))
    return replace(shown, context=left)


EVERYTHING = Arm.named("none").transforms[0].rest

TRANSFORMS: dict[str, TransformKind] = {
    WITHOUT: TransformKind("without:PARAMETER,...", without),
    "python": TransformKind("python:MODULE:FUNCTION (your own)", own_transform, needs_twin=True, check=function_at),
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
            kind_of(transform).check(transform.rest)
            if parameters is not None and transform.rest != EVERYTHING:
                parameters.check_names(transform.omits)


def needs_twin(arm: Arm) -> bool:
    """Whether showing an item in `arm` takes the other context of its pair."""
    return any(kind_of(one).needs_twin for one in arm.transforms)


def show(arm: Arm, query: Query, context: Context | None, *, twin: Context | None = None) -> ShownItem:
    """What is shown of an item in `arm`. A transform that fails is a `problem` of this item alone.

    Raises
    ------
    ConfigurationError
        There is no such transform.
    """
    scene = Scene(query, context, twin)
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
