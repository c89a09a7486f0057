"""The built site can be read at a desk and on a phone, and loads nothing from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.browser import DESKTOP, PHONE

ROOT = Path(__file__).parents[2]
PAGES = {"index": "casewise", "how-to/read-a-report": "Read a report", "reference/metrics": "Metrics"}


@pytest.fixture(scope="module")
def site() -> Path:
    pytest.importorskip("zensical", reason="the site is built where the extra [docs] is installed")
    subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT, check=True)
    return ROOT / "build" / "site"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize(("page", "title"), PAGES.items(), ids=list(PAGES))
def test_a_page_of_the_site_fits_its_screen(browser, site, page, title, size):
    opened = browser.new_page(viewport=size)
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))

    opened.goto((site / f"{page}.html").as_uri())

    assert opened.locator("h1").first.inner_text().strip().startswith(title)
    assert opened.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    opened.close()
