import pytest

from casewise.ask.layouts import filled


@pytest.mark.parametrize(
    ("template", "doubled", "text"),
    [
        ("{a} and {b}", False, "{b} {{x}} and \\1"),
        ("{a}{a}", False, "{b} {{x}}{b} {{x}}"),
        ("{c} {} {{a}}", False, "{c} {} {{b} {{x}}}"),
        ('{{"a": {b}}}', True, '{"a": \\1}'),
        ("{{a}}", True, "{a}"),
        ("", False, ""),
    ],
)
def test_a_template_is_filled_in_a_single_pass(template, doubled, text):
    assert filled(template, {"a": "{b} {{x}}", "b": "\\1"}, doubled_braces=doubled) == text
