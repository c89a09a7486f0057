import json

from tests.support.command import invoke

import casewise


def test_the_leaderboard_prints_one_table_and_writes_its_page(tmp_path):
    for name in ("safe", "intended"):
        casewise.judge("demo", f"constant:{name}", out=tmp_path / name)
    words = ["leaderboard", str(tmp_path / "safe"), str(tmp_path / "intended")]

    printed = invoke(*words, "--html", str(tmp_path / "board.html"))
    as_json = invoke(*words, "--json")

    assert printed.code == 0
    assert "Ranks by accuracy, best first" in printed.out
    assert '<th scope="row" class="n" data-head="Rank">' in (tmp_path / "board.html").read_text(), "no wrap"
    assert json.loads(as_json.out)["rows"][0]["name"] == "constant:intended (binary)"
