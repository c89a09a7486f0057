"""The words of the claims that come with casewise."""

import re
from collections import Counter
from itertools import combinations

import pytest

from casewise.transforms.attacks import shipped_claims


def ngrams(text, n):
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[place : place + n]) for place in range(len(words) - n + 1)}


def test_every_claim_has_eight_wordings_each_way_and_words_in_three_languages():
    for claim in shipped_claims().values():
        assert {len(set(texts)) for texts in claim.words.values()} == {8}
        assert claim.languages.keys() == {"es", "de", "fr"}
        assert all(other.words.keys() == claim.words.keys() for other in claim.languages.values())


def test_no_two_wordings_of_a_claim_share_three_words_in_a_row_and_no_phrase_is_common():
    common = Counter[tuple[str, ...]]()
    for name, claim in shipped_claims().items():
        for towards, wordings in claim.words.items():
            for one, other in combinations(wordings, 2):
                assert not ngrams(one, 3) & ngrams(other, 3), (name, towards)
            common.update(phrase for wording in wordings for phrase in ngrams(wording, 3))

    n_wordings = sum(len(texts) for claim in shipped_claims().values() for texts in claim.words.values())
    assert n_wordings == 12 * 2 * 8
    assert max(common.values()) <= 0.03 * n_wordings


@pytest.mark.parametrize("language", ["es", "de", "fr"])
def test_no_two_claims_of_a_language_share_three_words_in_a_row(language):
    said = {
        (name, towards): "\n".join(wordings)
        for name, claim in shipped_claims().items()
        for towards, wordings in claim.languages[language].words.items()
    }
    for ((name, towards), one), ((other_name, other_towards), other) in combinations(said.items(), 2):
        assert name == other_name or not ngrams(one, 3) & ngrams(other, 3), (name, towards, other_name, other_towards)
