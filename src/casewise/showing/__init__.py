"""What a judge is shown of an item: an arm's transforms, done in turn."""

from casewise.showing.by_model import MadeTexts
from casewise.showing.shown import Placement, Scene, ShownItem
from casewise.showing.transforms import (
    TRANSFORMS,
    TransformKind,
    TransformRole,
    arm_named,
    check_arms,
    needs_twin,
    role_of,
    show,
    show_item,
)

__all__ = [
    "TRANSFORMS",
    "MadeTexts",
    "Placement",
    "Scene",
    "ShownItem",
    "TransformKind",
    "TransformRole",
    "arm_named",
    "check_arms",
    "needs_twin",
    "role_of",
    "show",
    "show_item",
]
