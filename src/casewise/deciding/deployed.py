"""The judge of a decider, made anew: the one that was measured, or none."""

from __future__ import annotations

from typing import Any

from casewise.deciding.decider_file import JudgePart
from casewise.errors import ConfigurationError, JudgeError
from casewise.judging.asking.elicitation import AskOptions
from casewise.judging.judge import Judge
from casewise.judging.judges.live import LiveOptions
from casewise.judging.judges.named import judge_named
from casewise.models.http.endpoints import parse_model_name
from casewise.models.load import ModelOptions
from casewise.records import Arm
from casewise.records.base import canonical_json

__all__ = ["check_deployable", "check_same", "judge_anew"]

NOT_DEPLOYED = {
    "linear": "it learnt from the benchmark's own people, query by query: of a new request it knows nothing but words",
    "recorded": "it repeats answers given before, and has none to a new request",
    "constant:intended": "it says what a context's author meant, which nobody knows of a new request",
}


def check_deployable(name: str, arm: str) -> None:
    """Refuse a judge, or an arm, that has no meaning outside the benchmark. Raises JudgeError: with the reason."""
    for known, why in NOT_DEPLOYED.items():
        if name == known or name.startswith(f"{known}:"):
            raise JudgeError(f"{name} cannot be a decider: {why}")
    if not (shown := Arm.named(arm)).only_omits and not shown.shows_all:
        raise JudgeError(
            f"the arm {arm!r} cannot be deployed: it changes what a context says; fit on an arm that shows or omits"
        )


def judge_anew(part: JudgePart, *, model: ModelOptions = ModelOptions()) -> Judge:
    """The judge that `part` speaks of.

    Raises JudgeError: it cannot be deployed, does not exist here, or is not the one that was measured.
    """
    check_deployable(part.name, part.arm)
    judge = judge_named(part.name, None, elicitation=part.elicitation, live=live_options(part, model))
    check_same(judge, part)
    return judge


def check_same(judge: Judge, part: JudgePart) -> None:
    """Refuse a judge that is not the one that was measured."""
    now, then = said(judge.settings()), said(part.settings)
    if judge.id == part.id and now == then:
        return
    differ = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    what = (
        "; ".join(f"{name} was {then.get(name)!r} and is {now.get(name)!r}" for name in differ)
        or f"its id is {judge.id}"
    )
    raise JudgeError(
        f"{part.name} is not the judge that was measured: {what}. Judge the benchmark with it and fit again"
    )


def said(settings: dict[str, Any]) -> dict[str, str]:
    return {name: canonical_json(value) for name, value in settings.items() if value is not None}


def live_options(part: JudgePart, model: ModelOptions) -> LiveOptions:
    """How the model was reached and asked when it was measured."""
    settings = part.settings
    asked = {name: settings[name] for name in AskOptions.__dataclass_fields__ if name in settings}
    role = settings.get("context_role", "user")
    if role not in ("user", "system"):
        raise ConfigurationError(f"context_role is {role!r}; it is user or system")
    known = parse_model_name(part.name).prefix is not None
    address = model.base_url or part.base_url or (None if known else remote(settings.get("base_url")))
    chosen = ModelOptions(address, model.prices, model.client, model.local, model.needs_key, model.fakes)
    protocol = settings.get("protocol")
    return LiveOptions(
        part.prompts,
        role,
        AskOptions(**asked) if not protocol else AskOptions(),
        chosen,
        protocol,
        settings.get("policy_text"),
    )


def remote(address: Any) -> str | None:
    return address if isinstance(address, str) and address.startswith("http") else None
