"""The first screen of each page that somebody decides by."""

import json
import re
from html.parser import HTMLParser

import pytest

import casewise
from casewise.reports.document import MOST_FOLDS, Document, Folded, Forest, Prose, Section, Table, all_numbers
from casewise.reports.formats import is_synthetic

MOST_WORDS = 90


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The seven pages, each with the document behind it, from runs over the demo."""
    runs = tmp_path_factory.mktemp("runs")
    linear, intended = (
        casewise.judge("demo", name, out=runs / name.partition(":")[0]) for name in ("linear", "constant:intended")
    )
    asked = casewise.judge("demo", "fake/rehearsal", elicitations="probability", out=runs / "asked")
    return {
        "report": casewise.report(linear),
        "report of several": casewise.report(linear, intended, asked),
        "compare": casewise.compare(linear, intended),
        "leaderboard": casewise.leaderboard(linear, intended),
        "audit": casewise.audit("demo"),
        "recommend": casewise.recommend(asked),
        "decider": casewise.fit_decider(asked, ratio=3),
        "study report": casewise.study_report("demo"),
    }


PAGES = ("report", "report of several", "compare", "leaderboard", "audit", "recommend", "decider", "study report")
FEW_CASES = "query,label\nWho was admitted?,unsafe\nWhen do visits begin?,safe\nWhich dose did she get?,unsafe\n"

pytestmark = pytest.mark.slow


class Folds(HTMLParser):
    """The summaries of a page's folds, and how deep one stands in another."""

    def __init__(self, page):
        super().__init__()
        self.summaries, self.depth, self.deepest, self.inside = [], 0, 0, False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.depth += tag == "details"
        self.deepest = max(self.depth, self.deepest)
        self.inside = self.inside or tag == "summary"
        self.summaries += [""] if tag == "summary" else []

    def handle_endtag(self, tag):
        self.depth -= tag == "details"
        self.inside = self.inside and tag != "summary"

    def handle_data(self, data):
        if self.inside:
            self.summaries[-1] += data


def first_screen(report):
    return [block for part in report.document.rendered().sections if part.first for block in part.blocks]


@pytest.mark.parametrize("name", PAGES)
def test_a_first_screen_has_a_verdict_three_large_figures_and_what_to_do_in_at_most_ninety_words(pages, name):
    blocks = first_screen(pages[name])
    prose = [block for block in blocks if isinstance(block, Prose)]
    (figures,) = [block for block in blocks if isinstance(block, Table) and block.large]
    drawn = [block.brief for block in blocks if isinstance(block, Forest)]
    shown = [*(block.text for block in prose), figures.caption, *(" ".join(row[:3]) for row in figures.rows)]
    shown += [forest.caption for forest in drawn] + [head for forest in drawn for head, _ in forest.groups]
    shown += [row.label for forest in drawn for row in forest.rows]
    shown += [tick for forest in drawn for tick in map(forest.tick, forest.ticks[::2])]
    words = " ".join(shown)

    assert blocks[0] == prose[0]
    assert prose[0].lead
    assert sum(block.text.startswith("Next: ") for block in prose) == 1
    assert len(figures.rows) >= 3
    assert len(re.findall(r"\S*\w\S*", words)) <= MOST_WORDS, words
    assert not re.search(r"i_[0-9a-f]{11}", words)


@pytest.mark.parametrize("name", PAGES)
def test_everything_else_stands_in_at_most_eight_folds_that_each_say_why_one_would_open_it(pages, name):
    folds = Folds(pages[name].to_html())

    assert 1 <= len(folds.summaries) <= MOST_FOLDS
    assert folds.deepest == 1
    for summary in folds.summaries:
        assert re.search(r"[A-Z][a-z]+ .+\.$", summary.strip()), summary


@pytest.mark.parametrize("name", PAGES)
def test_each_figure_and_table_of_synthetic_data_can_be_told_from_a_real_one(pages, name):
    assert is_synthetic(pages[name].document)


@pytest.mark.parametrize("name", PAGES)
def test_a_terminal_says_what_to_do_next(pages, name):
    assert "\nNext: " in str(pages[name])


@pytest.mark.parametrize("name", ["compare", "leaderboard"])
def test_a_judge_that_cannot_be_deployed_is_not_advised_to_be(pages, name):
    (step,) = [block.text for block in first_screen(pages[name]) if getattr(block, "text", "").startswith("Next: ")]

    assert "recommend" not in step


def test_the_first_screens_of_three_cases_say_why_a_figure_is_not_known(tmp_path):
    (tmp_path / "cases.csv").write_text(FEW_CASES)
    casewise.import_cases(tmp_path / "cases.csv", tmp_path / "few")
    for report in (casewise.audit(str(tmp_path / "few")), casewise.study_report(str(tmp_path / "few"))):
        (figures,) = [block for block in first_screen(report) if isinstance(block, Table)]

        assert len(figures.rows) == 3
        assert all(reason for _, value, reason, _ in figures.rows if value == "not known")
        assert any(value == "not known" for _, value, _, _ in figures.rows)


def test_the_first_screens_of_a_run_without_verdicts_point_to_its_replies(tmp_path):
    rows = [{"item_id": item.id, "reply": "hello there"} for item in casewise.load("demo").items]
    (tmp_path / "none.jsonl").write_text("\n".join(map(json.dumps, rows)))
    silent = casewise.judge("demo", f"recorded:{tmp_path / 'none.jsonl'}", out=tmp_path / "silent")
    other = casewise.judge("demo", "constant:safe", out=tmp_path / "other")

    for report in (casewise.report(silent), casewise.compare(silent, other), casewise.leaderboard(silent)):
        lead, *others = [block for block in first_screen(report) if isinstance(block, Prose)]
        assert lead.lead
        assert others[-1].text.startswith("Next: casewise reread ")
    figures = next(block for block in first_screen(casewise.report(silent)) if isinstance(block, Table))
    assert [row[1] for row in figures.rows] == ["not known", "not known", "100.0 %"]


def test_items_go_by_their_own_or_by_a_short_id(pages):
    tables = [table for report in pages.values() for table in report.document.rendered().tables()]

    assert any("i_" in cell for table in tables for row in table.rows for cell in row)
    assert not any(re.search(r"i_[0-9a-f]{16}", cell) for table in tables for row in table.rows for cell in row)


def test_what_is_more_than_eight_folds_stands_in_the_last_of_them():
    sections = [Section(f"s{n}", f"Part {n}", (Prose(f"{n}"),)) for n in range(12)]
    answer = Section("answer", "The answer", (Prose("Yes.", lead=True),), first=True)
    document = Document("T", "", (), (answer, *sections, all_numbers([Section("x", "X", (Prose("x"),))])))

    *_, last = document.folds
    assert len(document.folds) == MOST_FOLDS
    assert [part.summary for part in last.blocks if isinstance(part, Folded)] == [
        "Part 7",
        "Part 8",
        "Part 9",
        "Part 10",
        "Part 11",
        "X",
    ]
