"""Options that the commands of `casewise study` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DEFAULT", "PhaseOption", "StudyArgument", "StudyOption"]

DEFAULT = Path("study.toml")

StudyArgument = Annotated[Path, typer.Argument(help="The study's TOML file.")]
StudyOption = Annotated[Path, typer.Option("--study", help="The study's TOML file.")]
PhaseOption = Annotated[str, typer.Option("--phase", help="main or pilot.")]
