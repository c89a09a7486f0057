import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.ask.elicitations import HOW_ASKED, AskOptions
from casewise.contexts.generation import context_schema
from casewise.errors import ConfigurationError
from casewise.models.local_models import SchemaGrammar, SchemaPlace, TokenTexts

STRUCTURED = AskOptions(structured=True)
SCHEMAS = [
    HOW_ASKED["binary"].wants(STRUCTURED).json_schema,
    HOW_ASKED["score"].wants(STRUCTURED).json_schema,
    context_schema(),
]


class Characters:
    """A tokenizer each of whose tokens is a piece of text; the last one ends a reply."""

    pieces = (*'{}":, sunafe0123456789judgmtxplio', "\\", "\n", "é", 'e"', '"}', "safe", ' "unsafe', "")
    all_special_ids = ()

    def __len__(self):
        return len(self.pieces)

    def __call__(self, text, **_how):
        return {"input_ids": [self.pieces.index(text)]}

    def decode(self, ids, **_how):
        return "".join(self.pieces[id_] for id_ in ids)

    def batch_decode(self, rows, **how):
        return [self.decode(row, **how) for row in rows]


TOKENS = TokenTexts(Characters(), ends=[len(Characters.pieces) - 1])


@pytest.mark.slow
@given(st.sampled_from(SCHEMAS[:2]), st.data())
def test_whatever_is_drawn_is_json_of_the_schema(schema, data):
    grammar, place, said = SchemaGrammar.of(schema), SchemaPlace(0), ""
    for left in range(200, 0, -1):
        may = TOKENS.allowed(grammar, place, closing=left < 100)
        if may == TOKENS.ends:
            break
        text = TOKENS.texts[data.draw(st.sampled_from(may))]
        following = grammar.after(place, text)
        assert following is not None
        said, place = said + text, following

    found = json.loads(said)
    assert place == grammar.end
    assert list(found) == ["judgement", "explanation"]
    assert found["judgement"] in schema["properties"]["judgement"]["enum"]
    assert isinstance(found["explanation"], str)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_json_written_with_the_usual_spaces_is_of_the_grammar(schema):
    def example(part):
        if "enum" in part:
            return part["enum"][-1]
        return {name: example(one) for name, one in part["properties"].items()} if "properties" in part else "é b"

    grammar = SchemaGrammar.of(schema)
    whole = json.dumps(example(schema), ensure_ascii=False)
    assert grammar.after(SchemaPlace(0), whole) == grammar.end
    assert grammar.after(SchemaPlace(0), whole + "}") is None
    assert grammar.after(SchemaPlace(0), whole.replace("é", "\n")) is None


def test_a_schema_that_is_not_known_is_refused():
    with pytest.raises(ConfigurationError, match="objects, texts and choices"):
        SchemaGrammar.of({"type": "array", "items": {"type": "string"}})
