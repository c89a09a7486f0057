"""Amazon Mechanical Turk's batch results, as the requester's site gives them (API 2017-01-17).

https://docs.aws.amazon.com/sagemaker/latest/dg/sms-ui-template-crowd-radio-group.html: a `crowd-form` puts all answers into one
cell, and a `crowd-radio-group` an object for each of its buttons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import Format
from casewise.storage.intake.table import Table, structured

RADIO = "Answer.taskAnswers"
"""The one column of answers that a crowd form has: a list with an object of questions."""


CHOICE = "choice"
"""The column with the button that is ticked among all that stand alone."""


def is_mturk(table: Table) -> bool:
    return {"HITId", "AssignmentId", "WorkerId"} <= set(table.columns)


def read(table: Table) -> Table:
    """Return the table without rejected assignments; inputs and answers have their own names, the worker is the annotator."""
    table = table.without(
        lambda row: "the assignment was rejected" if row.values.get("AssignmentStatus") == "Rejected" else None
    )
    if RADIO in table.columns:
        answers = [chosen(row) for row in table.rows]
        del table.columns[RADIO]
        for question in dict.fromkeys(name for answer in answers for name in answer):
            table.columns[f"Answer.{question}"] = [answer.get(question) for answer in answers]
    answer_columns = {name: name.partition(".")[2] for name in table.names if name.startswith(("Input.", "Answer."))}
    others = set(table.names) - set(answer_columns)
    answer_columns = {
        name: new
        for name, new in answer_columns.items()
        if new not in others and list(answer_columns.values()).count(new) == 1
    }
    return table.renamed(answer_columns | {"WorkerId": "annotator"})


def chosen(row: Entry) -> dict[str, Any]:
    """Return the answers of a crowd form: of radio buttons the one that is ticked."""
    form = structured(row.values.get(RADIO))
    form = form[0] if isinstance(form, list) and form else form
    if not isinstance(form, Mapping):
        return {}
    answers: dict[str, Any] = {}
    buttons = [answer for answer in form.values() if isinstance(answer, Mapping) and len(answer) == 1]
    if len(buttons) > 1:  # of a crowd-radio-group
        ticked = [name for button in buttons for name, value in button.items() if value is True]
        answers[CHOICE] = ticked[0] if len(ticked) == 1 else ticked or None
    for question, answer in form.items():
        if isinstance(answer, Mapping):
            ticked = [name for name, value in answer.items() if value is True]
            if len(ticked) > 1:
                row.refuse(f"{question!r} has several answers: {', '.join(ticked)}")
            answers[question] = ticked[0] if ticked else None
        else:
            answers[question] = answer
    return answers


FORMATS = (Format("MTurk batch results", "sheet", "MTurk requester results file (2025)", is_mturk, read),)
