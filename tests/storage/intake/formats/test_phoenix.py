"""Phoenix: spans and their annotations as tables."""

import polars as pl
import pytest
from tests.support.outputs import MESSAGES, phoenix

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table


def test_a_span_has_its_input_its_output_and_its_own_id(tmp_path):
    phoenix(tmp_path / "spans", {"id": ["x", "y"], "context.trace_id": ["t", "u"], "status_message": ["", "late"]})
    table = read_any_table(tmp_path / "spans")

    assert table.format == "Phoenix"
    assert table.columns == {
        "id": ["c1", "c2"],
        "query": ["Who?", "When?"],
        "reply": ["unsafe", None],
        "model": ["m", None],
        "trace_id": ["t", "u"],
        "error": [None, "late"],
    }


def test_the_message_goes_before_the_whole_output(tmp_path):
    outputs = {"attributes.output.value": ["{}", "whole"]}
    phoenix(tmp_path / "spans", MESSAGES | outputs)
    assert read_any_table(tmp_path / "spans").columns["reply"] == ["unsafe", "whole"]

    message = {"attributes.llm.output_messages.0.message.content": ["unsafe", None]}
    pl.DataFrame({"context.span_id": ["c1", "c2"], "score": [1, 2]} | message).write_parquet(tmp_path / "alone")
    assert read_any_table(tmp_path / "alone").columns["reply"] == ["unsafe", None]


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        (("context.span_id", "label"), "Phoenix"),
        (("context.span_id", "score"), "Phoenix"),
        (("context.span_id", "attributes.input.value"), "Phoenix"),
        (("context.span_id", "other"), "Parquet"),
        (("label", "score"), "Parquet"),
        (("span_id", "annotation_name"), "Phoenix annotations"),
        (("span_id", "label"), "Parquet"),
    ],
)
def test_a_table_is_of_phoenix_by_its_columns(tmp_path, columns, name):
    pl.DataFrame({column: ["x"] for column in columns}).write_parquet(tmp_path / "table")
    table = read_any_table(tmp_path / "table")

    assert table.format == name
    if columns == ("context.span_id", "label"):
        assert table.columns == {"id": ["x"], "verdict": ["x"]}


ANNOTATIONS = """span_id,annotation_name,annotator_kind,result.label,label,result.score,score
c1,harm,LLM,unsafe,x,0.9,0.8
c1,harm,HUMAN,,safe,0.1,
c2,tone,CODE,,,,3
"""


def test_annotations_are_a_column_for_each_name_with_the_label_before_the_score(tmp_path):
    (tmp_path / "a.csv").write_text(ANNOTATIONS)

    assert read_any_table(tmp_path / "a.csv").columns == {
        "id": ["c1", "c2"],
        "harm": ["unsafe", None],
        "harm (people)": ["safe", None],
        "tone": [None, "3"],
    }
    (tmp_path / "a.csv").write_text(f"{ANNOTATIONS}c2,tone,LLM,,,,4\n")
    with pytest.raises(DataError, match=r"a\.csv:5: 'c2' has two scores called 'tone'"):
        read_any_table(tmp_path / "a.csv")
