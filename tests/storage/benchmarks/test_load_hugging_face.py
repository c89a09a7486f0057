import pytest
from tests.support.benchmarks import rich_benchmark

from casewise.records import Context, Rating
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import record_of, write_benchmark
from casewise.storage.load import card, convert, load, write_hugging_face


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """`datasets.load_dataset` with its cache in a folder of the test's own, and no network."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    cache = str(tmp_path / "cache")
    return lambda folder, *name: datasets.load_dataset(str(folder), *name, cache_dir=cache, split="test")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_real_library_opens_a_row_an_item(tmp_path, opened):
    convert("demo", tmp_path / "demo", to="huggingface")
    found = opened(tmp_path / "demo")

    benchmark = load("demo")
    assert found["item_id"][:] == [item.id for item in benchmark.items]
    first = benchmark.items[0]
    assert found[0]["query"] == benchmark.query[first.query_id].text
    assert found[0]["n_safe"] == benchmark.votes[first.id].safe


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_real_library_opens_every_record(tmp_path, opened):
    benchmark = rich_benchmark()
    write_hugging_face(benchmark, tmp_path / "rich")

    for table, model in (("contexts", Context), ("ratings", Rating)):
        rows = opened(tmp_path / "rich", table)
        records = [record_of(row, model, path=tmp_path, number=0) for row in rows]
        assert records == [*getattr(benchmark, table)]


def test_the_card_says_what_a_reader_must_know(tmp_path):
    write_benchmark(rich_benchmark(), tmp_path / "start")
    convert(tmp_path / "start", tmp_path / "rich", to="huggingface")
    text = (tmp_path / "rich" / "README.md").read_text(encoding="utf-8")

    assert 'extra_gated_prompt: "Say \\"yes\\""' in text
    assert 'license_name: "CC BY 4.0"' in text
    assert "canary 42" in text
    assert "config_name: revisions" in text


def test_a_synthetic_benchmark_says_so_on_its_card():
    assert "> SYNTHETIC DATA" in card(load("demo"))


def test_empty_tables_are_no_configuration():
    assert "configs:" in card(Benchmark(About(name="empty"), (), (), ()))
    assert "config_name" not in card(Benchmark(About(name="empty"), (), (), ()))
