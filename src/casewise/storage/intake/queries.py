"""The query and the context of a row: texts, chats, actions of an agent, and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casewise.errors import ConfigurationError
from casewise.records import Action, Context, Query, sorry_bench
from casewise.records.context import OPTIONAL
from casewise.storage.actions import ActionTemplate, Mask, action_of, action_words
from casewise.storage.entries import Entry
from casewise.storage.intake.cells import CaseCells, is_empty, plain
from casewise.storage.intake.chats import ToolCall, calls_in, system_apart, turns_of
from casewise.storage.intake.table import structured

UNCATEGORISED = "uncategorised"

CONVERSATION = "conversation"
"""The role of a conversation that a file gives as one text."""

INTENT_SAYS_SAFE = ("intended_safe", "context_intended_to_be_safe")
"""Columns of intents in which true is safe by their names."""


class QueryReader:
    """A reader of the queries and contexts in rows."""

    def __init__(self, cells: CaseCells) -> None:
        self.cells, self.column, self.frame = cells, cells.column, cells.frame
        self.mask = Mask()
        own_words = self.frame.policies.action_words
        self.action_words = ActionTemplate.read(own_words) if own_words else action_words()

    def query(self, row: Entry, place: int) -> tuple[Query, str | None]:
        """Return the query of a row, and the system message of its chat if that is no turn of the conversation."""
        judged = self.cells.columns.judged_word or self.cells.get(place, "judged") or "request"
        cell = structured(self.cells.get(place, "query"))
        before, system, action = self.before(place), None, None
        if judged == "action" and (last := self.last_call(place, cell)) is not None:
            action = self.action(row, last)
            before, text = [*before, *last.before], self.action_words.render(action)
            if isinstance(cell, str):
                text = self.text(row, "query")
            if not self.frame.policies.keep_secrets:
                before, text = self.mask.turns(before), self.mask.text(text)
        elif (turns := turns_of(cell)) is not None:
            if "context" not in self.column:
                system, turns = system_apart(turns)
            if "reply" in self.column:
                text = self.text(row, "reply")
            else:
                turns = self.until_judged(row, turns, judged)
                if not turns:
                    missing = "reply" if judged == "reply" else "user message"
                    self.cells.refuse(place, "query", f"; the chat has no {missing}")
                text = turns.pop()["text"]
            before = [*before, *turns]
        else:
            text = self.text(row, "query")
            if "reply" in self.column:
                before = [*before, {"role": "user", "text": text}]
                text = self.text(row, "reply")
        query = Query(
            text=text,
            judged=judged,
            before=before or None,
            action=action,
            category=self.category(row, place, action),
            source=row.path.name,
        )
        return query, system

    def text(self, row: Entry, part: str) -> str:
        """Return the text in the cell of a part. Raises DataError: there is none."""
        return row.text(self.column[part]).strip()

    def last_call(self, place: int, chat: Any) -> ToolCall | None:
        """Return the call of a tool in a row: of its own cell, or the last one in its chat; None where there is none."""
        cell = structured(self.cells.get(place, "tool_call"))
        calls = [ToolCall(cell, [])] if cell is not None else calls_in(chat)
        return calls[-1] if calls else None

    def action(self, row: Entry, call: ToolCall) -> Action:
        """Return the action that a call states, without its secrets unless they are kept. Raises DataError: it states none."""
        try:
            return action_of(call.stated if self.frame.policies.keep_secrets else self.mask.value(call.stated))
        except ValueError as error:
            row.refuse(f"the call of a tool: {error}")

    def until_judged(self, row: Entry, turns: list[dict[str, str]], judged: str) -> list[dict[str, str]]:
        """Return a chat up to what is judged: its last reply, or its last user message."""
        role = "assistant" if judged == "reply" else "user"
        end = len(turns)
        while end and turns[end - 1]["role"] != role:
            end -= 1
        if end < len(turns) and self.cells.columns.judged_word is None and "judged" not in self.column:
            raise ConfigurationError(
                f"the chat in {self.column['query']!r} on line {row.line} ends with a reply; say what the labels are about: "
                "--judged request or --judged reply"
            )
        return turns[:end]

    def before(self, place: int) -> list[Any]:
        """Return the conversation before what is judged, for `Query` to check; a text that is no list is one turn."""
        cell = structured(self.cells.get(place, "before"))
        if isinstance(cell, str):
            return [{"role": CONVERSATION, "text": cell}]
        if isinstance(cell, list) or cell is None:
            return turns_of(cell) or cell or []
        return turns_of(cell) or [cell]

    def category(self, row: Entry, place: int, action: Action | None = None) -> str:
        """Return the category of a row, by its name in the taxonomy; without one the tool of its action, if it has one."""
        category = self.cells.name(row, place, "category")
        if category is None:
            return UNCATEGORISED if action is None else action.tool
        taxonomy = self.frame.taxonomy or sorry_bench()
        resolved = taxonomy.resolve(category)
        if resolved is None and self.frame.taxonomy is not None:
            row.refuse(f"{taxonomy.name!r} has no category {category!r}; it has {', '.join(taxonomy.names)}")
        return resolved.name if resolved else category

    def context(self, row: Entry, place: int, query: Query, system: str | None) -> Context | None:
        """Return the context of a row: of its own cell or the `system` message, and of the columns of parameters."""
        columns = self.cells.columns
        groups: dict[str, Any] = {}
        whole = structured(self.cells.get(place, "context"))
        whole = system if whole is None else whole
        group, _, parameter = columns.context_as.partition(".")
        if isinstance(whole, Mapping):
            whole = {name: part for name, value in whole.items() if not is_empty(part := without_empties(value))}
            in_groups = all(isinstance(value, Mapping) or name in OPTIONAL for name, value in whole.items())
            groups |= whole if in_groups else {group: whole}
        elif whole is not None:
            groups[group] = {parameter or "description": plain(whole)}
        for column, name in columns.parameters.items():
            if (cell := self.cells.table.columns[column][place]) is not None:
                cell, (above, _, below) = plain(cell), name.partition(".")
                groups[above] = {**groups.get(above, {}), below: cell} if below else cell
        intended_safe = self.intended(place)
        if not groups:
            return None
        context = Context.from_groups(groups, query_id=query.id, intended_safe=intended_safe, origin="imported")
        if self.frame.parameters and (problem := self.frame.parameters.problem(context)):
            row.refuse(problem)
        return context

    def intended(self, place: int) -> bool | None:
        """Return whether the author of the context meant it as safe; None where the row does not say."""
        cell = self.cells.get(place, "intended")
        if cell is None:
            return None
        column = self.column["intended"]
        intent = self.cells.verdict_in(place, column, cell, name="is_safe" if column in INTENT_SAYS_SAFE else column)
        if intent not in ("safe", "unsafe"):
            self.cells.refuse(place, "intended", "; an intent is safe or unsafe")
        return intent == "safe"


def without_empties(value: Any) -> Any:
    """Return a group without the parameters that are empty: these are absent."""
    return {name: part for name, part in value.items() if not is_empty(part)} if isinstance(value, Mapping) else value
