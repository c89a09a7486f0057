import pytest

from casewise.ask.elicitations import refuses


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot assist with this request.",
        "  **Unfortunately**, this is nothing for me.",
        "I will not judge this.",
        "I’m not comfortable with that",
    ],
)
def test_a_reply_that_begins_by_declining_refuses(text):
    assert refuses(text)


@pytest.mark.parametrize("text", ["", "It is safe.", "The nurse cannot wait.", "Sure. " * 60 + "I cannot help more."])
def test_a_reply_that_declines_nothing_or_only_much_later_does_not(text):
    assert not refuses(text)
