"""The errors of casewise, one class per boundary.

CasewiseError
├── DataError             a file, or a record in it, is not what it should be
│   └── ChecksumMismatch  a file is not the one its manifest speaks of
├── BenchmarkError        a benchmark cannot answer what was asked of it
├── ModelError            a model endpoint
│   ├── Unauthorised      stop the run: the key or the model's name is wrong
│   └── Unavailable       retried already, still failing
│       └── NoBatchAnswer no batch brought an answer to this call
├── JudgeError            a judge that does not exist or cannot be made
├── RunConflict           another process, or other settings, hold this run folder
├── StudyError            a study, its people or its design
│   └── RecruiterRefused  the recruiter said no, so nothing was done there
├── StatisticsError       a question that has no answer, or counts that cannot be
└── ConfigurationError    a setting, an option or a missing extra

A reply without a verdict is not an error: it is `Unscored`, and it is data.

What a command ends with is an `ExitCode`, the same for all commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import TypeVar


class ExitCode(IntEnum):
    """The codes with which commands end. `scripts/write_reference.py` makes a page of them."""

    DONE = 0
    """The command succeeded."""
    NO = 1
    """A check failed: `gate`, `check` with a limit, `audit --fail-on`; or Prolific refused a step of `prolific reconcile`."""
    USAGE = 2
    """Bad input, a bad option, or a service that cannot be used as requested."""
    CANNOT_TELL = 3
    """`gate` or `check` cannot decide: too few items, cases without a verdict, or a run that did not finish its plan."""
    STOPPED = 4
    """Stopped early by Ctrl-C, SIGTERM or a limit, or batch jobs are still out. The same command resumes."""
    NOTHING_SCORED = 5
    """The command finished, and no item has a verdict or a value."""
    INTERNAL = 70
    """A bug in casewise, or in an installed package that brings parts to it. `CASEWISE_DEBUG=1` shows where."""
    INTERRUPTED = 130
    """Interrupted at once by a second Ctrl-C, or where no step can finish first."""
    PIPE_CLOSED = 141
    """The reader of the output closed it early, as `| head` does."""


class CasewiseError(Exception):
    """Base of all errors that a user can act on; the command line prints it and exits with `exit_code`."""

    exit_code = ExitCode.USAGE

    @property
    def words(self) -> str:
        """The message, with its references where it is a text that reports print."""
        return self.args[0] if self.args and isinstance(self.args[0], str) else str(self)


class DataError(CasewiseError):
    """A record that cannot be read.

    The message says where and what to do: `ratings.jsonl:17: 'verdict' is 'maybe', not 'safe' or 'unsafe'`.
    """

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        place = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {problem}")
        self.path, self.line, self.problem = Path(path), line, problem


class ChecksumMismatch(DataError):
    """A file whose bytes are not those its manifest, or its pinned release, speaks of."""


class BenchmarkError(CasewiseError):
    """A benchmark that cannot answer what was asked of it."""


class ModelError(CasewiseError):
    """A model endpoint that does not do what was asked of it."""


class Unauthorised(ModelError):
    """The key or the model's name is wrong: no further call can succeed, so the run stops."""


class Unavailable(ModelError):
    """The endpoint still fails after all retries."""


class NoBatchAnswer(Unavailable):
    """No batch brought an answer to one call, which says nothing of others."""


class Unreachable(ModelError):
    """Nothing answers at the endpoint's address: no call can succeed, so the run does not begin."""


class ConnectionLost(ModelError):
    """An endpoint that answered, and then could not be connected to any more; the same command goes on."""

    exit_code = ExitCode.STOPPED


class JudgeError(CasewiseError):
    """A judge that does not exist or cannot be made."""


class RunConflict(CasewiseError):
    """Another process, or other settings, hold this run folder."""


class StudyError(CasewiseError):
    """A study, its people or its design."""


class RecruiterRefused(StudyError):
    """The recruiter said no to a request, so that nothing was done; `status` is what it answered."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class StatisticsError(CasewiseError, ValueError):
    """A question that has no answer, or counts that cannot be."""


class ConfigurationError(CasewiseError):
    """A setting or an option that is wrong, or an extra that is not installed."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question to put behind "no … is called …", where one of `names`, or its last part or a word of that, is nearly `name`.

    Examples
    --------
    >>> did_you_mean("recal_safe", ["accuracy", "recall_safe"])
    " (did you mean 'recall_safe'?)"
    >>> did_you_mean("type", ["sender", "recipient.type"])
    " (did you mean 'recipient.type'?)"
    >>> did_you_mean("purpose", ["sender", "transmission_principle.sender_purpose"])
    " (did you mean 'transmission_principle.sender_purpose'?)"
    >>> did_you_mean("speed", ["accuracy", "recall_safe"])
    ''
    """
    ends = {candidate: candidate.rpartition(".")[2] for candidate in names}
    near = get_close_matches(name, [*ends, *ends.values()], n=1, cutoff=0.7)
    close = [
        repr(candidate)
        for candidate, end in ends.items()
        if (near[0] in (candidate, end) if near else name in end.split("_"))
    ]
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def unknown_key(keys: Iterable[str], known_keys: Iterable[str], *, within: str = "") -> str | None:
    """Return what is wrong with the first of the keys of a user's table that is not known; None where all are.

    Examples
    --------
    >>> unknown_key(["per_itme"], ["per_item", "seed"], within="ratings.")
    "ratings.per_itme is not known (did you mean 'per_item'?)"
    """
    names = list(known_keys)
    first = next((key for key in keys if key not in names), None)
    return None if first is None else f"{within}{first} is not known{did_you_mean(first, names)}"


W = TypeVar("W", bound=str)


def one_of(value: str, choices: Sequence[W], name: str, *, error: type[CasewiseError] = ConfigurationError) -> W:
    """Return the one of `choices` that is `value`; the error lists them all, under the `name` of the option.

    Examples
    --------
    >>> one_of("half", ("half", "drop"), "--ties")
    'half'
    """
    for candidate in choices:
        if candidate == value:
            return candidate
    raise error(f"{name} is {value!r}; it can be {', '.join(choices)}")
