"""Guards as judges: a profile over any model, told the context as policy or as content."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from casewise.ask.layouts import Kind, ShownItem, conversation, in_words
from casewise.errors import ConfigurationError, Unavailable
from casewise.judges.guard_profiles import (
    GuardMode,
    GuardProfile,
    Rendering,
    conversation_of,
    guard_messages,
    policy_id,
    profile_named,
    profile_notes,
    read_guard,
    template_arguments,
    wording,
)
from casewise.judges.judge import Answer, Ask, Judge, LocalJudge
from casewise.judges.llm import LiveOptions, LLMJudge
from casewise.models.client import EndpointClient, Request
from casewise.models.endpoints import FREE, Prices, find_endpoint, parse_model_name, read_key
from casewise.models.load import ModelOptions, load_classifier, load_model
from casewise.models.protocol import (
    Classified,
    HoldsWeights,
    Message,
    Rejected,
    Reply,
    ReplyOptions,
    TextClassifier,
    Usage,
)
from casewise.models.wire import Capabilities, WrongShape, optional_text, parsed
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import digest
from casewise.runs.limits import Spend
from casewise.runs.run import at_most, usually

# A moderation endpoint as a judge: it gives a score for each of its categories, and any real number will do.
#
# The value is minus the score, the higher the safer. It has no threshold of its own: reports give its rank metrics, and
# label metrics only with a threshold fitted on other queries.


VERSION = "1"
"""Of how the context and the query are put together."""

UNBILLED = frozenset({"api.openai.com"})
"""Hosts that ask nothing for moderation. What others ask is not listed anywhere."""


@dataclass(frozen=True)
class Verdicts:
    """The scores of an answer, by category, and the model that gave them."""

    scores: Mapping[str, float]
    model_version: str | None
    flagged: tuple[str, ...] | None = None
    """Categories that the endpoint itself says apply; None where it does not say."""


def read_scores(text: str) -> Verdicts:
    """The scores in the body of an answer of `/moderations`. Raises WrongShape: there are none."""
    payload = parsed(text)
    try:
        result = payload["results"][0]
        scores = {str(name): float(value) for name, value in result["category_scores"].items()}
        said = result.get("categories")
        flagged = tuple(str(name) for name, applies in said.items() if applies) if said is not None else None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise WrongShape("the answer has no results[0].category_scores") from error
    return Verdicts(scores, optional_text(payload.get("model")), flagged)


class ModerationJudge(LocalJudge):
    """Gives minus the score of one category, or of the highest.

    A cost limit holds where the provider bills nothing. Answers do not say how many tokens were read, so no limit on
    tokens can be kept.
    """

    elicitations: tuple[Elicitation, ...] = ("scalar",)
    counts_tokens: bool = False

    def __init__(
        self, name: str, client: EndpointClient, *, model_name: str, category: str | None, profile: GuardProfile
    ) -> None:
        self.name, self.profile = name, profile
        self.client, self.model_name, self.category = client, model_name, category
        endpoint = client.endpoint
        self.sends_to = endpoint.host if endpoint.remote else None
        self.prices: Prices | None = FREE if not endpoint.remote or endpoint.host in UNBILLED else None
        self.id = f"{name}#{digest(self.settings())[:12]}"

    @classmethod
    def named(
        cls,
        name: str,
        where: str,
        *,
        profile: GuardProfile | None = None,
        options: ModelOptions | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> ModerationJudge:
        """The judge called `name` of the endpoint and model `PREFIX/MODEL`, or of one of its categories, `PREFIX/MODEL#CATEGORY`.

        Raises ConfigurationError: the prefix is unknown, the address unusable, or the key is not set.
        """
        options = options or ModelOptions()
        variables = os.environ if environment is None else environment
        where, _, category = where.partition("#")
        endpoint = find_endpoint(where, base_url=options.base_url, environment=variables)
        key = read_key(endpoint, variables) if options.needs_key else None
        client = EndpointClient(endpoint, key=key, options=options.client)
        model_name, profile = parse_model_name(where).model, profile or profile_named("moderation")
        return cls(name, client, model_name=model_name, category=category or None, profile=profile)

    def settings(self) -> dict[str, Any]:
        """What its scores depend on."""
        endpoint = self.client.endpoint
        return {
            "model": self.model_name,
            "base_url": endpoint.base_url if endpoint.remote else "this machine",
            "category": self.category,
            "text_version": VERSION,
            "guard": self.profile.id,
        }

    def notes(self) -> tuple[str, ...]:
        """What its numbers are."""
        category = f"of {self.category!r}" if self.category else "that is highest"
        return (
            f"'{self.name}' gives minus the score {category}; it has no threshold of its own.",
            *profile_notes(self.name, self.profile),
        )

    def shared_key(self, ask: Ask) -> str:
        """Equal for asks that one call answers."""
        return digest([self.text(ask), ask.repeat, ask.attempt])

    def text(self, ask: Ask) -> str:
        """What is moderated: the circumstances, where any are shown, and the request."""
        shown = ask.shown
        what = {"request": "Request to a chatbot", "reply": "Reply of a chatbot", "action": "Action of an agent"}[
            shown.judged
        ]
        parts = (
            f"Circumstances:\n{in_words(shown.context)}" if shown.context else "",
            f"Conversation before:\n{conversation(shown.before)}" if shown.before else "",
            f"{what}:\n{shown.query}",
        )
        return "\n\n".join(filter(None, parts))

    async def answer(self, ask: Ask) -> Answer:
        """Minus the score; unscored where the endpoint gives none."""

        def body(_can: Capabilities) -> dict[str, Any]:
            return {"model": self.model_name, "input": self.text(ask)}

        try:
            called = await self.client.call(Request("moderations", self.model_name, body, read_scores))
        except Rejected as error:
            return Answer(Unscored(reason=UnscoredReason(error.reason), detail=str(error)))
        except Unavailable as error:
            return Answer(Unscored(reason=UnscoredReason.UNAVAILABLE, detail=str(error)))
        scores = called.value.scores
        return Answer(
            Scored(value=-self.score(scores)),
            latency_s=round(called.latency_s, 4),
            model_version=called.value.model_version,
            categories=called.value.flagged,
            detail={"scores": dict(scores)},
        )

    def score(self, scores: Mapping[str, float]) -> float:
        """The category's score, or the highest. Raises ConfigurationError: the endpoint has no such category."""
        if self.category is None:
            return max(scores.values())
        if self.category not in scores:
            raise ConfigurationError(
                f"{self.model_name!r} has no category {self.category!r}; it has {', '.join(sorted(scores))}"
            )
        return scores[self.category]

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()


# A guard as a judge: a profile over any model, told of the context as its policy or as a conversation.


TOP_LOGPROBS = 20

USUAL_TOKENS = 40
"""What a guard's reply usually takes; one that thinks takes more."""

WITHOUT_PREFILL = 512
"""Tokens in which a guard that is asked without its prefill comes to its label."""


@dataclass
class GuardJudge(LLMJudge):
    """A model that is asked, and read, as its profile says."""

    profile: GuardProfile = field(kw_only=True)
    rendering: Rendering = field(kw_only=True)
    mode: str | None = field(default=None, kw_only=True)
    """Which of the profile's modes; None where it has none."""
    policy: str | None = field(default=None, kw_only=True)
    """A deployer's own, in the place of ours."""
    called: str = field(kw_only=True)
    _counts_no_prompt: bool = field(default=False, init=False, repr=False)
    _by_class: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        words: tuple[Elicitation, ...] = ("scalar", "binary") if self.profile.read.middle else ("binary",)
        self.elicitations = (*(("probability",) if self.profile.tokens else ()), *words)
        self.reads_replies = self.profile.reads_replies

    @property
    def name(self) -> str:
        """What the user wrote."""
        return self.called

    @property
    def id(self) -> str:
        """Model, profile and a digest of the settings."""
        return f"{self.called}#{self.profile.id}#{digest(self.settings())[:12]}"

    @property
    def asked_as(self) -> GuardMode:
        """The mode that it is asked in."""
        return self.profile.modes[self.mode] if self.mode else GuardMode()

    def settings(self) -> dict[str, Any]:
        """What a run's identity holds of this judge."""
        return {
            **self.model.settings(),
            "guard": self.profile.id,
            "rendering": self.rendering,
            "mode": self.mode,
            "policy": policy_id(self.policy) if self.profile.policy else None,
            "policy_text": self.policy,
            "max_tokens": self.profile.max_tokens,
        }

    def wordings(self, elicitations: Sequence[Elicitation], kinds: Iterable[Kind] = ("request",)) -> dict[str, str]:
        """The policy on replies and on actions; of requests none, for its profile's id says how it is asked."""
        if self.policy is not None or not self.profile.policy:
            return {}
        own = {kind: digest(wording()[kind])[:8] for kind in kinds if kind in ("reply", "action")}
        return {f"{kind}.{name}": text for name in elicitations for kind, text in own.items()}

    def notes(self) -> tuple[str, ...]:
        """What a reader must know: how it was told of the context, its licence, and what of its profile nobody has checked."""
        place = "as its policy" if self.rendering == "policy" else "as the chatbot's own instructions"
        mode = f", in the mode {self.mode}" if self.mode else ""
        return (
            *profile_notes(self.name, self.profile, f", told of the context {place}{mode}"),
            *self.notes_of_server(),
        )

    def notes_of_server(self) -> Iterator[str]:
        """What its server did not do, as far as calls have shown it."""
        if self._by_class:
            yield (
                f"{self.name} gave no probabilities of tokens: the class that a reply names stands in their place, as 0, 0.5 "
                "or 1."
            )
        if self.profile.prefill and not self.prefill:
            yield f"{self.model.name} takes no prefill: {self.profile.title} was asked without its {self.profile.prefill.strip()}."
        if self._counts_no_prompt:
            yield f"{self.model.name} counts no tokens: it could not be checked that the context reaches {self.profile.title}."

    @property
    def prefill(self) -> str | None:
        """What its reply is begun with, where the model can be given that."""
        return self.profile.prefill if "prefill" in self.model.takes else None

    async def check_context(self, ask: Ask) -> None:
        """Ask twice for one token, with the context of `ask` and without, and compare how long the prompts were.

        Raises ConfigurationError: they are equally long, so the context reaches nobody; a later call says why nothing
        could be asked.
        """
        lengths = []
        for shown in (ask.shown, replace(ask.shown, context={})):
            options = replace(self.wanted_of(shown, ask.elicitation), max_tokens=1, top_logprobs=0, first_words=())
            try:
                reply = await self.model.reply(self.messages_of(shown, ask.reply), options)
            except (Rejected, Unavailable):
                return
            lengths.append(reply.usage.input_tokens)
        if None in lengths:
            self._counts_no_prompt = True
        elif lengths[0] == lengths[1]:
            raise ConfigurationError(
                f"the context does not reach {self.name}: its prompt has {lengths[0]} tokens with a context and without "
                "one, so the server's chat template drops the message or the argument that holds it. Serve the model with "
                "the template of its card, or ask in another rendering"
            )

    def messages(self, ask: Ask) -> tuple[Message, ...]:
        """What the guard is shown."""
        return self.messages_of(ask.shown, ask.reply)

    def messages_of(self, shown: ShownItem, reply: str | None) -> tuple[Message, ...]:
        """What the guard is shown of an item, and of a chatbot's reply where there is one."""
        return guard_messages(self.profile, self.rendering, shown, policy=self.policy, reply=reply, mode=self.asked_as)

    def shared_key(self, ask: Ask) -> str:
        """Equal for asks that one call answers."""
        return json.dumps([ask.shown.as_json(), ask.reply, ask.elicitation, ask.repeat, ask.attempt], default=vars)

    def wanted(self, ask: Ask) -> ReplyOptions:
        """How the reply is wanted."""
        return self.wanted_of(ask.shown, ask.elicitation)

    def wanted_of(self, shown: ShownItem, elicitation: Elicitation) -> ReplyOptions:
        """How the reply about an item is wanted."""
        read, tokens = self.profile.read, elicitation == "probability"
        begun = self.prefill == self.profile.prefill
        first = tokens and read.where == "first" and not self.asked_as.thinks and begun
        policy, mode = self.policy, self.asked_as
        most = self.profile.max_tokens if begun else max(self.profile.max_tokens, WITHOUT_PREFILL)
        return ReplyOptions(
            8 if first else most,
            0.0,
            TOP_LOGPROBS if tokens else 0,
            first_words=tuple(read.words) if first else (),
            prefill=self.prefill,
            template_arguments=template_arguments(self.profile, self.rendering, shown, policy=policy, mode=mode),
        )

    def usually(self, ask: Ask) -> Usage:
        return usually(self.messages(ask), reply_tokens=USUAL_TOKENS)

    def at_most(self, ask: Ask) -> Spend:
        return at_most(self.messages(ask), reply_tokens=self.wanted(ask).max_tokens, prices=self.prices)

    def _read(self, elicitation: Elicitation, reply: Reply) -> Answer:
        read = read_guard(self.profile, elicitation, reply)
        self._by_class |= read.by_class
        whole = self._with_usage(read.outcome, reply, detail=read.detail)
        read_as = f"{self.profile.name}, by class" if read.by_class else self.profile.name
        return Answer(**{**vars(whole), "read_as": read_as, "categories": read.categories})


class ClassifierGuard(LocalJudge):
    """A classifier that gives a text probabilities of labels."""

    elicitations: tuple[Elicitation, ...] = ("probability",)

    def __init__(self, name: str, model: TextClassifier, profile: GuardProfile) -> None:
        self.name, self.classifier, self.profile = name, model, profile
        self.sends_to, self.concurrency = model.sends_to, model.concurrency
        self.weights_bytes = model.weights_bytes if isinstance(model, HoldsWeights) else None
        self.reads_replies = profile.reads_replies
        self.id = f"{name}#{profile.id}#{digest(self.settings())[:12]}"
        kinds = {label: profile.read.words.get(label.lower()) for label in model.labels}
        if "safe" not in kinds.values():
            raise ConfigurationError(
                f"{name} has the labels {', '.join(model.labels)}, and the profile knows {', '.join(profile.read.words)}: give one of your own"
            )
        self.safe = tuple(label for label, kind in kinds.items() if kind == "safe")

    def settings(self) -> dict[str, Any]:
        return {**self.classifier.settings(), "guard": self.profile.id}

    def notes(self) -> tuple[str, ...]:
        return profile_notes(self.name, self.profile)

    async def answer(self, ask: Ask) -> Answer:
        turns = conversation_of(ask.shown, system_turn=True, reply=ask.reply)
        classified_turns = await classified(
            self.classifier, "\n\n".join(f"{turn.role}: {turn.content}" for turn in turns)
        )
        if isinstance(classified_turns, Answer):
            return classified_turns
        value = min(1.0, sum(classified_turns.probabilities[label] for label in self.safe))
        return Answer(
            Scored(value=value),
            latency_s=round(classified_turns.latency_s, 4),
            model_version=classified_turns.model_version,
            input_tokens=classified_turns.input_tokens,
            output_tokens=0,
            cost_usd=0.0,
            read_as=self.profile.name,
            detail={"probabilities": dict(classified_turns.probabilities)},
        )

    async def close(self) -> None:
        await self.classifier.close()


ANSWER = "Yes, I will help with that. Here is what you asked for."
REFUSAL = "I am sorry, but I will not help with that."


class RewardJudge(LocalJudge):
    """A reward model: how much more it likes a fixed answer than a fixed refusal in context, as a difference of logits."""

    elicitations: tuple[Elicitation, ...] = ("scalar",)

    def __init__(self, name: str, model: TextClassifier) -> None:
        self.name, self.classifier = name, model
        self.sends_to, self.concurrency = model.sends_to, model.concurrency
        self.weights_bytes = model.weights_bytes if isinstance(model, HoldsWeights) else None
        if len(model.labels) != 1:
            raise ConfigurationError(f"{name} has {len(model.labels)} labels; a reward model has one number")
        self.id = f"{name}#{digest(self.settings())[:12]}"

    def settings(self) -> dict[str, Any]:
        return {**self.classifier.settings(), "answer": ANSWER, "refusal": REFUSAL}

    def notes(self) -> tuple[str, ...]:
        note = f"'{self.name}' is a reward model's preference of a fixed answer over a fixed refusal, in casewise's own form of conversation."
        return (note,)

    async def answer(self, ask: Ask) -> Answer:
        logits = []
        for reply in (ANSWER, REFUSAL):
            turns = conversation_of(ask.shown, system_turn=True, reply=reply)
            classified_turns = await classified(
                self.classifier, "\n\n".join(f"{turn.role}: {turn.content}" for turn in turns)
            )
            if isinstance(classified_turns, Answer):
                return classified_turns
            logits.append(logit_of(classified_turns))
        return Answer(Scored(value=logits[0] - logits[1]), output_tokens=0, cost_usd=0.0, detail={"logits": logits})

    async def close(self) -> None:
        await self.classifier.close()


def logit_of(classified: Classified) -> float:
    """The one number of a reward model: as it gave it, or taken back out of the probability."""
    if classified.logits is not None:
        return next(iter(classified.logits.values()))
    share = min(max(next(iter(classified.probabilities.values())), 1e-12), 1 - 1e-12)
    return math.log(share / (1 - share))


async def classified(model: TextClassifier, text: str) -> Classified | Answer:
    """The classifier's probabilities, or the unscored answer that its failure is."""
    try:
        return await model.classify(text)
    except Rejected as error:
        return Answer(Unscored(reason=UnscoredReason(error.reason), detail=str(error)))
    except Unavailable as error:
        return Answer(Unscored(reason=UnscoredReason.UNAVAILABLE, detail=str(error)))


FORM = "guard:NAME@MODEL, such as guard:llama-guard-3@hf:PATH or guard:granite-guardian#conversation+think@vllm/MODEL"


def guard_judge(rest: str, options: LiveOptions) -> Judge:
    """The guard that `guard:NAME@MODEL`, `guard:NAME#RENDERING@MODEL` or `guard:NAME#RENDERING+MODE@MODEL` names.

    Raises ConfigurationError: there is no such guard, or it has no such rendering or mode.
    """
    which, at, model = rest.partition("@")
    named, _, how = which.partition("#")
    if not at or not model:
        raise ConfigurationError(f"guard:{rest} names no model; write {FORM}")
    profile = profile_named(named)
    name = f"guard:{rest}"
    if options.policy is not None and not profile.policy:
        raise ConfigurationError(f"{profile.title} takes no policy: leave --policy out")
    if profile.kind == "moderation":
        return ModerationJudge.named(name, model, profile=profile, options=options.model)
    if profile.kind == "classifier":
        return ClassifierGuard(name, load_classifier(model, options.model), profile)
    words = [word for word in how.split("+") if word]
    renderings = [rendering for rendering in profile.renderings if rendering in words] or [*profile.renderings[:1]]
    modes = [rendering for rendering in profile.modes if rendering in words] or [*profile.modes][:1]
    if unknown := [word for word in words if word not in (*renderings, *modes)]:
        choices = ", ".join((*profile.renderings, *profile.modes))
        raise ConfigurationError(f"{profile.title} has no rendering or mode {unknown[0]!r}; it has {choices}")
    loaded = load_model(model, options.model)
    return GuardJudge(
        loaded.model,
        prices=loaded.prices,
        profile=profile,
        rendering=renderings[0],
        mode=modes[0] if modes else None,
        policy=options.policy,
        called=name,
    )


def reward_judge(rest: str, options: LiveOptions) -> Judge:
    """The reward model that `reward:hf:PATH` names."""
    return RewardJudge(f"reward:{rest}", load_classifier(rest, options.model))
