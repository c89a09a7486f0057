"""The paper from Python."""

from tests.support.published import output_rows, write

import casewise


def test_the_paper_is_a_page_and_frames_and_plain_json():
    found = casewise.paper("demo")

    headings = [section["heading"] for section in found.as_json()["sections"]]
    assert headings == [section.heading for section in found.document.sections]
    assert all(frame.height for frame in found.tables.values())


def test_outputs_are_files_or_a_folder_of_them(tmp_path):
    file = write(tmp_path / "deep" / "output_score.json", output_rows([1, 9]))

    assert casewise.paper("demo", outputs=tmp_path).as_json() == casewise.paper("demo", outputs=[file]).as_json()
