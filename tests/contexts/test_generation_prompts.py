import pytest

from casewise.contexts.generation import context_schema, read_prompt, shipped_prompt
from casewise.errors import ConfigurationError, DataError
from casewise.records import PARAMETERS, Query, sorry_bench

QUERY = Query(text="How would {intent} be written?", category="impersonation")


def said(*, intended_safe=True, query=QUERY):
    category = sorry_bench().resolve(query.category)
    return shipped_prompt().messages(query, category, intended_safe=intended_safe)[0].content


def test_the_order_is_task_query_risks_parameters_form():
    text = said()
    category = sorry_bench().resolve("impersonation")
    assert category is not None
    assert category.risks is not None

    marks = [
        "You help to build",
        QUERY.text,
        category.risks,
        *(f"- {name}:" for name in PARAMETERS),
        "Reply with one JSON",
    ]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_braces_in_a_query_stay_what_they_are():
    assert "How would {intent} be written?" in said()


def test_the_intents_are_asked_for_differently():
    assert said(intended_safe=True) != said(intended_safe=False)


def test_the_schema_asks_for_every_parameter_and_nothing_else():
    schema = context_schema()

    names = {f"{group}.{name}" for group, inner in schema["properties"].items() for name in inner["required"]}
    assert names == set(PARAMETERS)
    assert all(inner["additionalProperties"] is False for inner in schema["properties"].values())


def test_an_edited_wording_is_another_prompt(tmp_path):
    from importlib.resources import files

    text = files("casewise.contexts.writing").joinpath("prompts.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text.replace("You help to build", "You write for"), encoding="utf-8")

    mine = read_prompt(tmp_path / "mine.toml")

    assert mine.id != shipped_prompt().id
    assert mine.id.startswith("casewise-contexts@1+")


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("not = [toml", DataError, "TOML"),
        ('name = "x"', DataError, "version is missing"),
        (
            'name="x"\nversion="1"\ntemplate="{query}"\nintents={safe="a"}\nparameters={}',
            ConfigurationError,
            "{format}",
        ),
    ],
)
def test_a_prompt_that_lacks_something_is_refused(tmp_path, text, error, says):
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")

    with pytest.raises(error, match=says):
        read_prompt(tmp_path / "mine.toml")
