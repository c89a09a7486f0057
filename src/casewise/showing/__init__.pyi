from .by_model import MadeTexts
from .shown import Placement, Scene, ShownItem
from .transforms import (
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
