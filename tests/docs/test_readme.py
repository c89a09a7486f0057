"""Every command is documented, generated pages are current, and no page names a developer's folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import repository, write_reference
from scripts.write_commands import FOLDER, leaves, reference
from tests.support.packages import forget

from casewise import plugins
from casewise.cli.app import app
from casewise.evaluate.conclusions import conditions
from casewise.stats.sample import label_terms, rate_terms, term_names

ROOT = Path(__file__).parents[2]


def test_the_command_reference_is_what_the_commands_say():
    commands = reference()
    written = {page.name: page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md")}

    assert written == commands, "run: python scripts/write_commands.py"
    for names in leaves(app):
        assert f"Usage: casewise {' '.join(names)} " in commands[f"{names[0]}.md"], names


def test_each_page_of_facts_is_what_the_code_says(monkeypatch):
    monkeypatch.setattr(plugins, "entry_points_of", lambda _kind: ())  # whatever packages are installed here
    forget()
    pages = write_reference.pages()
    monkeypatch.undo()
    forget()

    for name, page in pages.items():
        written = (write_reference.FOLDER / name).read_text(encoding="utf-8")
        assert written == page, f"{name}: run: python scripts/write_reference.py"


def test_no_page_names_a_folder_of_a_developers_machine():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]:
        assert not re.search(r"/(work|root|home)/\w", page.read_text(encoding="utf-8")), page


def test_links_between_the_files_of_the_repository_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for link in re.findall(r"\]\(([^)\s#]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8")):
            assert re.match(r"[a-z]+:", link) or (page.parent / link).exists(), f"{page.relative_to(ROOT)}: {link}"


@pytest.mark.parametrize("place", repository.PLACES)
def test_the_repository_has_one_address(place):
    text = (ROOT / place).read_text(encoding="utf-8")

    assert f"git clone {repository.address()} casewise" in text, "run: python scripts/repository.py"
    assert repository.named(text) == text, "run: python scripts/repository.py"


def test_the_sums_that_the_page_offers_to_a_metric_are_those_that_it_gets():
    page = (ROOT / "docs" / "how-to" / "plugins.md").read_text(encoding="utf-8")
    table = page.split("| term |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == term_names(label_terms) | term_names(rate_terms)


def test_every_kind_of_conclusion_has_an_example_and_its_simulated_rates_on_the_page():
    page = write_reference.pages()["conclusions.md"]

    assert [one.kind for one in write_reference.EXAMPLES] == list(conditions())
    assert page.count(" settings") == 2 + sum(len(condition.simulated) for condition in conditions().values())
    assert all(condition.simulated or condition.not_simulated in page for condition in conditions().values())
