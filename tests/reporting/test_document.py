import pytest

from casewise.reporting.document import Document, Section, short_name, table_of
from casewise.reporting.faces.html import html


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("recorded:claude-3-5-sonnet (score, without:sender)", "claude-3-5-sonnet score −sender"),
        ("recorded:mixtral8x7B (probability)", "mixtral8x7B probability"),
        ("gpt (binary, without:sender,transmission_principle.urgency)", "gpt binary −sender −urgency"),
        ("linear (probability)", "linear (probability)"),
        ("accuracy (of all)", "accuracy (of all)"),
        ("recorded:a (binary, none)", "recorded:a (binary, none)"),
    ],
)
def test_recorded_judges_have_short_names(name, short):
    assert short_name(name) == short


def test_a_shortened_name_is_whole_where_the_mouse_is():
    name = "recorded:claude <3> (score, without:sender)"
    table = table_of("t", "Judges", ("Judge", "n"), [(name, 3)])
    page = html(Document("t", "", (), (Section("s", "S", (table,)),)))

    assert table.rows == (("claude <3> score −sender", "3"),)
    assert (
        '<th scope="row" title="recorded:claude &lt;3&gt; (score, without:sender)">claude &lt;3&gt; score −sender<'
        in page
    )
