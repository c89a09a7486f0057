"""Passwords: long enough, and kept as argon2id hashes."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

__all__ = ["SHORTEST_PASSWORD", "hash_password", "password_fits", "password_problem"]

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1000


def password_problem(password: str) -> str | None:
    """Why `password` cannot be chosen, or None."""
    if len(password) < SHORTEST_PASSWORD:
        return f"Choose a password of at least {SHORTEST_PASSWORD} characters; a few unrelated words are good."
    if len(password) > LONGEST_PASSWORD:
        return f"Choose a password of at most {LONGEST_PASSWORD} characters."
    if len(set(password)) < SHORTEST_PASSWORD // 2:
        return "Choose a password with more different characters."
    return None


def hash_password(password: str) -> str:
    """An argon2id hash, with its own salt."""
    return PasswordHasher().hash(password)


def password_fits(password: str, stored: str | None) -> bool:
    """Whether `password` is the one that was stored. Takes as long where nothing is stored, and is then False."""
    try:
        PasswordHasher().verify(stored or hash_of_nobody(), password)
    except (Argon2Error, InvalidHashError):
        return False
    return stored is not None


@cache
def hash_of_nobody() -> str:
    return hash_password("a password that belongs to nobody")
