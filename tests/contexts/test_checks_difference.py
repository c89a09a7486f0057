from hypothesis import given
from hypothesis import strategies as st
from tests.contexts.wordings import wording

from casewise.contexts.checks import is_same, wording_difference
from casewise.stats.words import Piece, difference

texts = st.lists(st.sampled_from(["a", "clerk", "bank", " ", ", ", "é", "\n"]), max_size=30).map("".join)


def test_a_changed_word_and_a_parameter_left_out_are_shown_as_gone():
    found = wording_difference(wording(subject="The bank's customers"), wording())
    assert found["subject"] == [Piece("gone", "The bank's customers")]
    assert difference("A bank clerk asks", "A bank teller asks") == [
        Piece("same", "A bank "),
        Piece("gone", "clerk"),
        Piece("new", "teller"),
        Piece("same", " asks"),
    ]


@given(texts, texts)
def test_both_texts_can_be_put_together_again(before, after):
    pieces = difference(before, after)

    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after


def test_only_the_changed_parameter_differs():
    found = wording_difference(wording(), wording(recipient__type="Cashier"))

    assert [name for name, pieces in found.items() if not is_same(pieces)] == ["recipient.type"]
