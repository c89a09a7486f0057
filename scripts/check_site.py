"""What the site's builder does not check of a built site: `python scripts/check_site.py build/site` ends with 1 where something is wrong."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path

import casewise
import casewise.records
import casewise.stats

__all__ = ["problems"]

DOCS = Path(__file__).resolve().parents[1] / "docs"
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|preload|preconnect|icon))[^>]*href=["']?(?:https?:)?//[^"'\s>]+"""
)
ANCHOR, LINK = re.compile(r'\bid="([^"]+)"'), re.compile(r'<a\b[^>]*\bhref="([^"]+)"')
LEFT_OVER = re.compile(r":math:|\.\. math::|<p>:::|<p>\| |&lt;math")


def problems(site: Path) -> list[str]:
    """A line for each thing that is wrong with the site in folder `site`."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    anchors = {path: set(map(unescape, ANCHOR.findall(text))) for path, text in pages.items()}
    found = [f"{page}: not in the site" for page in _pages_written() if not (site / page).is_file()]
    found += [f"{name}: not in the reference" for name in _public() if not any(name in ids for ids in anchors.values())]
    for path, text in pages.items():
        where = path.relative_to(site)
        found += [f"{where}: loaded from elsewhere: {match[0]}" for match in LOADED.finditer(text)]
        found += [f"{where}: not rendered: {match[0]}" for match in LEFT_OVER.finditer(text)]
        found += [f"{where}: leads nowhere: {link}" for link in _broken(path, text, anchors)]
    return found


def _pages_written() -> list[str]:
    return [str(path.relative_to(DOCS).with_suffix(".html")) for path in DOCS.rglob("*.md")]


def _public() -> list[str]:
    rooms = (casewise, casewise.stats, casewise.records)
    names = [f"{room.__name__}.{name}" for room in rooms for name in room.__all__ if not name.startswith("__")]
    return [name for name in names if type(_named(name)).__name__ in {"function", "type", "ModelMetaclass"}]


def _named(name: str) -> object:
    room, _, last = name.rpartition(".")
    return getattr(sys.modules[room], last)


def _broken(path: Path, text: str, anchors: dict[Path, set[str]]) -> list[str]:
    broken = []
    for link in map(unescape, LINK.findall(text)):
        page, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or path.name == "404.html":
            continue
        target = (path.parent / page).resolve() if page else path.resolve()
        ids = anchors.get(target, set())
        if not target.exists() or (anchor and target in anchors and anchor not in ids):
            broken.append(link)
    return broken


if __name__ == "__main__":
    lines = problems(Path(sys.argv[1]).resolve())
    print("\n".join(lines) or "the site is whole")
    sys.exit(bool(lines))
