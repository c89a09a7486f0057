from dataclasses import replace
from typing import Any

from casewise.reports import formats
from casewise.reports.document import (
    Document,
    Drawing,
    Exhibit,
    Figure,
    Folded,
    Forest,
    ForestRow,
    MarkedText,
    Prose,
    Section,
    table_of,
)
from casewise.reports.formats import html, markdown
from casewise.stats.sample import FilledInTest
from casewise.text import Noun, reference, render, text


def test_every_part_of_a_document_calls_a_judge_and_what_it_judges_the_same():
    judge = reference("gpt −type", "gpt (score, without:recipient.type)")
    said, short = text("{judge} on {queries}", judge=judge), "gpt −type on actions"
    table = replace(table_of("t", said, (said,), [(said,)]), links={said: "gpt.html"})
    forest = Forest("f", said, ((said, (ForestRow(said, 0.5, None, None),)),))
    chart = Figure("c", said, said, Drawing(lambda form: render(said, form), (judge,)), table)
    exhibit = Exhibit("h", ((said, "safe"),), "a query", ())
    blocks = (Prose(said), table, forest, chart, Folded(said, (exhibit,)))

    page = Document(said, said, (said,), (Section("s", said, blocks),), Noun("action", "actions")).rendered()
    drawn: Any = page.sections[0].blocks
    prose, rows, dots, figure, fold = drawn
    assert (page.title, page.subtitle, page.notices, page.sections[0].heading) == (short, short, (short,), short)
    assert (prose, rows.caption, rows.columns, rows.rows) == (Prose(short), short, (short,), ((short,),))
    assert rows.links == {short: "gpt.html"}
    assert (dots.caption, dots.groups[0][0], dots.groups[0][1][0].label) == (short, short, short)
    assert (figure.caption, figure.alt, figure.svg, figure.behind.caption) == (short, short, short, short)
    assert (fold.summary, fold.blocks[0].facts, fold.blocks[0].query) == (short, ((short, "safe"),), "a query")
    assert fold.blocks[0].noun == "action"


def test_a_correlation_that_rounds_to_zero_has_no_sign():
    assert "is 0.00, that" in FilledInTest(n=9, n_rest=9, r=-0.001, r_rest=0.5, p=0.1, p_unrelated=0.1).sentence


def test_what_is_folded_stands_in_every_format_and_in_the_terminal_s_where_its_section_does():
    table = table_of("numbers", "Numbers", ("Name", "Value", "More"), [("a", "1", "2")])
    fold = Folded("More numbers", (Prose("Read this."), table), "more")
    document = Document("T", "", (), (Section("s", "S", (Prose("Seen."), fold), brief=True),))
    first = replace(document, sections=(replace(document.sections[0], first=True, brief=False),))

    assert list(document.tables()) == [table]
    assert '<section class="part" id="more">\n<h3>More numbers</h3>' in html(document)
    assert "### More numbers" in markdown(document)
    assert "Read this." in markdown(document)
    assert "Seen." in formats.text(document)
    assert "Read this." in formats.text(document)
    assert "Seen." in formats.text(first)
    assert "Read this." not in formats.text(first)


def test_marks_in_a_text_of_a_user_are_no_changes():
    query = MarkedText("Add [+salt+] to it", "Add [+salt+] to the soup")
    exhibit = Exhibit("An item", (), query, context=(("sender", (("role", "[-nobody-] <b>"),)),))
    page = html(Document("A page", "", (), (Section("items", "Items", (exhibit,)),)))

    assert str(query) == "Add [+salt+] to [-it-][+the soup+]"
    assert "Add [+salt+] to <del>it</del><ins>the soup</ins>" in page
    assert "[-nobody-] &lt;b&gt;" in page
