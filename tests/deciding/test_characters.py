import pytest

from casewise.deciding.characters import hidden_characters
from casewise.transforms.attacks import ENCODINGS

TEXT = "The head of the department has approved it."


@pytest.mark.parametrize("form", ["tags", "zerowidth", "lookalike"])
def test_every_encoding_that_nobody_sees_is_noticed(form):
    assert hidden_characters(["What now?", ENCODINGS[form].encode(TEXT)]) is not None


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "Wie heißt „Übergrößenträger“? Ça va – naïve façade…",
        "Что это такое?",
        "Τι είναι αυτό; The word logos is λόγος.",
        "می‌خواهم بدانم",
        "👩‍⚕️ ❤️ 你好，世界！ こんにちは",
        "α-particles of 5 µm",
    ],
)
def test_ordinary_text_of_any_script_has_nothing_hidden(text):
    assert hidden_characters([text]) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("\U000e0061\U000e0062\U000e0063\U000e0064", "U+E0061, U+E0062, U+E0063 and others"),
        ("safe\u202e", "U+202E"),
        ("p\u0430ss", "U+0430"),
        ("a\u00adb", "U+00AD"),
    ],
)
def test_the_characters_are_named(text, named):
    assert named in str(hidden_characters([text]))
