"""What a judge is shown of an item: an arm's transforms, done in turn."""

from casewise.showing.shown import Placement, Scene, ShownItem
from casewise.showing.transforms import TRANSFORMS, TransformKind, arm_named, check_arms, needs_twin, show

__all__ = [
    "TRANSFORMS",
    "Placement",
    "Scene",
    "ShownItem",
    "TransformKind",
    "arm_named",
    "check_arms",
    "needs_twin",
    "show",
]
