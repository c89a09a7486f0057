"""A package for a registry of studies: what was promised, what people read, and how it will be analysed."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError, StudyError
from casewise.studies.design.freeze import plain
from casewise.studies.design.wording import PAGES, StudyWording
from casewise.studies.running.export import without_codes
from casewise.studies.running.plan import StudyPlan
from casewise.studies.running.sight import SIGHT

__all__ = ["deposit", "deposit_files"]

FIRST = (2020, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that the same study makes the same archive."""

ANALYSE = '''"""The analysis of this study, as it was frozen. Needs casewise {version}: pip install 'casewise=={version}'

Put the exported study beside this file as `rated/`, and run: python analyse.py
"""

from pathlib import Path

from casewise import api

report = api.study_report("rated")  # contrasts, alpha, correction, labels and exclusions are those that were frozen
assert report.study is not None and report.study.frozen is not None, "rated/ is no export of a frozen study"
assert report.study.frozen.digest == "{digest}", "rated/ is not the study of this package"
report.write(Path("report"))
'''


def deposit(plan: StudyPlan, target: Path) -> Path:
    """Write the package to a new folder, or to an archive where the name ends in `.zip`.

    Raises StudyError: the study is not frozen; ConfigurationError: there is something at `target` already.
    """
    if target.exists():
        raise ConfigurationError(f"{target} exists; choose another place")
    found = deposit_files(plan)
    sums = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(found.items()))
    found["SHA256SUMS"] = sums
    if target.suffix == ".zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in sorted(found.items()):
                archive.writestr(zipfile.ZipInfo(f"{target.stem}/{name}", FIRST), text)
        return target
    for name, text in found.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return target


def deposit_files(plan: StudyPlan) -> dict[str, str]:
    """The texts of the package by their names. No query and no context is among them, and no completion code.

    Raises StudyError: the study is not frozen.
    """
    if plan.frozen is None:
        raise StudyError(f"{plan.path} is not frozen; fix what you promise first: casewise study freeze {plan.path}")
    known = {"design": plan.design, "frozen": plan.frozen, "estimate": plan.estimate, "sight": SIGHT}
    texts = {plan.design.languages[0]: plan.wording} | {code: there.wording for code, there in plan.translated.items()}
    shown = {
        f"texts/{code}/{page}.md": text for code, wording in texts.items() for page, text in pages(wording).items()
    }
    return {
        "README.md": readme(plan),
        "preregistration.md": rendered("preregistration", known | {"departures": plan.departures}),
        "codebook.md": rendered("codebook", known),
        "design.json": written(without_codes(plan.design)),
        "study.frozen.json": written(plain(plan.frozen)),
        "analyse.py": ANALYSE.format(version=version("casewise"), digest=plan.frozen.digest),
        **shown,
    }


def written(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def rendered(name: str, known: dict[str, Any]) -> str:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, trim_blocks=True)  # noqa: S701
    source = files("casewise.studies.design").joinpath("texts", f"{name}.md.jinja").read_text(encoding="utf-8")
    return environment.from_string(source).render(known)


def pages(wording: StudyWording) -> dict[str, str]:
    """The texts as people read them; quiz and checks with what is right."""
    quiz = "\n\n".join(
        "\n".join(
            (
                f"## {question.text}",
                *(f"- [{'x' if place == question.right else ' '}] {one}" for place, one in enumerate(question.options)),
                *([f"> {question.explanation}"] if question.explanation else []),
            )
        )
        for question in wording.quiz
    )
    checks = "\n\n".join(
        f"## {check.name}\n{check.text}\nAnswer: {'respond' if check.expected == 'safe' else 'refuse'}"
        for check in wording.checks
    )
    plain_texts = {page: text for page, text in asdict(wording).items() if page not in ("quiz", "checks")}
    return {page: {**plain_texts, "quiz": quiz, "checks": checks}[page].rstrip("\n") + "\n" for page in PAGES}


def readme(plan: StudyPlan) -> str:
    assert plan.frozen is not None  # as was checked
    return "\n".join(
        (
            f"# {plan.design.title}",
            "",
            f"The study {plan.design.name} {plan.design.version} on {plan.benchmark.title}, as it was frozen: `{plan.frozen.digest}`.",
            "",
            "- `preregistration.md`: question, hypotheses, design, sample, exclusions and analysis",
            "- `study.frozen.json`: every promised setting, and the digests of all texts and items, under that digest",
            "- `design.json`: all settings, without completion codes",
            "- `texts/`: consent and every other page that people read, by language; the quiz and the checks with their answers",
            "- `codebook.md`: every file and field of the exported data",
            "- `analyse.py`: the analysis",
            "- `SHA256SUMS`: of these files (`sha256sum --check SHA256SUMS`)",
            "",
            "Requests and contexts are not part of it: they can be harmful, and their owners may have terms of their own.",
            "",
        )
    )
