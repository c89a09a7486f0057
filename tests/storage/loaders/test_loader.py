"""A loader: where its files are kept, how they are called, and what its rows become."""

import pytest

from casewise.errors import DataError
from casewise.storage.entries import Entry
from casewise.storage.files import cache_folder
from casewise.storage.loaders.loader import Loader, SourceFile, build_benchmark, github, recipe, table_entries

FIRST = SourceFile("cases.csv", "https://example.org/cases.csv", "a" * 64)
UNPINNED = SourceFile("more.json")
IN_FOLDER = SourceFile("outputs/one/a.json", sha256="b" * 64)

LOADER = Loader(
    name="made:up",
    title="Made up (2026)",
    size="2 cases",
    judged="reply",
    labels_by="experts",
    licence="CC0",
    terms="None.",
    source="example.org",
    files=(FIRST, UNPINNED),
    load=lambda _: None,  # type: ignore[arg-type,return-value]
    extra={"outputs": (IN_FOLDER,)},
    remark="Two cases.",
)


def test_files_are_kept_under_the_benchmarks_name_with_the_beginning_of_their_checksum():
    folder = cache_folder()

    assert LOADER.cache_path(FIRST) == folder / f"made-up-{'a' * 12}.csv"
    assert LOADER.cache_path(UNPINNED) == folder / "made-up-more-unpinned.json"
    assert LOADER.cache_path(IN_FOLDER) == folder / "made:up-outputs/one/a.json"
    assert [LOADER.title_of(file) for file in (FIRST, UNPINNED, IN_FOLDER)] == [
        "made:up",
        "made:up-more",
        "made:up-outputs",
    ]


def test_of_a_file_in_a_folder_the_folder_is_shown():
    assert LOADER.display_path(IN_FOLDER) == cache_folder() / "made:up-outputs"
    assert LOADER.display_path(FIRST) == LOADER.cache_path(FIRST)


def test_a_file_of_an_option_is_told_from_the_benchmarks_own():
    assert (LOADER.option_of(IN_FOLDER), LOADER.option_of(FIRST)) == ("outputs", None)
    assert LOADER.command == "casewise data fetch made:up"


def test_a_benchmark_is_fetched_where_all_its_own_files_are_here():
    for file in LOADER.files:
        assert not LOADER.is_fetched
        LOADER.cache_path(file).parent.mkdir(parents=True, exist_ok=True)
        LOADER.cache_path(file).write_text("x")
    assert LOADER.is_fetched


def test_files_of_a_repository_have_its_address_at_one_commit():
    assert github("owner/name", "abc", {"data/a.csv": "1", "b.py": None}) == (
        SourceFile("a.csv", "https://raw.githubusercontent.com/owner/name/abc/data/a.csv", "1"),
        SourceFile("b.py", "https://raw.githubusercontent.com/owner/name/abc/b.py"),
    )


def test_the_rows_of_a_table_are_all_or_none(tmp_path):
    (tmp_path / "a.csv").write_text("query,label\nWho?,safe\n")
    assert [dict(entry.values) for entry in table_entries(tmp_path / "a.csv")] == [{"query": "Who?", "label": "safe"}]
    (tmp_path / "a.csv").write_text("query,label\nWho?,safe\nWho, me?,safe\n")
    with pytest.raises(DataError, match=r"a\.csv:3: has 3 cells"):
        list(table_entries(tmp_path / "a.csv"))


def test_rows_become_a_benchmark_that_says_what_its_loader_says(tmp_path):
    path = tmp_path / "cases.csv"
    rows = [(Entry(path, line, {}), {"id": line, "query": "Who?", "label": "safe"}) for line in (None, 7)]
    made = build_benchmark(LOADER, path, iter(rows), repeats="keep")

    assert (made.name, made.about.description, made.about.licence, made.about.terms) == (
        *("made:up", "Made up (2026)"),
        *("CC0", "None."),
    )
    assert (made.about.source, made.labels_by, made.counts.items) == ("example.org", "experts", 2)
    assert (made.about.remarks or ())[0] == "Two cases."
    assert {query.judged for query in made.queries} == {"reply"}
    with pytest.raises(DataError, match=r"cases\.csv:7: the same query and context as line 1"):
        build_benchmark(LOADER, path, iter(rows))


def test_a_recipe_is_a_loader_of_the_facts_of_a_file(tmp_path):
    def rows(first, second):
        for number, path in enumerate((first, second)):
            yield Entry(path, 1, {}), {"id": number, "query": path.read_text(), "value": number}

    facts = {
        "title": "T",
        "size": "2",
        "judged": "request",
        "labels_by": "people",
        "licence": "L",
        "terms": "T",
        "source": "S",
        "files": {"data/a.txt": "1" * 64, "b.txt": ""},
        "address": "https://example.org/x",
        "scale": {"low": 0, "high": 1, "cut": 0.5, "safe": "below"},
    }
    loader = recipe("mine", facts, rows)

    assert loader.files == (
        SourceFile("a.txt", "https://example.org/x/data/a.txt", "1" * 64),
        SourceFile("b.txt", "https://example.org/x/b.txt", None),
    )
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"Is it {name}?")
    made = loader.load({file.name: tmp_path / file.name for file in loader.files})
    assert [(query.text, made.votes[item.id].safe) for query, item in zip(made.queries, made.items, strict=True)] == [
        ("Is it a.txt?", 1),
        ("Is it b.txt?", 0),
    ]
    without = {name: fact for name, fact in facts.items() if name != "address"}
    assert [file.url for file in recipe("mine", without, rows).files] == [None, None]
    assert facts["files"], "the facts are read and not changed"
