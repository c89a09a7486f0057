from dataclasses import replace

import pytest

from casewise.notation import interval, number, p_value, percent
from casewise.reports.document import Document, Exhibit, Figure, Folded, Prose, Section, short_name, table_of
from casewise.reports.formats import html, markdown, text
from casewise.stats.sample import FilledIn


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("recorded:claude-3-5-sonnet (score, without:sender)", "claude-3-5-sonnet (score) −sender"),
        ("recorded:mixtral8x7B (probability)", "mixtral8x7B (probability)"),
        ("gpt (binary, without:sender,transmission_principle.urgency)", "gpt (binary) −sender −urgency"),
        ("linear (probability)", "linear (probability)"),
        ("accuracy (of all)", "accuracy (of all)"),
        ("recorded:a (binary, none)", "recorded:a (binary, none)"),
    ],
)
def test_recorded_judges_have_short_names(name, short):
    assert short_name(name) == short


def test_prose_and_notices_call_a_judge_what_tables_call_it():
    said = "These items do not tell recorded:my mixtral #2 (probability) from gpt (score, without:recipient.type)."
    short = "These items do not tell my mixtral #2 (probability) from gpt (score) −type."

    assert Prose(said).text == short
    assert Document("t", said, (said,), ()).notices == (short,)
    assert Document("t", said, (said,), ()).subtitle == short
    chart, table = Figure("f", said, said, ""), table_of("t", said, ("a",), [])
    assert (chart.caption, chart.alt, table.caption) == (short, short, short)
    assert Exhibit("h", ((said, "safe"),), "q", ()).facts == ((short, "safe"),)


def test_what_rounds_to_zero_has_no_sign_and_no_p_is_zero():
    assert [number(-0.001, digits=2), number(-0.0004), number(-0.0006)] == ["0.00", "0.000", "-0.001"]
    assert number(-1234.5678, digits=2) == "-1,234.57"
    assert percent(-0.0001) == percent(-1e-9) == "0.0 %"
    assert [interval(-0.0001, 0.0001), interval(-0.0001, 0.25)] == ["[0.000, 0.000]", "[0.000, 0.250]"]
    assert [p_value(1e-9), p_value(0.04321)] == ["< 0.0001", "0.0432"]
    assert "is 0.00, that" in FilledIn(n=9, n_rest=9, r=-0.001, r_rest=0.5, p=0.1, p_unrelated=0.1).sentence


def test_what_is_folded_stands_in_every_format_and_in_the_terminal_s_where_its_section_does():
    table = table_of("numbers", "Numbers", ("Name", "Value", "More"), [("a", "1", "2")])
    fold = Folded("More numbers", (Prose("Read this."), table), "more")
    document = Document("T", "", (), (Section("s", "S", (Prose("Seen."), fold), brief=True),))
    first = replace(document, sections=(replace(document.sections[0], first=True, brief=False),))

    assert list(document.tables()) == [table]
    assert '<details class="fold" id="more"><summary>More numbers</summary>' in html(document)
    assert "### More numbers" in markdown(document)
    assert "Read this." in markdown(document)
    assert "Seen." in text(document)
    assert "Read this." in text(document)
    assert "Seen." in text(first)
    assert "Read this." not in text(first)
