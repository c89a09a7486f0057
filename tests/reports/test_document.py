from dataclasses import replace
from typing import Any

import pytest

from casewise.reports import formats
from casewise.reports.document import (
    CHATBOT,
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
    all_numbers,
    table_of,
)
from casewise.reports.formats import html, markdown
from casewise.stats.estimates import Estimate
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


TABLE, CHART = table_of("t", "T", ("n",), [(1,)]), table_of("behind", "B", ("n",), [(2,)])
FIGURE, BARE = Figure("c", "C", "A chart.", "<svg/>", CHART), Figure("d", "D", "A chart.", "<svg/>")
ROWS = (
    ForestRow("a", 0.5, 0.4, 0.6, key=True),
    ForestRow("b", None, 0.1, 0.2),
    ForestRow("c", 2.0, None, None, words="2"),
)
FOREST = Forest("f", "F", (("one", ROWS[:2]), ("two", ROWS[2:])))
ITEM = Exhibit("h", (), "a query", (), reply="Here.", reply_by=CHATBOT)


def test_tables_and_figures_come_in_reading_order_with_those_behind_charts_and_in_folds():
    blocks = (FIGURE, BARE, Folded("more", (TABLE, Folded("deeper", (FOREST,)))))
    document = Document("T", "", (), (Section("s", "S", blocks), Section("u", "U", (CHART,))))

    assert list(document.tables()) == [CHART, TABLE, FOREST.table, CHART]
    assert list(document.figures()) == [FIGURE, BARE]


def test_a_chart_draws_the_rows_of_its_verdict_first_and_has_a_table_of_all():
    assert FOREST.rows == ROWS
    assert FOREST.brief.groups == (("one", ROWS[:1]),)
    assert replace(FOREST, groups=(("two", ROWS[2:]),)).brief.groups == (("two", ROWS[2:]),)
    assert FOREST.table.columns == ("Name", "Against", "Accuracy", "95 % interval")
    assert FOREST.table.rows == (
        ("a", "one", "0.500", "[0.400, 0.600]"),
        ("b", "one", "–", "[0.100, 0.200]"),
        ("c", "two", "2.000", "–"),
    )
    assert replace(FOREST, behind=TABLE).table is TABLE
    assert [row.written for row in ROWS] == ["50.0 % [40.0, 60.0]", "[10.0, 20.0]", "2"]
    found = Estimate("accuracy", 0.5, 0.4, 0.6, 9.0, 0, "made up")
    assert ForestRow.from_estimate("a", found) == ForestRow("a", 0.5, 0.4, 0.6, strong=False, key=False)


@pytest.mark.parametrize(
    ("ends", "ticks", "names"),
    [
        ((0.0, 4.0), (0, 1, 2, 3, 4), ["0", "1", "4"]),
        ((-0.1, 0.1), (-0.1, -0.05, 0, 0.05, 0.1), ["-0.1", "-0.05", "0.1"]),
    ],
)
def test_an_axis_of_plain_numbers_is_named_at_its_quarters(ends, ticks, names):
    forest = Forest("f", "F", (("", ROWS),), ends=ends)

    assert forest.ticks == pytest.approx(ticks)
    assert [forest.tick(forest.ticks[place]) for place in (0, 1, 4)] == names
    assert [forest.place(value) for value in (*ends, ends[0] - 1, ends[1] + 1)] == [0, 100, 0, 100]
    assert FOREST.tick(0.35) == "35 %"


@pytest.mark.parametrize(("letters", "wide"), [(21, False), (22, True)])
def test_a_table_is_wide_where_a_phone_has_no_room_for_its_columns(letters, wide):
    table = table_of("t", "T", ("a head of any length", "b"), [("x" * 23, "y" * letters)])

    assert table.wide is wide


def test_the_answer_is_the_first_section_else_what_a_terminal_shows_else_all():
    first, brief, other = Section("a", "A", (), first=True), Section("b", "B", (), brief=True), Section("c", "C", ())

    def answer(*sections: Section) -> tuple[Section, ...]:
        return Document("T", "", (), sections).answer.sections

    assert answer(other, first, brief) == (first,)
    assert answer(other, brief) == (brief,)
    assert answer(other) == (other,)


@pytest.mark.parametrize(
    ("exhibit", "quotes"), [(ITEM, True), (replace(ITEM, reply_by="judge"), False), (replace(ITEM, reply=None), False)]
)
def test_a_page_with_a_chatbots_reply_is_its_owners_alone(exhibit, quotes):
    document = Document("T", "", (), (Section("s", "S", (TABLE, Folded("f", (exhibit,)))),))

    assert document.quotes_replies is quotes


def test_items_are_left_out_in_folds_too_for_readers_who_may_not_see_them():
    document = Document("T", "", (), (Section("s", "S", (ITEM, TABLE, Folded("f", (ITEM, FIGURE)))),))

    assert document.without_exhibits.sections[0].blocks == (TABLE, Folded("f", (FIGURE,)))


def test_empty_sections_have_no_fold_among_all_numbers():
    section = all_numbers([Section("a", "A", (TABLE,)), Section("b", "B", ())], brief=True)

    assert (section.anchor, section.brief, section.blocks) == ("all-numbers", True, (Folded("A", (TABLE,), "a"),))


def test_a_page_folds_its_chart_and_what_has_blocks_under_the_answer():
    answer = Section("answer", "The answer", (Prose("Yes."), FOREST), first=True)
    parts = (answer, Section("empty", "Empty", ()), Section("b", "B", (TABLE,)))

    assert [fold.anchor for fold in Document("T", "", (), parts).folds] == ["chart", "b"]
    assert Document("T", "", (), parts[1:]).folds == ()


@pytest.mark.parametrize(("n", "anchors"), [(8, "s7"), (9, "all-numbers")])
def test_eight_folds_stand_for_themselves_and_more_in_the_last(n, anchors):
    parts = [Section(f"s{place}", f"Part {place}", (Prose("x"),)) for place in range(n)]
    folds = Document("T", "", (), (Section("a", "A", (), first=True), *parts)).folds

    assert (len(folds), folds[-1].anchor) == (8, anchors)


def test_the_definitions_take_the_place_of_a_fold():
    parts = [Section(f"s{place}", f"Part {place}", (table_of("t", "T", ("Harm",), [(1,)]),)) for place in range(8)]
    folds = Document("T", "", (), (Section("a", "A", (), first=True), *parts)).folds

    assert (len(folds), folds[-1].anchor) == (7, "all-numbers")
    assert [part.summary for part in folds[-1].blocks if isinstance(part, Folded)] == ["Part 6", "Part 7"]


def test_a_name_with_two_meanings_has_one_for_each_table():
    first, second = (
        replace(table_of(name, name.upper(), ("x",), [(1,)]), meanings={"x": f"means {name}"}) for name in ("a", "b")
    )
    figure = Figure("c", "C", "A chart.", "<svg/>", replace(second, meanings={"y": "means c"}))
    document = Document("T", "", (), (Section("s", "S", (first, second, figure, FOREST)),))

    assert document.definitions == {"x": "means a", "x (B)": "means b", "y": "means c"}


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


def test_a_forest_has_an_axis_from_the_tenth_below_everything_and_one_where_all_numbers_are_alike():
    rows = (ForestRow("a", 0.62, 0.55, 0.7), ForestRow("b", None, 0.51, 0.93))
    forest = Forest("f", "", (("", rows),))
    alike = Forest("h", "Mean H", (("", (ForestRow("all", 0.0, None, None),)),), ends=(0.0, 0.0))

    assert forest.ticks == (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert [forest.place(value) for value in (0.5, 0.75, 1.0, 0.2)] == [0, 50, 100, 0]
    assert [row[2:] for row in forest.table.rows] == [("0.620", "[0.550, 0.700]"), ("–", "[0.510, 0.930]")]
    assert (alike.ticks, alike.place(0.0)) == ((0.0, 0.25, 0.5, 0.75, 1.0), 0)


@pytest.mark.parametrize(("least", "first", "names"), [(0.42, 0.4, 7), (0.39, 0.2, 5), (0.0, 0.0, 6), (1.0, 0.9, 2)])
def test_a_long_axis_is_named_at_every_fifth(least, first, names):
    ticks = Forest("f", "", (("", (ForestRow("a", least, None, None),)),)).ticks

    assert ticks[0] == first
    assert ticks[-1] == 1.0
    assert len(ticks) == names
