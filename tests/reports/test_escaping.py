"""Text from queries, contexts, categories, judges and replies stays text in every face of a report."""

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from rich.console import Console
from tests.support.nasty import IMAGE, SCRIPT, TEXTS, nasty_benchmark, nasty_run

from casewise.reports.formats import html, latex, print_document
from casewise.reports.judge import benchmark_page, item_page


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return nasty_run(tmp_path_factory.mktemp("nasty") / "run").report()


class Elements(HTMLParser):
    """Every element and attribute that a browser would see."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links = [value for name, value in attrs if name in {"href", "src"}]
        assert all(value.startswith("#") for value in self.links if value)

    def handle_data(self, data):
        self.texts.append(data)


def parsed(page):
    found = Elements()
    found.feed(page)
    return found


def test_a_page_has_no_script_no_image_and_no_handler(report):
    for page in (report.to_html(), report._repr_html_(), html(benchmark_page(nasty_benchmark()))):
        found = parsed(page)

        assert not found.tags & {"script", "img", "iframe", "object", "embed", "b"}
        assert not {name for name in found.attributes if name.startswith("on")}
        assert SCRIPT in "".join(found.texts)
        assert IMAGE in "".join(found.texts)


def test_the_page_of_an_item_shows_its_texts_as_they_are():
    benchmark = nasty_benchmark()
    for item in benchmark.items:
        found = parsed(html(item_page(benchmark, item)))

        assert not found.tags & {"script", "img"}
        assert benchmark.query[item.query_id].text in "".join(found.texts)


@pytest.mark.browser
def test_a_browser_runs_nothing_of_it(report, browser, tmp_path):
    (tmp_path / "page.html").write_text(report.to_html(), encoding="utf-8")
    (tmp_path / "fragment.html").write_text(f"<!doctype html>{report._repr_html_()}", encoding="utf-8")
    for name in ("page.html", "fragment.html"):
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto((tmp_path / name).as_uri())

        assert page.evaluate("window.broken") is None
        assert page.locator("h1").is_visible()
        assert page.locator("script, img, [onload], [onerror]").count() == 0
        assert len(asked) == 1, "the page asks for nothing else"
        page.close()


def tokens(text):
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    for token in parser.parse(text):
        yield token
        yield from token.children or ()


def test_markdown_has_no_markup_but_its_own(report):
    found = list(tokens(report.to_markdown()))

    kinds = {token.type for token in found}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline", "em_open", "fence", "hr"}
    rows = [token for token in found if token.type == "tr_open"]
    assert rows
    assert SCRIPT in "".join(token.content for token in found if token.type == "text")


def test_latex_has_no_commands_but_its_own(report):
    text = latex(report.document)

    commands = set(re.findall(r"\\([A-Za-z]+)", text))
    assert commands <= {
        *("begin", "end", "caption", "label", "toprule", "midrule", "bottomrule"),
        *("textbackslash", "textasciitilde", "textasciicircum", "leq", "geq", "frac", "kappa", "alpha"),
    }
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 3
    for line in text.splitlines():
        if line.startswith("%"):
            continue
        assert not re.search(r"(?<!\\)[#%$]", line.replace(r"$\frac{1}{2}$", "").replace("$-$", ""))


def test_the_terminal_gets_no_control_characters_and_no_markup(report, capsys):
    benchmark = nasty_benchmark()
    console = Console(width=100, force_terminal=True, color_system=None)
    for document in (report.document, benchmark_page(benchmark), item_page(benchmark, benchmark.items[-4])):
        print_document(document, console)

    out = capsys.readouterr().out
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out)
    assert "[bold]markup[/bold]" in out


def test_the_numbers_keep_every_text_as_it_is(report):
    assert set(report.categories["slice"]) == set(TEXTS)
