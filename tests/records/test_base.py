from casewise.records.base import content_id, digest


def test_half_a_character_has_a_digest_of_its_own():
    assert digest("\ud800") != digest("\\ud800")


def test_the_kind_is_part_of_the_id():
    assert content_id("q", "x").removeprefix("q_") != content_id("c", "x").removeprefix("c_")


def test_an_id_has_128_bits():
    assert len(digest("x")) * 4 == 128
