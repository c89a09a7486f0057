"""Tokens that say or begin a word."""

import pytest

from casewise.models.label_tokens import class_of, first_token_ids


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("safe", "safe"),
        (" Safe", "safe"),
        ("▁unsafe", "unsafe"),
        ("ĠUNSAFE", "unsafe"),
        ('"safe', "safe"),
        ("un", "unsafe"),
        (" Uns", "unsafe"),
        ("sa", "safe"),
        ("u", None),
        ("Sorry", None),
        ("safety", None),
        ("", None),
        ("\n", None),
    ],
)
def test_a_token_says_or_begins_a_word(token, word):
    assert class_of(token, {"safe": "safe", "unsafe": "unsafe"}) == word


def test_first_tokens_are_found_from_a_tokenizer():
    vocabulary = ["safe", " safe", "un", " ", "S", "afe", " un", "U"]

    def encode(text: str) -> list[int]:
        ids: list[int] = []
        while text:
            piece = max((p for p in vocabulary if text.startswith(p)), key=len, default=None)
            if piece is None:
                return ids
            ids.append(vocabulary.index(piece))
            text = text[len(piece) :]
        return ids

    first_ids = first_token_ids(("safe", "unsafe"), encode, lambda id_: vocabulary[id_])

    assert {word: sorted(vocabulary[id_] for id_ in ids) for word, ids in first_ids.items()} == {
        "safe": [" safe", "safe"],
        "unsafe": [" un", "un"],
    }
