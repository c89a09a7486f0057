"""What the tables of `study.toml` have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = ["DesignSection", "Share", "Slug", "Words"]

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
Words = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Share = Annotated[float, Field(ge=0, le=1)]


class DesignSection(BaseModel):
    """A table of `study.toml`. Unknown keys are errors: a misspelt setting must not pass for its default."""

    model_config = ConfigDict(frozen=True, extra="forbid")
