"""Text from queries, contexts, categories, judges and replies stays text in every face of a report."""

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from casewise.api import judge
from casewise.records import Category, Context, Item, Query, Rating, Recipient, Sender, Taxonomy, TransmissionPrinciple
from casewise.reports.formats import html, latex, print_document
from casewise.reports.items import benchmark_page, item_page
from casewise.storage import About, Benchmark

SCRIPT = "</script><script>window.broken=1</script>"
IMAGE = '<img src=x onerror="window.broken=2">'
QUOTES = "\"' onload='window.broken=3' x=\""
SVG = "</text></svg><svg onload=window.broken=4>"
STYLE = "</style><style>body{display:none}</style>"
MARKDOWN = "[link](javascript:alert(1)) ![x](http://x.invalid/y.png) `code` **bold** | cell | <b>"
LATEX = r"\input{/etc/passwd} $x_1$ 100% & {brace} ~ ^ #1 \end{tabular}"
TERMINAL = "\x1b]0;title\x07\x1b[31mred\x9b31m [bold]markup[/bold] [/]"
SEPARATORS = "line\u2028paragraph\u2029next\x85back\bform\fvertical\vreturn\r\nend"

TEXTS = (
    SCRIPT,
    IMAGE,
    QUOTES,
    SVG,
    STYLE,
    MARKDOWN,
    LATEX,
    TERMINAL,
    SEPARATORS,
    "{{ 7 * 7 }} {% raw %} ${7*7} {0}",
    "constructor",
)


def nasty_benchmark() -> Benchmark:
    """Two contexts for each text, in a category of that text."""
    taxonomy = Taxonomy(name=SCRIPT, categories=tuple(Category(name=text, domain=f"domain {IMAGE}") for text in TEXTS))
    queries = [Query(text=f"{text} {SCRIPT}", category=text) for text in TEXTS]
    contexts = [
        context(query, text, safe=safe) for query, text in zip(queries, TEXTS, strict=True) for safe in (True, False)
    ]
    items = [Item.from_context(each_context) for each_context in contexts]
    ratings = [
        Rating(item_id=item.id, annotator_id=f"a{n}", verdict="safe" if (n + place) % 3 else "unsafe")
        for place, item in enumerate(items)
        for n in range(5)
    ]
    about = About(name=f"nasty {SCRIPT}", version=IMAGE, description=SVG, synthetic=f"made up {SCRIPT}")
    return Benchmark(about, tuple(queries), tuple(contexts), tuple(items), tuple(ratings), taxonomy=taxonomy)


def context(query: Query, text: str, *, safe: bool) -> Context:
    return Context(
        query_id=query.id,
        intended_safe=safe,
        sender=Sender(nature_of_the_interaction=text, platform_type=IMAGE),
        recipient=Recipient(type=SVG, background={f"heading {SCRIPT}": [text, {"deeper": QUOTES}]}),
        transmission_principle=TransmissionPrinciple(
            sender_purpose=STYLE, confidentiality=MARKDOWN, source_accountability=LATEX
        ),
        origin="imported",
    )


def nasty_judge(query: str, shown: object) -> str:
    """A verdict for most, and a reply that breaks out for the rest."""
    return query if IMAGE in query else ("unsafe" if len(query) % 2 else "safe")


nasty_judge.__name__ = f"judge {SCRIPT} {IMAGE}"


def nasty_run(folder):
    """The judge's run over the benchmark."""
    return judge(nasty_benchmark(), nasty_judge, out=folder)


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
