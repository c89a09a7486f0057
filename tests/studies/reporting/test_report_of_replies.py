"""The report of a study of replies speaks of answers and refusals."""

import json
import re

import pytest
from tests.support.exported import exported_demo

from casewise.reports.formats import html, markdown
from casewise.studies.report import study_report
from casewise.studies.report_parts import REPLY_WORDS


def without_conditions(text):
    return re.sub(r"(?:un)?safe(?:\\?_| )revised", "", text)


@pytest.mark.slow
def test_nothing_in_it_is_called_safe_but_the_conditions(tmp_path):
    folder = exported_demo(tmp_path / "rated", analysis={"alpha": 0.05})
    as_requests = study_report(folder).document
    about = json.loads((folder / "study.json").read_text())
    about["design"]["rates"] = "replies"
    (folder / "study.json").write_text(json.dumps(about))
    document = study_report(folder).document

    text = without_conditions(markdown(document))
    assert REPLY_WORDS.notices[0] in text
    assert "Rate of answering of each condition" in text
    assert "| Answers | Refuses |" in text
    assert [line for line in text.splitlines() if re.search(r"(?i)\b(?:un)?safe\b", line)] == []
    assert (
        re.findall(
            r"(?i)\b(?:un)?safe\b", without_conditions(re.sub(r"<[^>]*>", " ", html(document).partition("<body")[2]))
        )
        == []
    )
    assert "Safe rate of each condition" in markdown(as_requests)
