import pytest

from casewise.storage.wording import LabelWords


@pytest.mark.parametrize(
    ("words", "policy", "said"),
    [
        (LabelWords("people"), "votes", "votes"),
        (LabelWords("people"), "votes,unsure:unsafe", "votes,unsure:unsafe"),
        (LabelWords("author"), "votes", "the author's"),
        (LabelWords("people", one_each=True), "votes", "one person for each item"),
        (LabelWords(None), "votes,ties:drop", "as stated,ties:drop"),
        (LabelWords("author"), "intended", "intended"),
    ],
)
def test_only_labels_that_people_voted_on_are_called_votes(words, policy, said):
    assert words.policy(policy) == said
