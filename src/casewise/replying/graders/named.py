"""A grader by what the user calls it: `words`, `rubric:MODEL`, `hf:PATH`, `python:MODULE:FUNCTION`."""

from __future__ import annotations

from dataclasses import replace

from casewise.errors import ConfigurationError
from casewise.judging.guards.profile import profile_named
from casewise.models.load import ModelOptions, load_classifier, load_model
from casewise.replying.graders.callable import CallableGrader
from casewise.replying.graders.classifier import ClassifierGrader
from casewise.replying.graders.guard import GuardGrader
from casewise.replying.graders.protocol import Grader
from casewise.replying.graders.rubric import RubricGrader, rubric_named
from casewise.replying.graders.words import WordsGrader
from casewise.replying.rehearsed import REHEARSED
from casewise.showing.user_function import function_at

__all__ = ["grader_named", "with_rehearsals"]

FORMS = "words, rubric:MODEL (any model; with --rubric strict, lenient or a file), hf:PATH (a classifier of refusals), guard:NAME@MODEL (such as qwen3guard), python:MODULE:FUNCTION"


def grader_named(name: str, *, rubric: str = "strict", options: ModelOptions | None = None) -> Grader:
    """The grader called `name`. Raises ConfigurationError: there is no such grader, rubric or model."""
    kind, _, rest = name.partition(":")
    if name == "words":
        return WordsGrader()
    if kind == "rubric" and rest:
        return RubricGrader(load_model(rest, with_rehearsals(options)), rubric_named(rubric))
    if kind == "guard" and "@" in rest:
        profile, _, model = rest.partition("@")
        return GuardGrader(load_model(model, with_rehearsals(options)), profile_named(profile))
    if kind == "hf" and rest:
        return ClassifierGrader(load_classifier(name, options))
    if kind == "python" and rest:
        return CallableGrader(function_at(rest), name=name)
    raise ConfigurationError(f"no grader is called {name!r}; there are {FORMS}")


def with_rehearsals(options: ModelOptions | None) -> ModelOptions:
    """`options` with the made-up models that reply and grade."""
    return replace(options or ModelOptions(), fakes=REHEARSED)
