"""Recruiter ids, kept so that they can be forgotten: one key for each person, and a keyed hash against returners."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import asdict

from cryptography.fernet import Fernet, InvalidToken

from casewise.errors import ConfigurationError
from casewise.studies.recruiters.protocol import RecruiterIds

__all__ = ["Vault", "derived_key"]


def derived_key(secret: str, purpose: str) -> bytes:
    """32 bytes for one `purpose`, so that no two uses of the server's secret share a key (HMAC-SHA256)."""
    return hmac.new(secret.encode(), f"casewise study {purpose}".encode(), hashlib.sha256).digest()


class Vault:
    """Seals and opens recruiter ids.

    Every annotator's ids are encrypted under a key of their own, which is itself kept encrypted under the server's.
    Deleting that key (`forget`) makes every copy of the ids unreadable, also those in old backups of other tables.
    """

    def __init__(self, secret: str) -> None:
        self._wrap = Fernet(base64.urlsafe_b64encode(derived_key(secret, "wrapping of keys")))
        self._hash = derived_key(secret, "exclusion of returners")

    def new_key(self) -> str:
        """A new annotator's key, wrapped."""
        return self._wrap.encrypt(Fernet.generate_key()).decode()

    def seal(self, person: RecruiterIds, wrapped_key: str) -> str:
        """`person` encrypted under a wrapped key."""
        return self._key(wrapped_key).encrypt(json.dumps(asdict(person)).encode()).decode()

    def open(self, sealed: str, wrapped_key: str) -> RecruiterIds:
        """The person in `sealed`.

        Raises ConfigurationError: the server's secret is not the one under which this was sealed.
        """
        try:
            return RecruiterIds(**json.loads(self._key(wrapped_key).decrypt(sealed.encode())))
        except InvalidToken as error:
            raise ConfigurationError("recruiter ids cannot be read: the server's secret has changed") from error

    def fingerprint(self, study: str, person: str) -> str:
        """A keyed hash of a person within a study of this name (all versions, pilots included)."""
        return hmac.new(self._hash, json.dumps([study, person]).encode(), hashlib.sha256).hexdigest()

    def _key(self, wrapped: str) -> Fernet:
        try:
            return Fernet(self._wrap.decrypt(wrapped.encode()))
        except InvalidToken as error:
            raise ConfigurationError("recruiter ids cannot be read: the server's secret has changed") from error
