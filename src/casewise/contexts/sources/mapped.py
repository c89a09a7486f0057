"""Structured sources by rules: columns of a CSV of staff, claims of an identity token, named by a mapping in TOML."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError, DataError
from casewise.records.toml import read_toml
from casewise.storage.benchmarks.case_file import read_case_rows
from casewise.storage.files.atomic import cannot_read, read_text
from casewise.verifying.facts import ANYONE
from casewise.verifying.known import KnownParameter

__all__ = ["Mapped", "read_mapping", "staff_rows", "token_rows"]


@dataclass(frozen=True)
class Mapped:
    """Which column or claim names the context that a row is about, and from which each parameter is made."""

    subject: str | None
    parameters: Mapping[str, tuple[str, ...]]

    def rows(self, said: Mapping[str, Any], *, source: str, subject: str) -> Iterator[KnownParameter]:
        """A row a parameter; one whose columns are all empty is unknown."""
        about = str(said.get(self.subject) or subject) if self.subject else subject
        for parameter, names in self.parameters.items():
            found = [(name, text) for name in names if (text := in_words(said.get(name)))]
            value = found[0][1] if len(names) == 1 and found else ". ".join(f"{name}: {text}" for name, text in found)
            yield KnownParameter(subject=about, parameter=parameter, value=value or None, source=source)


def in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(filter(None, map(in_words, value)))
    return "" if value is None else str(value).strip()


def read_mapping(path: Path) -> Mapped:
    """`subject = "COLUMN"` and a table `parameters`, a column or a list of columns to each parameter.

    Raises DataError: the file cannot be read, or says something else.
    """
    table = read_toml(path, "a mapping")
    named, subject = table.pop("parameters", None), table.pop("subject", None)
    if table or not isinstance(named, dict) or not named or not isinstance(subject, (str, type(None))):
        raise DataError(path, None, 'holds "subject" (a column, or nothing) and a table [parameters], and no more')
    found = {name: (one,) if isinstance(one, str) else tuple(one) for name, one in named.items()}
    return Mapped(subject, found)


def staff_rows(path: Path, mapping: Mapped, *, subject: str = ANYONE) -> Iterator[KnownParameter]:
    """What a CSV of staff says, a person a row. Raises DataError: it is none, or has no column that the mapping names."""
    columns, rows = read_case_rows(path)
    wanted = {
        *([mapping.subject] if mapping.subject else []),
        *(n for names in mapping.parameters.values() for n in names),
    }
    if missing := sorted(wanted - set(columns)):
        raise DataError(path, 1, f"has no column {missing[0]!r}; there are {', '.join(columns)}")
    for row in rows:
        yield from mapping.rows(row.cells, source=f"{path.name}:{row.line}", subject=subject)


PUBLIC = (b"-----BEGIN", b"ssh-", b"ecdsa-", b"0\x82", b"0\x81")
"""What public keys begin with, in PEM, as SSH writes them, in DER: known to everybody, none may pass for a shared secret."""

HASHES = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}


def token_rows(
    path: Path, mapping: Mapped, *, key: Path | None, subject: str = ANYONE, now: datetime | None = None
) -> Iterator[KnownParameter]:
    """What the claims of an identity token (a JSON Web Token, compact) say, once its signature has been verified with `key`.

    HS256, HS384 and HS512 with a shared secret, RS256 with a public key in PEM. A token without a key to verify it by is refused: then
    anybody could have written it.

    Raises ConfigurationError: there is no key. DataError: it is no token, its signature is another's, or it has expired
    or does not hold yet.
    """
    if key is None:
        raise ConfigurationError(f"{path} is not read without --key: a token that nobody verified says nothing")
    try:
        secret = key.read_bytes().strip()
    except OSError as error:
        raise cannot_read(key, error) from error
    if not secret:
        raise DataError(key, None, "is empty: with no secret anybody could have signed")
    claims = verified_claims(path, read_text(path).strip(), secret)
    at = (now or datetime.now(tz=UTC)).timestamp()
    begins, ends = claims.get("nbf", at), claims.get("exp", at + 1)
    if not (isinstance(begins, (int, float)) and isinstance(ends, (int, float))):
        raise DataError(path, None, "its exp and nbf are seconds since 1970, as numbers")
    if not begins <= at < ends:
        raise DataError(path, None, "the token has expired, or does not hold yet")
    yield from mapping.rows(
        claims, source=f"{path.name}, issued by {claims.get('iss', 'nobody named')}", subject=subject
    )


def verified_claims(path: Path, token: str, key: bytes) -> dict[str, Any]:
    parts = token.split(".")
    try:
        header, claims = (json.loads(unpadded(part)) for part in parts[:2])
        signature = unpadded(parts[2])
    except (ValueError, IndexError, binascii.Error):
        raise DataError(path, None, "is no JSON Web Token: three parts with dots between") from None
    if len(parts) != 3 or not isinstance(header, dict) or not isinstance(claims, dict):
        raise DataError(path, None, "is no JSON Web Token: three parts with dots between")
    if not signed(str(header.get("alg")), ".".join(parts[:2]).encode(), signature, key):
        raise DataError(path, None, f"its signature ({header.get('alg')}) cannot be verified with this key: refused")
    return claims


def unpadded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def signed(algorithm: str, text: bytes, signature: bytes, key: bytes) -> bool:
    public = key.startswith(PUBLIC)
    if algorithm in HASHES and not public:
        return hmac.compare_digest(hmac.new(key, text, HASHES[algorithm]).digest(), signature)
    if algorithm == "RS256" and public:
        return signed_by_rsa(text, signature, key)
    return False


def signed_by_rsa(text: bytes, signature: bytes, key: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError as error:
        raise ConfigurationError(f"RS256 needs cryptography: pip install 'casewise[web]' ({error})") from error
    try:
        public = load_pem_public_key(key)
        if not isinstance(public, rsa.RSAPublicKey):
            return False
        public.verify(signature, text, padding.PKCS1v15(), SHA256())
    except (InvalidSignature, ValueError):
        return False
    return True
