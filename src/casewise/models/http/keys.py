"""Keys: read from the environment when a model is made, and never written anywhere."""

from __future__ import annotations

from collections.abc import Mapping

from casewise.errors import ConfigurationError
from casewise.models.http.endpoints import Endpoint

__all__ = ["Key", "read_key"]

SHORTEST_REDACTED = 4
"""A shorter key is a placeholder such as `x`; striking it out of a reply would only spoil the reply."""


class Key:
    """A secret that shows itself to nobody but `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for a request's headers."""
        return self._value

    def redact(self, text: str) -> str:
        """`text` without the secret: some servers repeat the key they were sent in their error messages."""
        return text.replace(self._value, "[key]") if len(self._value) >= SHORTEST_REDACTED else text

    def __repr__(self) -> str:
        return "Key([hidden])"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written to anything, pickles included")


def read_key(endpoint: Endpoint, environment: Mapping[str, str]) -> Key | None:
    """The key for `endpoint`, or None where none is set and none is needed.

    Raises
    ------
    ConfigurationError
        The variable is not set, or what it holds cannot be sent in a header.
    """
    if endpoint.key_variable is None:
        return None
    value = environment.get(endpoint.key_variable, "").strip()
    if not value:
        if endpoint.key_optional:
            return None
        raise ConfigurationError(f"set {endpoint.key_variable} to your key for {endpoint.name} ({endpoint.base_url})")
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(f"{endpoint.key_variable} holds characters that no key has; was it pasted whole?")
    return Key(value)
