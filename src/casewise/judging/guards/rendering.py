"""What a guard is sent: its profile's messages with the policy, the conversation and the context in their places."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from casewise.judging.guards.profile import GuardMode, GuardProfile, Rendering
from casewise.models.protocol import Message
from casewise.prompting.chat import chat_with
from casewise.prompting.layouts import laid_out
from casewise.prompting.substitution import filled
from casewise.records.base import digest
from casewise.showing import ShownItem

__all__ = ["conversation_of", "guard_messages", "policy_id", "template_arguments"]

DEFAULT = GuardMode()

SPEAKERS = {"user": "User", "assistant": "Chatbot", "system": "System"}


def guard_messages(
    profile: GuardProfile,
    rendering: Rendering,
    shown: ShownItem,
    *,
    policy: str | None = None,
    reply: str | None = None,
    mode: GuardMode = DEFAULT,
) -> tuple[Message, ...]:
    """The messages that ask a guard about an item.

    `policy`: a deployer's own, in the place of ours; it may hold `{context}`.
    `reply`: a chatbot's reply, judged in the place of the request.
    """
    in_policy = rendering == "policy"
    bare = ShownItem(shown.query, {}, shown.placement) if in_policy else shown
    turns = conversation_of(bare, system_turn=profile.system_turn, reply=reply)
    context = context_text(shown)
    about = context if in_policy else wording()["in_conversation"]
    values = {
        "policy": policy_about(about, policy),
        "mode": mode.says,
        "query": shown.query,
        "context": context,
        "transcript": "\n\n".join(f"{SPEAKERS[turn.role]}: {turn.content}" for turn in turns),
    }
    found: list[Message] = []
    for one in profile.policy if in_policy or not profile.conversation else profile.conversation:
        found += turns if one.content == "{turns}" else [Message(one.role, filled(one.content, values))]
    return tuple(found)


def template_arguments(
    profile: GuardProfile,
    rendering: Rendering,
    shown: ShownItem,
    *,
    policy: str | None = None,
    mode: GuardMode = DEFAULT,
) -> dict[str, Any] | None:
    """What the guard's chat template is given besides the messages, filled in as these are."""
    given = profile.template_arguments
    if not given:
        return None
    about = context_text(shown) if rendering == "policy" else wording()["in_conversation"]
    values = {"policy": policy_about(about, policy), "mode": mode.says}
    return {name: filled(one, values) if isinstance(one, str) else one for name, one in given.items()}


def conversation_of(shown: ShownItem, *, system_turn: bool, reply: str | None = None) -> tuple[Message, ...]:
    """The conversation that the chatbot is in: the context where the deployer would tell it, and what was said."""
    placed, chat = shown.placement, chat_with()
    query = shown.query if system_turn else "\n\n".join((*placed.system, shown.query))
    turns = chat.messages(
        query,
        shown.context,
        earlier=placed.earlier,
        role="system" if system_turn else "user",
        system=placed.system if system_turn else (),
        layout=placed.layout,
    )
    return (*turns, Message("assistant", reply)) if reply is not None else turns


def context_text(shown: ShownItem) -> str:
    return laid_out(shown.context, shown.placement.layout or "list") if shown.context else wording()["nothing_known"]


def policy_about(context: str, own: str | None) -> str:
    """The policy with the context in its place; one of a deployer's own that has no place for it is followed by it."""
    text = wording()["text"] if own is None else own if "{context}" in own else f"{own}\n\n# CIRCUMSTANCES\n{{context}}"
    return filled(text, {"context": context})


def policy_id(own: str | None) -> str:
    """Which policy: ours with its version, or a digest of the deployer's own."""
    return (
        f"{wording()['name']}@{wording()['version']}+{digest(wording()['text'])[:8]}"
        if own is None
        else f"own+{digest(own)[:8]}"
    )


@cache
def wording() -> dict[str, str]:
    text = files("casewise.judging.guards").joinpath("policy.toml").read_text(encoding="utf-8")
    return {name: value.strip("\n") for name, value in tomllib.loads(text).items()}
