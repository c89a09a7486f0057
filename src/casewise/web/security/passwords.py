"""Passwords: long enough, and kept as argon2id hashes."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

__all__ = ["SHORTEST_PASSWORD", "hash_password", "password_fits", "password_problem"]

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1000

LEET = str.maketrans("0134@5$7!", "oieaassti")
"""What stands for letters."""
COMMON_WORDS = """
password passwort passwd qwertyuiop qwertzuiop qwerty qwertz asdfghjkl asdfgh zxcvbnm yxcvbnm iqaz qazwsx
letmein welcome willkommen iloveyou administrator admin monkey dragon football baseball sunshine princess master
superman batman shadow secret trustno whatever computer internet changeme default access hello abcdefghijkl
abcdef casewise summer winter spring autumn michael jordan charlie login guest test
"""
COMMON = tuple(COMMON_WORDS.split())
"""Words that lists of leaked passwords begin with, each before those it holds."""


def password_problem(password: str) -> str | None:
    """Why `password` cannot be chosen, or None."""
    if len(password) < SHORTEST_PASSWORD:
        return f"Choose a password of at least {SHORTEST_PASSWORD} characters; a few unrelated words are good."
    if len(password) > LONGEST_PASSWORD:
        return f"Choose a password of at most {LONGEST_PASSWORD} characters."
    if len(set(password)) < SHORTEST_PASSWORD // 2:
        return "Choose a password with more different characters."
    if is_common(password):
        return "This is one of the passwords that are guessed first; a few unrelated words are good."
    return None


def is_common(password: str) -> bool:
    """Whether nothing is left of it but words that are in everybody's password, with figures and signs around them."""
    plain = password.casefold()
    return any(is_left_over(text) for text in (plain, plain.translate(LEET)))


def is_left_over(text: str) -> bool:
    letters = "".join(letter for letter in text if letter.isalpha())
    for word in COMMON:
        letters = letters.replace(word, "")
    return len(letters) < 4


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
