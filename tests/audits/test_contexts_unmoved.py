import pytest
from tests.audits.builders import Row, benchmark_of, looked

from casewise.audits.contexts import unmoved
from casewise.audits.subject import Subject
from casewise.contexts.selection import SelectionOptions, begin_draft
from casewise.errors import ConfigurationError
from casewise.storage.benchmark_folder import write_benchmark

ROWS = [
    Row("always refused", True, [0, 0, 1], words="a"),
    Row("always refused", False, [0, 0, 0], words="b"),
    Row("always answered", True, [1, 1, 1], words="a"),
    Row("always answered", False, [1, 1, 0], words="b"),
    Row("moved", True, [1, 1, 1], words="a"),
    Row("moved", False, [0, 1, 0], words="b"),
    Row("a tie", True, [0, 1, 0, 1], words="a"),
    Row("a tie", False, [0, 0, 0, 0], words="b"),
    Row("one context", False, [0, 0, 0], words="b"),
    Row("not rated", True, [], words="a"),
    Row("not rated", False, [0, 0, 0], words="b"),
]


def test_the_audit_names_queries_that_no_context_moves():
    benchmark = benchmark_of(ROWS)
    ids = {query.text: query.id for query in benchmark.queries}
    (finding,) = looked(unmoved, Subject(benchmark)).findings

    assert finding.title.startswith("2 of 6 queries have the same label under every context: 1 unsafe, 1 safe")
    assert finding.evidence["queries"] == {"unsafe": [ids["always refused"]], "safe": [ids["always answered"]]}
    assert finding.share == pytest.approx(4 / 11)
    assert looked(unmoved, Subject(benchmark_of(ROWS[4:6]))).findings == []


def test_select_movable_leaves_them_out(tmp_path):
    write_benchmark(benchmark_of(ROWS), tmp_path / "bench")
    database = f"sqlite:///{tmp_path / 'drafts.db'}"
    chosen = begin_draft(tmp_path / "bench", options=SelectionOptions(movable=True), database=database)
    assert {query.text for query in chosen.queries} == {"moved", "a tie", "one context", "not rated"}

    (tmp_path / "queries.csv").write_text("query,category\nWho?,1\n")
    for source in (tmp_path / "queries.csv", tmp_path / "unrated"):
        if source.name == "unrated":
            write_benchmark(benchmark_of([Row("not rated", True, [])]), source)
        with pytest.raises(ConfigurationError, match="--movable needs a benchmark with ratings"):
            begin_draft(source, options=SelectionOptions(movable=True), database=database)
