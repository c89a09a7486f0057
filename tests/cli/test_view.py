"""`casewise serve`: what it writes, and what it refuses."""

import json

import pytest
from tests.support.command import invoke as command

from casewise import api


def test_a_copy_of_what_an_address_names_is_written(tmp_path):
    run = api.judge("demo", "constant:safe", out=tmp_path / "run").path
    said = command("serve", run, "--out", tmp_path / "copy", "--only", "?outcome=wrong&people=90")

    assert said.code == 0
    assert said.out.strip() == str(tmp_path / "copy" / "index.html")
    again = command("serve", run, "--out", tmp_path / "copy")
    assert again.code != 0
    assert "nothing is overwritten" in again.err


@pytest.mark.slow
def test_a_gated_benchmark_is_copied_without_its_texts(tmp_path):
    api.convert("demo", tmp_path / "gated")
    about = json.loads((tmp_path / "gated" / "benchmark.json").read_text())
    about["about"]["gated"] = True
    (tmp_path / "gated" / "benchmark.json").write_text(json.dumps(about))
    run = api.judge(str(tmp_path / "gated"), "constant:safe", out=tmp_path / "run").path
    text = api.load(tmp_path / "gated").queries[0].text

    without = command("serve", run, "--out", tmp_path / "without")
    consented = command("serve", run, "--out", tmp_path / "with", "--with-texts")

    assert without.code == consented.code == 0
    assert "--with-texts writes them" in without.err
    assert text not in (tmp_path / "without" / "index.html").read_text()
    assert text[:60] in (tmp_path / "with" / "index.html").read_text()


def test_what_belongs_to_a_copy_is_refused_without_one(tmp_path):
    assert "work only with --out" in command("serve", tmp_path, "--with-texts").err
