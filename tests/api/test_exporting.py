"""The paper from Python."""

import json

from tests.support.published import output_rows, write

import casewise


def test_the_json_of_the_paper_has_its_numbers_unrounded(tmp_path):
    file = write(tmp_path / "output_score.json", output_rows([1, 9, 8]))

    numbers = json.loads(json.dumps(casewise.paper(benchmark="demo", outputs=file).as_json(), allow_nan=False))[
        "numbers"
    ]

    assert numbers["replays"] == [casewise.replay(file).as_json()]
    assert numbers["sample_size"]["n_per_group"] == 16
    assert numbers["by_category"][0].keys() == {"category", "queries", "h", "significant"}


def test_outputs_are_files_or_a_folder_of_them(tmp_path):
    file = write(tmp_path / "deep" / "output_score.json", output_rows([1, 9]))

    assert (
        casewise.paper(benchmark="demo", outputs=tmp_path).as_json()
        == casewise.paper(benchmark="demo", outputs=[file]).as_json()
    )
