import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.demo import DEMO
from tests.support.published import INTENT, demo_rows, output_rows, released_rows, write

from casewise.errors import BenchmarkError, DataError
from casewise.records import Item, Rating
from casewise.storage import About, Benchmark, read_published, write_published


def read_back(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("rows", [demo_rows(), released_rows(), demo_rows(1), released_rows(3)])
def test_a_file_comes_back_with_equal_content(tmp_path, rows):
    benchmark = read_published(write(tmp_path / "a.json", rows))
    write_published(benchmark, tmp_path / "b.json")

    assert read_back(tmp_path / "b.json") == rows


@pytest.mark.parametrize(
    "stated", [False, True, 45, 4.5, 0, {"age": 45, "member": False, "since": None}, ["a", 1, [True]]]
)
def test_what_a_parameter_states_comes_back_as_it_was(tmp_path, stated):
    (row,) = released_rows(1)
    rows = [changed_context(row, recipient=changed(row["context"]["recipient"], background=stated))]
    write_published(read_published(write(tmp_path / "a.json", rows)), tmp_path / "b.json")

    back = read_back(tmp_path / "b.json")[0]["context"]["recipient"]["background"]

    assert json.dumps(back) == json.dumps(stated)


@pytest.mark.slow
def test_all_900_rows_of_the_release_come_back_with_equal_values_in_equal_order(tmp_path, shared):
    file = shared / "data" / "casebench_shapes.json"
    benchmark = read_published(file)
    write_published(benchmark, tmp_path / "again.json")

    assert json.dumps(read_back(tmp_path / "again.json")) == json.dumps(read_back(file))
    assert len(benchmark.items) == 900
    said = "; ".join(text for context in benchmark.contexts for text in context.texts().values())
    assert ": no" in said
    assert ": 45" in said


def test_the_published_rows_at_hand_come_back_with_equal_content(tmp_path, shared):
    file = shared / "data" / "casebench_subset.json"
    benchmark = read_published(file)
    write_published(benchmark, tmp_path / "again.json")

    assert read_back(tmp_path / "again.json") == read_back(file)
    assert benchmark.counts.items == 240
    assert {len(benchmark.votes), *(votes.total for votes in benchmark.votes.values())} == {240, 20}
    nested = [row for row in read_back(file) if isinstance(row["context"]["recipient"]["background"], dict)]
    assert len(nested) == 8


def test_the_intent_in_the_rates_is_no_rating(tmp_path):
    benchmark = read_published(write(tmp_path / "release.json", released_rows(10)))

    published = benchmark.about.published
    assert published is not None
    assert (published.rates_count_intent, published.votes_hold_intent) == (True, False)
    assert any("show no such step at the majority line" in note for note in benchmark.notes())
    assert {votes.total for votes in benchmark.votes.values()} == {20}


@pytest.mark.parametrize("n", [1, 2, 40])
def test_a_21st_vote_that_is_always_the_intent_is_no_rating(tmp_path, n):
    rows = [{k: v for k, v in row.items() if k != "judge"} for row in output_rows([0] * n, judge="judge")]
    benchmark = read_published(write(tmp_path / "held.json", rows))

    assert {votes.total for votes in benchmark.votes.values()} == {20}
    assert benchmark.about.published is not None
    assert benchmark.about.published.votes_hold_intent
    assert any("and not as a rating" in note for note in benchmark.notes())
    write_published(benchmark, tmp_path / "again.json")
    assert read_back(tmp_path / "again.json") == rows


def with_votes(row, votes):
    return row | {"scores": votes, "safe_rate": votes.count(1) / len(votes)}


def test_a_21st_vote_that_is_not_always_the_intent_is_a_rating(tmp_path):
    rows = [with_votes(row, [*row["scores"], INTENT[row["context_intended_to_be_safe"]]]) for row in released_rows(6)]
    rows[3] = with_votes(rows[3], [*rows[3]["scores"][:-1], 3 - rows[3]["scores"][-1]])
    benchmark = read_published(write(tmp_path / "people.json", rows))

    assert {votes.total for votes in benchmark.votes.values()} == {21}


def test_people_who_all_follow_the_intent_keep_their_votes(tmp_path):
    rows = [with_votes(row, [INTENT[row["context_intended_to_be_safe"]]] * 5) for row in released_rows(40)]
    benchmark = read_published(write(tmp_path / "agreed.json", rows))

    assert {votes.total for votes in benchmark.votes.values()} == {5}


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=20), min_size=1, max_size=8))
def test_any_votes_are_read_and_written_without_loss(tmp_path, votes):
    rows = [with_votes(row, found) for row, found in zip(released_rows(len(votes)), votes, strict=True)]
    benchmark = read_published(write(tmp_path / "votes.json", rows))
    write_published(benchmark, tmp_path / "again.json")

    assert read_back(tmp_path / "again.json") == rows
    assert [v.total for v in benchmark.votes.values()] == [len(found) for found in votes]


def changed(row, **keys):
    return {key: value for key, value in (row | keys).items() if value is not ...}


def changed_context(row, **keys):
    return row | {"context": changed(row["context"], **keys)}


def changed_sender(row, **keys):
    return changed_context(row, sender=changed(row["context"]["sender"], **keys))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda row: changed(row, extra=1), "'extra' is 1: Extra inputs are not permitted"),
        (lambda row: changed(row, query=...), "'query': Field required"),
        (lambda row: changed(row, scores=...), "'scores': Field required"),
        (lambda row: changed(row, context=...), "'context' is null: "),
        (lambda row: changed(row, safe_rate=...), "'safe_rate': Field required"),
        (lambda row: changed(row, query=""), "'query' is ''"),
        (lambda row: changed(row, query=["a"]), "'query': Input should be a valid string"),
        (lambda row: changed(row, context_intended_to_be_safe="yes"), "'context_intended_to_be_safe' is 'yes'"),
        (lambda row: changed(row, context_intended_to_be_safe=1), "'context_intended_to_be_safe' is 1"),
        (lambda row: changed(row, scores=[1, 0]), r"'scores\.1': 0 is no vote; a vote is 1 \(safe\) or 2 \(unsafe\)"),
        (lambda row: changed(row, scores=[1, 2.0]), r"'scores\.1': 2\.0 is no vote"),
        (lambda row: changed(row, scores="12"), "'scores' is '12'"),
        (lambda row: changed(row, safe_rate=-0.1), r"'safe_rate' is -0\.1: Input should be greater than or equal to 0"),
        (lambda row: changed(row, safe_rate=1.01), r"'safe_rate' is 1\.01: Input should be less than or equal to 1"),
        (lambda row: changed(row, safe_rate="0.5"), r"'safe_rate' is '0\.5'"),
        (
            lambda row: changed(row, safe_rate=0.4242),
            r"safe_rate is 0\.4242, but the 20 votes give .* and the votes with",
        ),
        (
            lambda row: changed(row, category="gardening"),
            "'category': no category of SORRY-Bench is called 'gardening'",
        ),
        (lambda row: changed_context(row, weather="fine"), r"'context\.weather' is 'fine': Extra inputs"),
        (lambda row: changed_context(row, recipient=...), r"'context\.recipient': Field required"),
        (
            lambda row: changed_sender(row, platform_type={}),
            r"'context\.sender\.platform_type': states {}; a parameter",
        ),
        (
            lambda row: changed_sender(row, platform_type={"a": [1, []]}),
            r"'context\.sender\.platform_type': under 'a', 2 it states \[\]; a parameter is a text, a number, true",
        ),
        (lambda row: changed_sender(row, platform_type=" "), r"'context\.sender\.platform_type': states a text of sp"),
        (lambda row: changed_sender(row, platform_type=None), r"'context\.sender\.platform_type': states null"),
    ],
)
def test_what_is_wrong_deep_inside_is_said_with_its_line(tmp_path, change, problem):
    rows = released_rows(3)
    file = write(tmp_path / "bad.json", [rows[0], change(rows[1]), rows[2]])
    line = 1 + file.read_text(encoding="utf-8").splitlines().index("    {", 3)

    with pytest.raises(DataError, match=rf"bad\.json:{line}: row 2: {problem}"):
        read_published(file)


def test_the_same_item_twice_is_an_error(tmp_path):
    rows = released_rows(3)

    with pytest.raises(DataError, match=r"bad\.json:\d+: row 4: the same query and context as an earlier row"):
        read_published(write(tmp_path / "bad.json", [*rows, rows[0]]))


def test_items_of_one_query_may_have_categories_of_their_own(tmp_path):
    rows = released_rows(2)
    rows[1]["category"] = "terrorism"

    found = read_published(write(tmp_path / "two.json", rows))

    assert [found.category_of(item) for item in found.items] == [found.queries[0].category, "terrorism"]
    write_published(found, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == rows


def test_rates_that_count_the_intent_in_some_rows_only_are_an_error(tmp_path):
    with_intent, without = released_rows(4), demo_rows(4)
    rows = [with_intent[0], without[1], with_intent[2], without[3]]

    with pytest.raises(
        DataError, match=r"bad\.json:\d+: row \d: safe_rate leaves the intent out, but row \d's counts it"
    ):
        read_published(write(tmp_path / "bad.json", rows))


def test_windows_1252_is_named_with_its_line(tmp_path):
    rows = released_rows(2)
    rows[1]["query"] = "What\u2019s this?"
    file = tmp_path / "windows.json"
    file.write_bytes(json.dumps(rows, indent=1, ensure_ascii=False).encode("cp1252"))
    line = 1 + file.read_bytes()[: file.read_bytes().index(b"\x92")].count(b"\n")

    with pytest.raises(DataError, match=rf"windows\.json:{line}: byte 0x92 is not UTF-8; .*Windows-1252"):
        read_published(file)


def test_a_misspelt_category_is_mapped_and_comes_back_as_it_was(tmp_path):
    category = next(category for category in DEMO.taxonomy.categories if category.aliases)
    rows = [row | {"category": category.aliases[0]} for row in released_rows(2)]
    benchmark = read_published(write(tmp_path / "misspelt.json", rows))
    write_published(benchmark, tmp_path / "again.json")

    assert benchmark.queries[0].category == category.name
    assert read_back(tmp_path / "again.json") == rows


def test_what_the_format_cannot_hold_is_not_written(tmp_path):
    target = tmp_path / "out.json"
    item = Item(query_id=DEMO.queries[0].id, condition="no_context")
    rating = Rating(item_id=item.id, verdict="safe")
    bare = Benchmark(About(name="bare"), DEMO.queries[:1], (), (item,), (rating,))
    unrated = replace(DEMO, ratings=())
    told = DEMO.contexts[0].model_copy(update={"subject": "a neighbour", "id": "", "lineage_id": ""})
    told = type(told).model_validate(told.model_dump())
    item = Item.from_context(told)
    third = Benchmark(About(name="s"), DEMO.queries[:1], (told,), (item,), (Rating(item_id=item.id, verdict="safe"),))

    for benchmark, problem in ((bare, "no context"), (unrated, "no ratings"), (third, "no subject")):
        with pytest.raises(BenchmarkError, match=problem):
            write_published(benchmark, target)
    assert not target.exists()
