"""Prolific's demographics: traits of people, without those that nobody stated and without facts of the submission."""

import pytest

from casewise.storage.intake.formats.find import read_any_table

EXPORT = """Submission id,Participant id,Status,Started at,Time taken,Age,Sex,Total approvals,Country
s1,p1,APPROVED,t,31,24,Female,9,DATA_EXPIRED
s2,p2,APPROVED,t,40,CONSENT_REVOKED,Prefer not to say,8,Chile
"""


@pytest.fixture
def read(tmp_path):
    def table(text):
        (tmp_path / "people.csv").write_text(text)
        return read_any_table(tmp_path / "people.csv")

    return table


def test_a_person_has_traits_and_no_facts_of_the_submission(read):
    table = read(EXPORT)

    assert table.format == "Prolific demographics"
    assert table.columns == {
        "Participant id": ["p1", "p2"],
        "Age": ["24", None],
        "Sex": ["Female", None],
        "Country": [None, "Chile"],
    }


def test_a_table_with_a_submission_id_alone_is_no_export_of_prolific(read):
    assert read("Submission id,Status\ns1,done\n").format == "CSV"
    assert read("Participant id,Total approvals\np1,3\n").format == "CSV"
