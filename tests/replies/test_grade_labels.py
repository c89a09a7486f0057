import json
import stat
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import casewise
from casewise.api.studies import init_replies
from casewise.errors import ConfigurationError, DataError, StudyError
from casewise.models.protocol import FakeModel, Rejected, Reply
from casewise.replies.collect import CollectOptions
from casewise.replies.grade import discard_texts, labels_notes, read_reply_labels, replies_to_label
from casewise.runs.limits import Limits
from casewise.storage import write_benchmark

DEMO: Any = casewise.load("demo")


@pytest.fixture
def replies(tmp_path):
    """Ninety replies in two arms; two of those in the whole context have no words."""
    texts: Any = iter(
        [Rejected("content_filter", "x"), Reply("", refusal="no"), "  ", *(f"{n} words" for n in range(200))]
    )
    options = CollectOptions(limits=Limits(concurrency=1))
    model = FakeModel(lambda _messages, _options: next(texts), name="openai/x")
    return casewise.collect("demo", model, out=tmp_path / "replies", arms="full none", options=options).path


def drawn(replies, n, seed=0):
    return replies_to_label(replies, DEMO, n=n, rng=np.random.default_rng(seed))


def places(benchmark):
    return [place for one in benchmark.contexts for place in json.loads(one.provenance.detail["replies"])]


def test_only_replies_with_words_in_the_whole_context_are_drawn(replies):
    found = places(drawn(replies, 1000))

    assert len(found) == len({tuple(place) for place in found}) == 88
    assert {arm for _, arm, _ in found} == {"full"}


def test_every_category_has_its_share_of_the_sample(replies):
    whole, half = drawn(replies, 1000), drawn(replies, 44)
    of = lambda benchmark: Counter(benchmark.query[item.query_id].category for item in benchmark.items)  # noqa: E731

    assert len(half.items) in (43, 44, 45)
    for category, n in of(whole).items():
        assert abs(of(half)[category] - n * len(half.items) / 88) <= 1


@pytest.mark.slow
def test_every_reply_has_the_same_chance(replies):
    times = Counter(tuple(place) for seed in range(300) for place in places(drawn(replies, 29, seed)))

    assert len(times) == 88
    assert max(abs(n / 300 - 1 / 3) for n in times.values()) < 4 * np.sqrt(2 / 9 / 300)


def test_the_same_words_to_one_query_are_read_once_and_count_for_both(tmp_path):
    path = casewise.collect("demo", FakeModel("The same."), out=tmp_path / "replies").path
    found = drawn(path, 1000)

    assert len(found.items) == 45
    assert len(places(found)) == 90


def test_a_study_of_replies_is_written_with_its_sample_beside_it(replies, tmp_path):
    file = tmp_path / "study.toml"
    with pytest.raises(StudyError, match="--preset"):
        init_replies(replies, path=file, preset="nope")
    assert not (tmp_path / "study-replies").exists()
    design = init_replies(replies, path=file, sample=30)

    assert (design.rates, design.conditions, design.ratings.per_item) == ("replies", ("reply",), 3)
    assert design.recruiter.kind == "invitation"
    assert stat.S_IMODE((tmp_path / "study-replies").stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "study-replies").iterdir()} == {0o600}
    with pytest.raises(ConfigurationError, match="exists"):
        init_replies(replies, path=file)


def test_what_people_said_in_an_export_becomes_labels_of_the_replies(replies, tmp_path):
    folder = tmp_path / "export"
    benchmark = drawn(replies, 30)
    write_benchmark(benchmark, folder)
    options = ["all", "some", "none"]
    about = {"design": {"rates": "replies", "questions": [{"name": "does", "options": options}]}}
    (folder / "study.json").write_text(json.dumps(about))
    said = [
        {"item_id": benchmark.items[0].id, "annotator_id": who, "answers": {"does": word}}
        for who, word in zip("abc", ("some", "some", "none"), strict=True)
    ]
    (folder / "own_answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))

    ((item, arm, repeat),) = places(replace(benchmark, contexts=benchmark.contexts[:1], items=benchmark.items[:1]))
    assert read_reply_labels(folder) == {(item, arm, repeat): Counter(partly=2, refuses=1)}


def test_a_folder_that_is_no_study_of_replies_is_refused(tmp_path):
    with pytest.raises(DataError, match="no export of a study of replies"):
        read_reply_labels(tmp_path)


def test_texts_that_were_removed_cannot_be_labelled(replies):
    casewise.grade(replies, "rubric:fake/rehearsal")
    discard_texts(replies)

    with pytest.raises(DataError, match="discarded"):
        drawn(replies, 10)


def written(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("value", "column", "means"),
    [
        ("Refusal", "label", "refuses"),
        ("full_compliance", "label", "answers"),
        ("2_partial_refusal", "label", None),
        ("partial-refusal", "label", "partly"),
        (True, "is_refusal", "refuses"),
        (0, "is_refusal", "answers"),
        ("1_full_compliance", "final_label", "answers"),
        ("2_full_refusal", "final_label", "refuses"),
        ("3_partial_refusal", "final_label", "partly"),
        (1.0, "refusal", "refuses"),
        ("yes", "refusal", "refuses"),
        (1, "label", None),
        (None, "label", None),
        ([], "label", None),
    ],
)
def test_a_label_means_what_its_column_asks(tmp_path, value, column, means):
    file = written(tmp_path / "labels.jsonl", {"item_id": "i_1", column: value})
    if means is None:
        with pytest.raises(DataError, match=column):
            read_reply_labels(file)
    else:
        assert read_reply_labels(file) == {("i_1", "full", 0): Counter({means: 1})}


def test_labels_of_a_reply_are_counted_by_person(tmp_path):
    file = written(
        tmp_path / "labels.jsonl",
        {"item_id": "i_1", "label": "refuses", "annotator": "a"},
        {"item_id": "i_1", "label": "3_partial_refusal", "annotator": "b"},
        {"item_id": "i_1", "label": "refuses", "annotator": "c", "arm": "full", "repeat": 0},
        {"item_id": "i_1", "label": "answers", "arm": "none", "repeat": 2},
    )

    assert read_reply_labels(file) == {
        ("i_1", "full", 0): Counter(refuses=2, partly=1),
        ("i_1", "none", 2): Counter(answers=1),
    }


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"item": "i_1", "label": "refuses"}], "'item_id' is not there"),
        ([{"item_id": "i_1", "said": "refuses"}], r"labels\.jsonl:1: has no column 'label' or 'final_label'"),
        ([{"item_id": "i_1", "label": "refuses"}, {"item_id": "i_2", "label": "maybe"}], "2: label is 'maybe'"),
        ([{"item_id": "i_1", "label": "refuses", "repeat": -1}], "'repeat' is -1"),
        ([{"item_id": "i_1", "label": "refuses"}, {"item_id": " ", "label": "refuses"}], "2: .*'item_id' is"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, rows, words):
    with pytest.raises(DataError, match=words):
        read_reply_labels(written(tmp_path / "labels.jsonl", *rows))


def test_what_a_reader_of_labels_must_know_is_that_nobody_gave_them_or_that_the_sample_is_unknown(replies, tmp_path):
    real, made_up = drawn(replies, 5), tmp_path / "made-up"
    write_benchmark(replace(real, about=real.about.model_copy(update={"synthetic": None})), tmp_path / "real")
    write_benchmark(replace(real, about=real.about.model_copy(update={"synthetic": "drawn by a program"})), made_up)

    assert labels_notes(None) == labels_notes(tmp_path / "real") == ()
    assert labels_notes(made_up) == ("SYNTHETIC LABELS of replies (made-up): drawn by a program",)
    (note,) = labels_notes(tmp_path / "labels.csv")
    assert note.startswith("labels.csv does not say how the labelled replies were chosen.")


def test_the_sample_says_whose_replies_it_holds_and_what_its_benchmark_says_of_itself(replies):
    about = DEMO.about.model_copy(update={"gated": True, "canary": "c", "synthetic": "s"})
    sample = replies_to_label(replies, replace(DEMO, about=about), n=3, rng=np.random.default_rng(0))

    assert (sample.about.gated, sample.about.canary, sample.about.synthetic) == (True, "c", "s")
    assert sample.about.description == "3 of the replies of openai/x, drawn at random, for people to label."
    assert sample.about.source == f"{DEMO.name} {DEMO.about.version}"
    assert {query.id for query in sample.queries} == {item.query_id for item in sample.items}
    assert [item.context_id for item in sample.items] == [one.id for one in sample.contexts]
    assert {one.provenance and one.provenance.by for one in sample.contexts} == {"openai/x"}


@pytest.mark.slow
def test_the_sample_has_its_share_of_what_a_grader_finds(replies):
    casewise.grade(replies, lambda _query, reply: "answers" if int(reply.split()[0]) % 4 else "refuses")
    texts = [one.texts()["reply.text"] for one in drawn(replies, 44).contexts]
    refused = sum(int(text.split()[0]) % 4 == 0 for text in texts)

    assert abs(refused - len(texts) / 4) <= len({query.category for query in DEMO.queries}) / 2


def test_no_reply_with_words_leaves_nothing_to_label(tmp_path):
    silent = casewise.collect("demo", FakeModel(""), out=tmp_path / "silent").path

    with pytest.raises(DataError, match="no reply has a text that people could label"):
        drawn(silent, 10)


def test_answers_in_an_export_that_are_none_of_the_question_are_left_out(replies, tmp_path):
    benchmark, folder = drawn(replies, 3), tmp_path / "export"
    write_benchmark(benchmark, folder)
    question = {"name": "does", "options": ["all", "some", "none"]}
    (folder / "study.json").write_text(json.dumps({"design": {"rates": "replies", "questions": [question]}}))
    said = [
        {"item_id": item.id, "answers": answers}
        for item, answers in zip(benchmark.items, ({"does": "all"}, {"does": "?"}, {}), strict=True)
    ]
    (folder / "own_answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))

    assert list(read_reply_labels(folder).values()) == [Counter(answers=1)]


def test_a_study_of_something_else_is_no_export_of_replies(tmp_path):
    (tmp_path / "study.json").write_text(json.dumps({"design": {"rates": "contexts"}}))

    with pytest.raises(DataError, match="no export of a study of replies"):
        read_reply_labels(tmp_path)
