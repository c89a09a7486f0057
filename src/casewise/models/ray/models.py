"""A local model, or a classifier, in copies: asked as the one that it is made of, and with its identity.

Its settings are the model's own, so a run that was begun in one process is gone on with by Ray, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from casewise.models.local.loading import LocalOptions, RayOptions
from casewise.models.local.sequence_classifier import SequenceClassifier
from casewise.models.local.transformers_local import TransformersModel
from casewise.models.protocol import Classified, Message, ModelDefaults, Reply, ReplyOptions
from casewise.models.ray.cluster import connected, room_for
from casewise.models.ray.copy import HasSettings
from casewise.models.ray.pool import CopyPool

__all__ = ["RayClassifier", "RayModel"]


def pool_of(
    load: Callable[[], HasSettings], ray: RayOptions, *, answer: str, members: tuple[str, ...] = ()
) -> CopyPool:
    library = connected(ray.address)
    return CopyPool(library, load, answer, room=room_for(library, ray.copies), members=members)


class Copies:
    """What copies of a model and of a classifier have in common."""

    def __init__(self, name: str, pool: CopyPool, *, of: type[TransformersModel | SequenceClassifier]) -> None:
        self.name, self._pool = name, pool
        self.concurrency = of.concurrency * pool.room.copies

    def settings(self) -> dict[str, Any]:
        """Those of what is copied."""
        return dict(self._pool.about["settings"])

    async def close(self) -> None:
        """End the copies."""
        await self._pool.close()


class RayModel(Copies, ModelDefaults):
    """Copies of a `TransformersModel` in a Ray cluster."""

    takes = TransformersModel.takes

    @classmethod
    def load(cls, name: str, options: LocalOptions, ray: RayOptions) -> RayModel:
        """The model that `hf:PATH_OR_ID` names, on every machine that gets a copy.

        Raises ConfigurationError: as `TransformersModel.load`, there; or there is no Ray, or no cluster.
        """
        load = partial(TransformersModel.load, name, replace(options, ray=None))
        return cls(name, pool_of(load, ray, answer="reply"), of=TransformersModel)

    def tell_with(self, tell: Callable[[str], None]) -> None:
        """Where a line goes when a copy is lost."""
        self._pool.tell = tell

    def label_tokens(self, words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        """For each word, the tokens with which a reply of it can begin."""
        found: Mapping[str, tuple[str, ...]] = self._pool.called("label_tokens", words)
        return found

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply, of whichever copy is free."""
        found: Reply = await self._pool.ask(messages, options)
        return found


class RayClassifier(Copies):
    """Copies of a `SequenceClassifier` in a Ray cluster."""

    sends_to: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """All its labels, in its own order."""
        found: tuple[str, ...] = self._pool.about["labels"]
        return found

    @classmethod
    def load(cls, name: str, options: LocalOptions, ray: RayOptions) -> RayClassifier:
        """The classifier that `hf:PATH_OR_ID` names, on every machine that gets a copy.

        Raises ConfigurationError: as `SequenceClassifier.load`, there; or there is no Ray, or no cluster.
        """
        load = partial(SequenceClassifier.load, name, replace(options, ray=None))
        return cls(name, pool_of(load, ray, answer="classify", members=("labels",)), of=SequenceClassifier)

    async def classify(self, text: str) -> Classified:
        """The probabilities of `text`, from whichever copy is free."""
        found: Classified = await self._pool.ask(text)
        return found
