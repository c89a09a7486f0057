"""Amazon Mechanical Turk's batch results, as the requester's site gives them (API 2017-01-17).

https://docs.aws.amazon.com/sagemaker/latest/dg/sms-ui-template-crowd-radio-group.html: a `crowd-form` puts all answers into one
cell, and a `crowd-radio-group` an object for each of its buttons. Public scripts for batch results of 2018 to 2025: a form in plain
HTML has a column `Answer.QUESTION.OPTION` with true or false for each button.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import TableFormat
from casewise.storage.intake.table import Table, object_at, row_columns, structured

RADIO = "Answer.taskAnswers"
"""The one column of answers that a crowd form has: a list with an object of questions."""

ANSWER = "Answer."

CHOICE = "choice"
"""The column with the button that is ticked among all that stand alone."""

TICKS = {"true": True, "false": False}


def is_mturk(table: Table) -> bool:
    return {"HITId", "AssignmentId", "WorkerId"} <= set(table.columns)


def read(table: Table) -> Table:
    """Return the table without rejected assignments; inputs and answers have their own names, the worker is the annotator."""
    table = table.without(
        lambda row: "the assignment was rejected" if row.values.get("AssignmentStatus") == "Rejected" else None
    )
    buttons = button_columns(table)
    answers = [ticked_answers(row, form_of(row, buttons)) for row in table.rows]
    for column in (RADIO, *buttons):
        table.columns.pop(column, None)
    table.columns |= {f"{ANSWER}{question}": cells for question, cells in row_columns(answers).items()}
    answer_columns = {name: name.partition(".")[2] for name in table.names if name.startswith(("Input.", ANSWER))}
    others = set(table.names) - set(answer_columns)
    answer_columns = {
        name: new
        for name, new in answer_columns.items()
        if new not in others and list(answer_columns.values()).count(new) == 1
    }
    return table.renamed(answer_columns | {"WorkerId": "annotator"})


def button_columns(table: Table) -> dict[str, list[str]]:
    """Return the columns that state whether a button is ticked, each with its question and option."""
    parts = {name: name.split(".", 2)[1:] for name in table.names if name.startswith(ANSWER) and name.count(".") > 1}
    return {
        name: part
        for name, part in parts.items()
        if {str(cell).lower() for cell in table.columns[name] if cell is not None} <= set(TICKS)
    }


def form_of(row: Entry, buttons: Mapping[str, list[str]]) -> Mapping[str, Any]:
    """Return the answers of a row by question; those of buttons by option."""
    form = structured(row.values.get(RADIO))
    answers = dict(object_at(form, 0) or object_at(form))
    for name, (question, option) in buttons.items():
        answers.setdefault(question, {})[option] = TICKS.get(str(row.values.get(name)).lower())
    return answers


def ticked_answers(row: Entry, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of a form: of buttons the one that is ticked."""
    answers: dict[str, Any] = {}
    alone = {name: value for name, value in form.items() if isinstance(value, Mapping) and len(value) == 1}
    if len(alone) > 1:  # of a crowd-radio-group, or boxes that are called as what they state
        options = ((name, *next(iter(button.items()))) for name, button in alone.items())
        ticked = [name if option == "on" else option for name, option, value in options if value is True]
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


FORMATS = (TableFormat("MTurk batch results", "sheet", "MTurk requester results file (2025)", is_mturk, read),)
