"""The tutorials say what their commands print."""

from __future__ import annotations

import pytest
from scripts.tutorials import PAGES, alike, as_run


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_shows_what_its_commands_print(page, tmp_path):
    text = page.read_text(encoding="utf-8")

    assert alike(as_run(text, tmp_path)) == alike(text), f"run: python scripts/tutorials.py {page.stem}"


def test_a_page_is_shortened_where_it_was_and_says_what_is_printed_now(tmp_path):
    prints = "print(*'abcdef', sep=chr(10))"
    page = f"```python\n{prints}\n```\n\n```text\nb\nold\n…\ne\n```\n"

    assert as_run(page, tmp_path) == page.replace("old", "c")


def test_a_block_that_is_not_run_stays_as_it_is(tmp_path):
    page = "<!-- not run: needs a key -->\n```console\n$ casewise show nowhere\n```\n"

    assert as_run(page, tmp_path) == page


@pytest.mark.slow
def test_a_command_that_fails_is_no_tutorial(tmp_path):
    with pytest.raises(RuntimeError, match="ended with 2"):
        as_run("```console\n$ casewise show nowhere\n```\n", tmp_path)
