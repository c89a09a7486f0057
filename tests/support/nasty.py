"""A benchmark, a judge and replies whose every text tries to break out of what it is shown in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from casewise.api import Run, judge
from casewise.records import Category, Context, Item, Query, Rating, Recipient, Sender, Taxonomy, TransmissionPrinciple
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
    items = [Item.of(each_context) for each_context in contexts]
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


def nasty_judge(query: str, shown: Any) -> str:
    """A verdict for most, and a reply that breaks out for the rest."""
    return query if IMAGE in query else ("unsafe" if len(query) % 2 else "safe")


nasty_judge.__name__ = f"judge {SCRIPT} {IMAGE}"


def nasty_run(folder: Path) -> Run:
    """The judge's run over the benchmark."""
    return judge(nasty_benchmark(), nasty_judge, out=folder)
