"""The query and the context of a row: texts, chats, actions and parameters."""

import math
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.support.imported import BREAD, loaded, two

import casewise
from casewise.errors import ConfigurationError, DataError
from casewise.records import Category, Group, Parameter, ParameterSet, Taxonomy
from casewise.storage.intake.cells import CaseCells, CaseFrame, Policies
from casewise.storage.intake.queries import QueryReader, without_empties
from casewise.storage.intake.roles import CaseColumns, find_columns
from casewise.storage.intake.table import Table
from casewise.storage.load import import_cases, load_frame


@pytest.mark.parametrize(
    ("context", "shown"),
    [
        ({"who": {"role": "nurse", "age": None}}, {"who": {"role": "nurse"}}),
        ({"who": {"role": "nurse"}, "where": None}, {"who": {"role": "nurse"}}),
        ({"who": {"age": None, "role": ""}, "where": {}}, None),
        ({"role": "nurse", "age": None}, {"situation": {"role": "nurse"}}),
        (
            {"who": {"role": "nurse", "on_duty": True, "age": 45}},
            {"who": {"role": "nurse", "on_duty": True, "age": 45}},
        ),
    ],
)
def test_a_parameter_that_is_null_is_absent(context, shown):
    found = casewise.load_frame([{"query": "Who?", "context": context, "label": "safe"}])

    assert [one.shown() for one in found.contexts] == ([] if shown is None else [shown])


def test_free_text_is_one_parameter_of_the_group_it_is_given_for():
    cases = [{"query": "Who?", "context": "A ward nurse asks.", "label": "safe"}]
    group = casewise.load_frame(cases, columns=CaseColumns(context_as="recipient"))
    parameter = casewise.load_frame(cases, columns=CaseColumns(context_as="recipient.background"))
    assert group.contexts[0].shown() == {"recipient": {"description": "A ward nurse asks."}}
    assert parameter.contexts[0].shown() == {"recipient": {"background": "A ward nurse asks."}}


def test_a_chat_counts_up_to_the_last_message_of_what_is_judged():
    turns = ("user", "Hello."), ("user", "Who?"), ("assistant", "Ann."), *[("user", "Thanks.")] * 3
    chat = [{"role": role, "content": text} for role, text in turns]
    (query,) = casewise.load_frame([{"messages": chat, "label": "safe"}], columns=CaseColumns(judged="reply")).queries

    assert (query.text, [turn.text for turn in query.before or ()]) == ("Ann.", ["Hello.", "Who?"])


@pytest.mark.parametrize("keep", [True, False])
def test_the_secrets_of_an_action_are_masked_unless_they_are_to_be_kept(keep):
    call = {"tool": "log_in", "arguments": {"password": "hunter2"}}
    found = loaded({"tool_call": call, "label": "safe"}, policies=Policies(keep_secrets=keep))

    assert ("hunter2" in found.queries[0].line()) == keep


def message(role, content, *, role_key="role", text_key="content"):
    return {role_key: role, text_key: content}


@pytest.mark.parametrize(
    "chat",
    [
        [
            message("system", "A nurse asks."),
            message("user", "Hi"),
            message("assistant", "Hello"),
            message("user", BREAD),
        ],
        [
            message("system", "A nurse asks.", role_key="from", text_key="value"),
            message("human", "Hi", role_key="from", text_key="value"),
            message("gpt", "Hello", role_key="from", text_key="value"),
            message("human", BREAD, role_key="from", text_key="value"),
        ],
        [
            message("system", [{"type": "text", "text": "A nurse asks."}]),
            message("user", [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {}}]),
            message("assistant", "Hello", text_key="text"),
            message("user", BREAD),
        ],
    ],
)
def test_the_last_user_message_of_a_chat_is_the_query(chat):
    found = load_frame([{"messages": chat, "label": "safe"}])

    assert found.queries[0].text == BREAD
    assert [(turn.role, turn.text) for turn in (found.queries[0].before or ())] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
    ]
    assert found.contexts[0].shown() == {"situation": {"description": "A nurse asks."}}


def test_a_chat_that_ends_with_a_reply_asks_what_is_judged():
    chat = [message("user", BREAD), message("assistant", "Like so.")]
    row = {"messages": chat, "label": "safe"}
    with pytest.raises(ConfigurationError, match="--judged request or --judged reply"):
        load_frame([row])
    asked, replied = (
        load_frame([row], columns=CaseColumns(judged=judged)).queries[0] for judged in ("request", "reply")
    )
    assert (asked.text, asked.judged, asked.before) == (BREAD, "request", None)
    assert (replied.text, replied.judged, [turn.text for turn in replied.before or ()]) == (
        "Like so.",
        "reply",
        [BREAD],
    )


def test_a_request_with_a_reply_asks_what_is_judged():
    row = {"prompt": BREAD, "response": "Like so.", "is_safe": True}
    with pytest.raises(ConfigurationError, match="--judged request, or --reply 'response'"):
        load_frame([row])
    found = load_frame([row], columns=CaseColumns(reply="response"))
    assert (found.queries[0].text, [turn.text for turn in (found.queries[0].before or ())]) == ("Like so.", [BREAD])


def test_an_object_in_a_cell_of_a_csv_file_states_parameters(file):
    found = import_cases(file(f"""query,context,label\n{BREAD},"{{'who': 'a baker', 'where': 'at home'}}",safe\n"""))

    assert found.contexts[0].shown() == {"situation": {"who": "a baker", "where": "at home"}}


def test_a_row_without_a_category_is_uncategorised():
    found = load_frame(
        [row | {"category": name} for row, name in zip(two("label", "safe", "unsafe"), ("home", ""), strict=True)]
    )

    assert [found.category_of(item) for item in found.items] == ["home", "uncategorised"]


# A row as a query and a context.


def reader_of(row, stated=CaseColumns(), **frame):
    """A reader of a table with one row, and the row."""
    table = Table(path=Path("t.csv"), columns={name: [cell] for name, cell in row.items()}, lines=[2])
    roles = find_columns(table.names, stated, has_ratings=False)
    return QueryReader(CaseCells(table, roles, CaseFrame(**frame))), table.row(0)


def query_of(row, stated=CaseColumns(), **frame):
    reader, entry = reader_of(row, stated, **frame)
    return reader.query(entry, 0)


def turns(query):
    return [(turn.role, turn.text) for turn in query.before or ()]


CHAT = [
    message("system", "A nurse asks."),
    message("user", "Hi"),
    message("assistant", "Hello"),
    message("user", BREAD),
]
SYSTEM = "A nurse asks."


def test_a_text_is_a_query_and_a_reply_follows_it():
    query, system = query_of({"query": f" {BREAD} "})
    assert (query.text, query.judged, query.before, query.source, system) == (BREAD, "request", None, "t.csv", None)
    reply, _ = query_of({"query": BREAD, "answer": " Like so. ", "before": "Hello."}, CaseColumns(reply="answer"))
    assert (reply.text, reply.judged, turns(reply)) == (
        "Like so.",
        "reply",
        [("conversation", "Hello."), ("user", BREAD)],
    )


def test_a_system_message_is_the_context_unless_a_column_has_that():
    query, system = query_of({"messages": CHAT})
    assert (system, query.text, turns(query)) == (SYSTEM, BREAD, [("user", "Hi"), ("assistant", "Hello")])
    query, system = query_of({"messages": CHAT, "context": "x"})
    assert (system, turns(query)[0]) == (None, ("system", SYSTEM))


def test_a_chat_before_a_reply_of_its_own_column_is_whole():
    query, _ = query_of({"messages": CHAT, "answer": "Like so."}, CaseColumns(reply="answer"))
    assert (query.text, turns(query)[-1]) == ("Like so.", ("user", BREAD))


@pytest.mark.parametrize(
    ("judged", "text", "n_before"), [("request", BREAD, 2), ("reply", "Hello", 1), ("column", BREAD, 2)]
)
def test_a_chat_ends_with_what_is_judged(judged, text, n_before):
    stated, more = (CaseColumns(), {"judged": "request"}) if judged == "column" else (CaseColumns(judged=judged), {})
    query, _ = query_of({"messages": [*CHAT, message("tool", "x")], **more}, stated)
    assert (query.text, len(query.before or ())) == (text, n_before)


def test_the_conversation_before_a_chat_stands_before_it():
    query, _ = query_of({"messages": CHAT[3:], "before": [message("user", "First")]})
    assert (query.text, turns(query)) == (BREAD, [("user", "First")])


@pytest.mark.parametrize(
    ("judged", "chat", "problem"),
    [
        ("request", [message("assistant", "Hello")], "the chat has no user message"),
        ("reply", [message("user", "Hello")], "the chat has no reply"),
    ],
)
def test_a_chat_without_what_is_judged_is_refused(judged, chat, problem):
    for before in (None, [message("user", "Hi"), message("assistant", "Hello")], 5, [1]):
        with pytest.raises(DataError, match=rf"t\.csv:2: 'messages' is .*; {problem}"):
            query_of({"messages": chat, "before": before}, CaseColumns(judged=judged))


@pytest.mark.parametrize("before", [5, True, [1, 2], {"a": 1}, [{"role": "user"}], [message("user", "")]])
@pytest.mark.parametrize("query", [BREAD, CHAT])
def test_a_conversation_that_is_none_is_no_query(before, query):
    with pytest.raises(ValidationError, match="before"):
        query_of({"query": query, "before": before})


def test_a_list_that_a_table_holds_stays_as_it_is():
    before = [message("user", "First")]
    query_of({"messages": CHAT[3:], "before": before})
    assert before == [message("user", "First")]


# Actions.


CALLS = [
    message("user", "Tell Ann"),
    {"role": "assistant", "content": [{"type": "tool_use", "name": "send", "input": {"to": "ann"}}]},
]


def test_the_last_call_of_a_chat_is_the_action_and_its_tool_the_category():
    query, _ = query_of({"messages": CALLS, "before": "Hello."}, CaseColumns(judged="action"))

    assert query.action is not None
    assert (query.action.tool, query.category, query.judged) == ("send", "send", "action")
    assert turns(query) == [("conversation", "Hello."), ("user", "Tell Ann")]


def test_an_action_of_its_own_column_may_have_a_text_and_a_category():
    call = {"tool": "send", "arguments": {"to": "ann"}}
    query, _ = query_of({"query": f" {BREAD} ", "tool_call": call, "category": "mail"}, CaseColumns(judged="action"))
    assert (query.text, query.category) == (BREAD, "mail")
    assert query.action is not None
    alone, _ = query_of({"tool_call": call})
    assert "send" in alone.text


def test_an_action_that_is_judged_and_not_there_is_a_text():
    query, _ = query_of({"query": BREAD}, CaseColumns(judged="action"))
    assert (query.text, query.action, query.category) == (BREAD, None, "uncategorised")


def test_a_call_without_a_tool_is_refused():
    with pytest.raises(DataError, match=r"t\.csv:2: the call of a tool: .*tool"):
        query_of({"tool_call": {"arguments": {}}})


def test_secrets_are_masked_in_the_call_the_text_and_the_turns_before_unless_they_are_kept():
    key = "sk-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    row = {
        "query": f"Use {key}",
        "tool_call": {"tool": "f", "arguments": {"password": "hunter2"}},
        "before": f"Use {key}",
    }
    stated = CaseColumns(judged="action")
    masked, _ = query_of(row, stated)
    kept, _ = query_of(row, stated, policies=Policies(keep_secrets=True))

    assert (key in masked.line(), "hunter2" in masked.line()) == (False, False)
    assert (key in kept.text, key in turns(kept)[0][1], "hunter2" in kept.line()) == (True, True, True)


# Categories and contexts.


def test_a_category_is_that_of_the_taxonomy_that_was_given_and_else_as_it_is_written():
    own = Taxonomy(name="mine", categories=(Category(name="home", domain="x", aliases=("house",)),))

    assert query_of({"query": BREAD, "category": "house"}, taxonomy=own)[0].category == "home"
    assert query_of({"query": BREAD, "category": "elsewhere"})[0].category == "elsewhere"
    with pytest.raises(DataError, match="'mine' has no category 'away'; it has home"):
        query_of({"query": BREAD, "category": "away"}, taxonomy=own)


def context_of(row, stated=CaseColumns(), *, system=None, **frame):
    reader, entry = reader_of({"query": BREAD} | row, stated, **frame)
    query, _ = reader.query(entry, 0)
    context = reader.context(entry, 0, query, system)
    return None if context is None else (context.shown(), context.intended_safe)


@pytest.mark.parametrize(
    ("row", "stated", "shown"),
    [
        ({"context": "a nurse"}, CaseColumns(), {"situation": {"description": "a nurse"}}),
        ({"context": "a nurse"}, CaseColumns(context_as="who.role"), {"who": {"role": "a nurse"}}),
        ({"context": {"role": "nurse"}}, CaseColumns(context_as="who.role"), {"who": {"role": "nurse"}}),
        ({"context": '{"who": {"role": "nurse"}}'}, CaseColumns(), {"who": {"role": "nurse"}}),
        (
            {"context": {"who": {"role": "nurse"}, "subject": "a file"}},
            CaseColumns(),
            {"who": {"role": "nurse"}, "subject": "a file"},
        ),
        ({"role": "nurse"}, CaseColumns(parameters={"role": "who.role"}), {"who": {"role": "nurse"}}),
        ({"about": "a file"}, CaseColumns(parameters={"about": "subject"}), {"subject": "a file"}),
        (
            {"context": {"who": {"role": "nurse"}}, "age": 30, "none": None},
            CaseColumns(parameters={"age": "who.age", "none": "who.x"}),
            {"who": {"role": "nurse", "age": 30}},
        ),
        ({"context": None}, CaseColumns(), None),
        ({"context": {"who": {"role": " "}, "x": []}}, CaseColumns(), None),
    ],
)
def test_a_context_is_a_text_an_object_or_columns_of_parameters(row, stated, shown):
    found = context_of(row, stated)
    assert (None if found is None else found[0]) == shown


def test_a_system_message_is_the_context_of_a_row_without_one():
    assert context_of({}, system=SYSTEM) == ({"situation": {"description": SYSTEM}}, None)
    assert context_of({"context": "a nurse"}, system=SYSTEM) == ({"situation": {"description": "a nurse"}}, None)


def test_a_context_that_does_not_fit_the_parameters_that_were_given_is_refused():
    own = ParameterSet(name="mine", groups=(Group(name="who", parameters=(Parameter(name="role"),)),))

    assert context_of({"context": {"who": {"role": "nurse"}}}, parameters=own) == ({"who": {"role": "nurse"}}, None)
    with pytest.raises(DataError, match=r"t\.csv:2: "):
        context_of({"context": {"who": {"age": 3}}}, parameters=own)


@pytest.mark.parametrize(
    ("row", "intended"),
    [
        ({"intended": "safe"}, True),
        ({"intended": "unsafe"}, False),
        ({"intended": None}, None),
        ({"intended_safe": True}, True),
        ({"context_intended_to_be_safe": 0}, False),
    ],
)
def test_the_intent_of_a_context_is_safe_or_unsafe(row, intended):
    assert context_of({"context": "a nurse"} | row) == ({"situation": {"description": "a nurse"}}, intended)


def test_an_intent_that_is_neither_is_refused():
    with pytest.raises(DataError, match=r"t\.csv:2: 'intended' is 'unsure'; an intent is safe or unsafe"):
        context_of({"context": "a nurse", "intended": "unsure"})


def test_a_part_of_a_group_that_says_nothing_is_absent():
    assert without_empties({"a": None, "b": 0, "c": " ", "d": [], "e": math.nan}) == {"b": 0}
    assert without_empties("x") == "x"
