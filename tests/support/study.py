"""A small study for tests: made up, harmless, and open in whatever database is given."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select
from tests.support.app import form_token, visitor

from casewise.database.tables import study as tables
from casewise.studies.answers import SubmittedAnswer, finish_batch, next_page, take_answer
from casewise.studies.design import Design, study_toml
from casewise.studies.export import Export, export
from casewise.studies.freeze import Material, StudyItem
from casewise.studies.people import Vault, admit, answer_quiz, pass_tutorial
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import StudyPlan, init_study, open_plan, open_round
from casewise.studies.wording import read_wording

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = timedelta(hours=1)
SECRET = "a key for tests only, long enough to be one"


def design(**changes: Any) -> Design:
    """A design with two conditions; `changes` are by section, as in `study.toml`."""
    plain: dict[str, Any] = {
        "name": "tea",
        "title": "When should a chatbot answer?",
        "benchmark": "bench",
        "conditions": ["no_context", "safe_revised"],
        "contact": {"researcher": "A. Researcher", "institution": "An Institute", "email": "study@institute.edu"},
        "ratings": {"per_item": 2, "per_annotator": 3, "lease_minutes": 30},
        "attention": {"checks_per_batch": 1},
        "recruiter": {"kind": "code", "completion_code": "THANKS42", "screened_out_code": "SORRY42"},
        "privacy": {
            "withdraw_until": date(2027, 1, 1),
            "keep_ids_until": date(2027, 2, 1),
            "exclude_until": date(2027, 11, 1),
        },
    }
    for section, values in changes.items():
        plain[section] = {**plain.get(section, {}), **values} if isinstance(values, dict) else values
    return Design.model_validate(plain)


def big_enough() -> Design:
    """Ten items a batch, so that a share of answers says something."""
    return design(ratings={"per_item": 3, "per_annotator": 10}, attention={"checks_per_batch": 0})


def material(design: Design, *, queries: int = 4) -> Material:
    """`queries` queries, each once in every condition."""
    items = tuple(
        StudyItem(f"i_{condition}_{number}", f"q_{number}", condition, shown(number, condition))
        for condition in design.conditions
        for number in range(queries)
    )
    categories = (("medical advice", "Somebody may be treated wrongly."), ("legal consulting advice", ""))
    return Material(items, categories, {"name": "bench", "version": "1", "digest": "0" * 32})


def shown(number: int, condition: str) -> dict[str, Any]:
    context = {
        "sender": {"nature_of_the_interaction": "A helpful chat", "platform_type": "A <b>website</b> about tea"},
        "recipient": {"type": "A registered user", "background": "Brews tea at home"},
        "transmission_principle": {
            "urgency": "None",
            "sender_purpose": "Teach about tea",
            "confidentiality": "Private",
            "source_accountability": "The tea society",
        },
    }
    return {"query": f"How do I brew tea number {number}?", "context": {} if condition == "no_context" else context}


def opened(database: Any, plan: Design | None = None, *, queries: int = 4, phase: Any = "main") -> Any:
    """The round of `plan` in `database`, opened now."""
    plan = plan or design()
    with database.write() as connection:
        texts, shown = read_wording(plan, Path()), material(plan, queries=queries)
        return open_round(connection, plan, phase=phase, wording=texts, material=shown, now=START)


def tea(path: Path, preset: str = "lab", *changes: tuple[str, str]) -> Path:
    """Write the preset's study of the demo to `path`; each of `changes` is a pattern and what stands in its place."""
    init_study("demo", preset=preset, name="tea", path=path, today=START.date(), contact=design().contact)
    text = path.read_text(encoding="utf-8")
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text)
        assert count, pattern
    path.write_text(text, encoding="utf-8")
    return path


def opened_plan(database: Any, plan: StudyPlan, phase: Any = "main") -> Any:
    """A round of `plan` in `database`, opened now."""
    with database.write() as connection:
        return open_plan(connection, plan, phase=phase, now=START)


def exported(database: Any, study: Any, plan: StudyPlan, folder: Path) -> Export:
    """The round's ratings, written to `folder`."""
    with study.read(database) as live:
        return export(live, benchmark=plan.benchmark, design=plan.design, folder=folder)


def preset(name: Any = "lab") -> str:
    return study_toml(
        name, name="tea", benchmark="bench", conditions=["no_context", "safe_revised"], today=START.date()
    )


RIGHT = (1, 2, 1, 0, 2, 3)
"""The right options of the quiz that comes with casewise."""


VAULT = Vault(SECRET)


def begun(store: Any, study: Any, name: str, *, now: datetime = START) -> str:
    """Somebody with a batch; their random id."""
    with study.write(store, now) as live:
        who = admit(live, RecruiterIds(name), vault=VAULT)
        assert who is not None
        pass_tutorial(live, who.id)
        answer_quiz(live, who.id, RIGHT)
    return str(who.id)


def answer(store: Any, study: Any, who: str, decision: Any = "respond", *, now: datetime = START) -> str | None:
    """Answer the next page; what became of it, None when there is none."""
    with study.write(store, now) as live:
        page = next_page(live, who)
        if page is None:
            return None
        return take_answer(live, who, SubmittedAnswer(page.position, page.step, decision, seconds=5.0))


def finished(store: Any, study: Any, name: str, decision: Any = "respond") -> str:
    """Somebody who answered every page, and ended; their random id."""
    who = begun(store, study, name)
    while answer(store, study, who, decision):
        pass
    with study.write(store, START) as live:
        finish_batch(live, who)
    return who


def pages_of(store: Any, who: str) -> Any:
    """The pages of somebody's batch, in order."""
    with store.read() as connection:
        return connection.execute(
            select(tables.pages).where(tables.pages.c.annotator_id == who).order_by(tables.pages.c.position)
        ).all()


class Walker:
    """An annotator without a screen, who walks the pages by their forms alone."""

    def __init__(self, app: Any, study: Any, name: str = "alice") -> None:
        self.guest, self.study, self.name = visitor(app), study, name
        self.at = f"/study/{study.id}"
        self.page = ""

    def open(self, path: str = "") -> str:
        """Open a page, following redirects; its address without the study."""
        answer = self.guest.client.get(self.at + path, follow_redirects=True)
        return self.seen(answer)

    def arrive(self) -> str:
        return self.open(f"?participant={self.name}")

    def send(self, path: str, **fields: object) -> str:
        """Send a form of the page that is open."""
        step = {"step": self.token} if 'name="step"' in self.page else {}
        form = {"csrf": form_token(self.page), **step, **fields}
        answer = self.guest.client.post(self.at + path, data=form, follow_redirects=True)
        return self.seen(answer)

    def seen(self, answer: Any) -> str:
        self.status, self.page = answer.status_code, answer.text
        return str(answer.url.path).removeprefix(self.at)

    def to_quiz(self) -> str:
        self.arrive()
        self.open("/consent")
        self.send("/consent", agree="yes", adult="yes")
        return self.send("/tutorial")

    def to_rating(self) -> str:
        self.to_quiz()
        quiz = self.study.wording.quiz
        return self.send("/quiz", **{f"question-{index}": question.right for index, question in enumerate(quiz)})

    @property
    def token(self) -> str:
        """The token of the step that the open page leads to."""
        match = re.search(r'name="step" value="([^"]+)"', self.page)
        assert match is not None, self.page
        return match[1]

    def decide(self, decision: str = "respond") -> str:
        return self.send("/rate", step=self.token, decision=self.asked_for or decision)

    @property
    def asked_for(self) -> str | None:
        """What an attention check says to press."""
        for words, decision in (
            ("press Refuse", "refuse"),
            ("says Refuse", "refuse"),
            ("Respond.", "respond"),
            ("press Allow", "respond"),
            ("Allow.", "respond"),
        ):
            if words in self.page:
                return decision
        return None

    def rate_all(self, decision: str = "respond") -> str:
        """Answer every page; where that leads."""
        where = "/rate"
        while where == "/rate":
            where = self.decide(decision)
        return where

    def to_end(self, decision: str = "respond") -> str:
        where = self.to_rating()
        while where == "/rate":
            where = self.decide(decision)
        return self.send("/questions")
