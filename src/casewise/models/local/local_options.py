"""How a model is run on this machine."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LocalOptions"]


@dataclass(frozen=True)
class LocalOptions:
    """Where and how a local model runs.

    `dtype` and `device` are torch's names, or `auto`; `batch_tokens` bounds the tokens (padding included) that go
    through the model at once.
    """

    dtype: str = "auto"
    device: str = "auto"
    batch_tokens: int = 8192
