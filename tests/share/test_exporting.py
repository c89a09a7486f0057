"""Benchmarks and runs in other people's formats, read by those people's tools."""

import pytest
from tests.support.gated import gated_demo

from casewise import api
from casewise.errors import CasewiseError, ConfigurationError


@pytest.mark.parametrize(
    ("source", "to", "said"),
    [
        ("demo", "croisant", "did you mean 'croissant'"),
        ("demo", "eee", "demo"),
        ("nowhere", "croissant", "nowhere"),
    ],
)
def test_what_cannot_be_is_said(source, to, said, tmp_path):
    with pytest.raises(CasewiseError, match=said):
        api.export(source, tmp_path / "out", to=to)
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "out.json").write_text("mine", encoding="utf-8")

    with pytest.raises(ConfigurationError, match="nothing is overwritten"):
        api.export("demo", tmp_path / "out.json", to="published")


@pytest.mark.slow
@pytest.mark.parametrize("to", ["folder", "parquet", "hf", "croissant"])
def test_texts_of_a_benchmark_with_terms_are_written_only_when_that_is_said(to, tmp_path):
    gated = gated_demo(tmp_path / "gated")

    with pytest.raises(ConfigurationError, match="--with-texts"):
        api.export(gated, tmp_path / "out", to=to)
    assert not (tmp_path / "out").exists()
    api.export(gated, tmp_path / "out", to=to, with_texts=True)
    assert (tmp_path / "out").exists()
