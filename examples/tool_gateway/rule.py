"""A rule as a judge of actions, written with the demo in view: it shows the path, and measures nothing."""

from __future__ import annotations

WRONG = (
    """
employer|never dealt|flatmate|internet|next door|collects|a neighbour who|whole team|other pupils|on the phone|newspaper|friend|dating
neighbour of|stranger|left the firm|brother|own manager|curious|away from home|text message|advertisement|form works|want to leave
before a review|compare|in reserve|in case|pressure|laugh|new customers|others hear|without notice|birthday|raise the number
""".strip()
    .replace("\n", "|")
    .split("|")
)
"""Words of recipients and purposes that most people of the demo refuse."""

NEVER = ("send passwords", "publish salaries", "record call")


def permission(action: str, context: dict[str, dict[str, str]]) -> str:
    """Return allow, deny, or ask: wherever money moves, the user is asked."""
    words = " ".join(text for group in context.values() for text in group.values())
    tool = action.split("“")[1].split("”", maxsplit=1)[0]
    if tool in ("pay invoice", "transfer points"):
        return "ask"
    return "deny" if tool in NEVER or any(wrong in words for wrong in WRONG) else "allow"
