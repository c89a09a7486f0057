"""What an endpoint's refusal means: for the run, for this call, or for now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from casewise.errors import ModelError, Unauthorised
from casewise.models.http.endpoints import Endpoint
from casewise.models.http.retry import is_retried, requested_wait_s
from casewise.models.http.wire import ServerError
from casewise.models.protocol import Rejected

__all__ = ["FILTERED", "Fault", "meaning"]


@dataclass(frozen=True)
class Fault:
    """A failure that another try may cure."""

    message: str
    wait_s: float | None = None
    overloaded: bool = False


FILTERED = re.compile(r"content[ _-]?(filter|policy|management)|moderat|flagged|responsible.?ai", re.IGNORECASE)
NO_SUCH_MODEL = re.compile(
    r"model[_ ]not[_ ]found|(?:no such|unknown|invalid) model|model\b.{0,80}\b(?:does not exist|not found|not exist)",
    re.IGNORECASE | re.DOTALL,
)
NO_CREDIT = re.compile(r"insufficient[ _](?:quota|balance|credit|funds)|billing|credit balance", re.IGNORECASE)


def meaning(
    status: int, headers: Mapping[str, str], error: ServerError, *, endpoint: Endpoint, model: str
) -> Fault | ModelError:
    """What an answer of `status` with `error` in its body comes to.

    A `Fault` is tried again; an `Unauthorised` stops the run; a `Rejected` costs this call alone.
    """
    words = f"{error.code} {error.message}"
    said = f"{endpoint.name} answered {status}: {error.message}"
    if NO_CREDIT.search(words) and status in (400, 402, 403, 429):
        return Unauthorised(f"{said}. Top up the account that {endpoint.key_variable} belongs to, then go on.")
    if is_retried(status):
        return Fault(said, requested_wait_s(headers), overloaded=status in (429, 529))
    if FILTERED.search(words):
        return Rejected("content_filter", said)
    if status in {401, 403}:
        return Unauthorised(f"{said}. Check {endpoint.key_variable or 'the address'}, and that it may use {model!r}.")
    if status < 400 or status in {402, 404, 405} or NO_SUCH_MODEL.search(words):
        return Unauthorised(
            f"{said}. Check the model's name, {model!r}, and the address, {endpoint.base_url} (it usually ends in /v1)."
        )
    return Rejected("bad_request", said)
