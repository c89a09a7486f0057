"""Compare the prompts of guards' profiles with those that their makers publish.

    pip download --no-deps wildguard==1.0.1 any-guardrail==0.7.7 nemoguardrails==0.17.0 -d FOLDER, and unpack the wheels there
    python scripts/compare_guards.py FOLDER

`published_prompts.toml` has the digests of published prompts, each with its source. This script computes those of packages again. The
constants are read from the sources; nothing of the packages is run.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template

from casewise.ask.layouts import ShownItem
from casewise.judges.guard_profiles import GuardProfile, GuardPrompt, find_profile, wording

REQUEST, REPLY = "May I see the rota?", "It hangs by the door."
POLICY = wording()["nothing_known"]
"""The policy of the compared prompts: the sentence that nothing is known of the circumstances."""


@dataclass(frozen=True)
class PublishedPrompt:
    """A prompt that a guard's makers publish, by its digest for the request or the reply."""

    guard: str
    source: str
    sha256: str
    reply: bool = False
    mode: str | None = None
    last: bool = False

    @property
    def title(self) -> str:
        """The part that it covers."""
        part = "last message" if self.last else "messages"
        return f"{part} for a {'reply' if self.reply else 'request'}{f', {self.mode}' if self.mode else ''}"


def published_prompts() -> list[PublishedPrompt]:
    """Return the published prompts with a digest."""
    text = Path(__file__).with_name("published_prompts.toml").read_text(encoding="utf-8")
    return [PublishedPrompt(**prompt) for prompt in tomllib.loads(text)["prompt"]]


def digest_of(messages: list[list[str]], arguments: Mapping[str, str] | None = None, *, last: bool = False) -> str:
    """Return the SHA-256 of a prompt: of role and content of each message and the template's arguments, or of the last content."""
    text = messages[-1][1] if last else json.dumps([messages, arguments])
    return hashlib.sha256(text.encode()).hexdigest()


def sent_digest(profile: GuardProfile, published: PublishedPrompt) -> str:
    """Return the digest of what casewise sends in the place of a published prompt."""
    prompt = GuardPrompt(profile, profile.renderings[0], published.mode or next(iter(profile.modes), None), "{context}")
    exchange = ShownItem(REQUEST, {}), REPLY if published.reply else None
    messages = [[message.role, message.content] for message in prompt.messages(*exchange)]
    return digest_of(messages, prompt.template_arguments(*exchange), last=published.last)


def constants(path: Path) -> dict[str, str]:
    """Return the texts among a module's constants."""
    texts: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            if isinstance(value, str):
                texts[node.targets[0].id] = value
    return texts


def wildguard(folder: Path, published: PublishedPrompt) -> list[list[str]]:
    text = constants(folder / "wildguard" / "utils.py")["WILDGUARD_INPUT_FORMAT"]
    return [["user", text.format(prompt=REQUEST, response=REPLY if published.reply else "")]]


def granite_guardian(folder: Path, published: PublishedPrompt) -> list[list[str]]:
    path = folder / "any_guardrail" / "guardrails" / "granite_guardian" / "granite_guardian.py"
    judge = constants(path)["GUARDIAN_JUDGE_THINK" if published.mode == "think" else "GUARDIAN_JUDGE_NOTHINK"]
    block = next(
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr) and "Scoring Schema" in ast.unparse(node)
    )
    values = iter((judge, f"The text violates the policy below.\n\n{POLICY}"))
    last = "".join(str(part.value) if isinstance(part, ast.Constant) else next(values) for part in block.values)
    return [["user", REQUEST], *([["assistant", REPLY]] if published.reply else []), ["user", last]]


def nemotron_safety_guard(folder: Path, published: PublishedPrompt) -> list[list[str]]:
    import yaml  # type: ignore[import-untyped]

    side = "output" if published.reply else "input"
    prompts = yaml.safe_load(
        (folder / "examples" / "configs" / "content_safety" / "prompts.yml").read_text(encoding="utf-8")
    )["prompts"]
    (text,) = (
        each["content"] for each in prompts if each["task"] == f"content_safety_check_{side} $model=content_safety"
    )
    return [["user", Template(text).render(user_input=REQUEST, bot_response=REPLY)]]


def main(folder: Path) -> None:
    packages = {
        "wildguard": wildguard,
        "granite-guardian": granite_guardian,
        "nemotron-safety-guard": nemotron_safety_guard,
    }
    for published in published_prompts():
        if published.guard in packages:
            digest = digest_of(packages[published.guard](folder, published))
            equal = digest == published.sha256 == sent_digest(find_profile(published.guard), published)
            print(f"{published.guard}: {published.title}: {'equal' if equal else f'DIFFERENT: {digest}'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
