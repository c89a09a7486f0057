"""A sample of replies that a person marks."""

from casewise.judges.reread import read_sample, write_rows


def test_a_column_of_ones_own_stays_in_a_table_of_marks(tmp_path):
    file = tmp_path / "marks.csv"
    file.write_text("id,elicitation,reply,verdict,note\na,binary,Safe.,,doubtful\n")
    rows = read_sample(file)
    write_rows(file, [row | {"verdict": "safe"} for row in rows])

    assert file.read_text() == "id,elicitation,reply,verdict,note\na,binary,Safe.,safe,doubtful\n"
