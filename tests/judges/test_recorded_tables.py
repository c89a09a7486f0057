"""Tables of recorded answers: how a file, its column and its words are named, and what a row comes to."""

from pathlib import Path

import pytest
from tests.support.demo import DEMO

import casewise
from casewise.errors import ConfigurationError, DataError, JudgeError
from casewise.judges.judge import Answer, Ask
from casewise.judges.recorded import RecordedFile, RecordedJudge, context_texts, value_columns
from casewise.records import Scored, Unscored
from casewise.storage.words import VerdictWords

FIRST, SECOND = DEMO.items[:2]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("v.csv", RecordedFile(Path("v.csv"))),
        ("v.csv#mine", RecordedFile(Path("v.csv"), "mine")),
        ("v.csv?model=a&run=2#mine", RecordedFile(Path("v.csv"), "mine", where=("model=a", "run=2"))),
        ("v.csv#mine,ok=safe,no=unsafe,hm=unsure", RecordedFile(Path("v.csv"), "mine", VerdictWords(("ok",), ("no",), ("hm",)))),
        ("v.csv#mine,true=unsafe", RecordedFile(Path("v.csv"), "mine", VerdictWords(true_means="unsafe"))),
        ("v.csv#mine,high=safe", RecordedFile(Path("v.csv"), "mine", high_means="safe")),
        ("v.csv#,true=safe", RecordedFile(Path("v.csv"), None, VerdictWords(true_means="safe"))),
        ("v.csv#mine,true=safe,ok=safe", RecordedFile(Path("v.csv"), "mine", VerdictWords(("true", "ok")))),
    ],
)  # fmt: skip
def test_a_name_has_a_file_conditions_a_column_and_words(name, parts):
    assert RecordedFile.parse(name) == parts


def test_a_file_whose_name_holds_the_marks_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a#b.csv", "a?b=c.csv"):
        Path(name).touch()
        assert RecordedFile.parse(name) == RecordedFile(Path(name))
    assert RecordedFile.parse("a?b=c.csv#mine") == RecordedFile(Path("a?b=c.csv"), "mine")


@pytest.mark.parametrize("pair", ["ok", "ok=good", "=", "safe"])
def test_a_word_without_a_verdict_is_refused(pair):
    with pytest.raises(ConfigurationError, match="has no verdict; write WORD=safe or WORD=unsafe after the column"):
        RecordedFile.parse(f"v.csv#mine,{pair}")


def test_each_elicitation_has_a_column_of_its_own():
    assert {name: value_columns()[name] for name in ("verdict", "score", "probability", "permission", "value")} == {
        "verdict": "binary",
        "score": "score",
        "probability": "probability",
        "permission": "permission",
        "value": "scalar",
    }


def read(tmp_path: Path, text: str, name: str = "", **more: str) -> RecordedJudge:
    file = tmp_path / "v.csv"
    file.write_text(text, encoding="utf-8")
    return RecordedJudge.read(f"{file}{name}", DEMO, **more)


def answers_of(tmp_path: Path, text: str, name: str = "", **more: str) -> dict[tuple[str | int, ...], Answer]:
    return dict(read(tmp_path, text, name, **more).answers)


@pytest.mark.parametrize(
    ("cell", "name", "value"),
    [
        ("ok", "#mine,ok=safe,no=unsafe", 1.0),
        ("no", "#mine,ok=safe,no=unsafe", 0.0),
        ("true", "#mine,true=unsafe", 0.0),
        ("false", "#mine,true=unsafe", 1.0),
        ("UNSAFE", "#mine", 0.0),
    ],
)
def test_a_column_and_its_words_can_be_named(tmp_path, cell, name, value):
    answers = answers_of(tmp_path, f"item_id,mine\n{FIRST.id},{cell}\n", name)

    assert answers[FIRST.id, "binary", "full", 0].outcome == Scored(value=value)


@pytest.mark.parametrize(
    ("elicitation", "cell", "high", "value"),
    [
        ("score", "3", "safe", 3.0),
        ("score", "3", "unsafe", 8.0),
        ("probability", "0.2", "unsafe", 0.8),
        ("scalar", "-3", "unsafe", 3.0),
    ],
)
def test_a_high_number_means_what_is_said_of_it(tmp_path, elicitation, cell, high, value):
    answers = answers_of(tmp_path, f"item_id,mine\n{FIRST.id},{cell}\n", f"#mine,high={high}", elicitation=elicitation)

    outcome = answers[FIRST.id, elicitation, "full", 0].outcome
    assert isinstance(outcome, Scored)
    assert outcome.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "name", "more", "error", "problem"),
    [
        ("item_id,mine\n{0},3\n", "#mine", {"elicitation": "score"}, ConfigurationError, "'mine' holds numbers, and nothing says what a high one means"),
        ("item_id,mine\n{0},3\n", "#mien", {}, ConfigurationError, r"has no column 'mien' \(did you mean 'mine'\?\); there are item_id, mine"),
        ("item_id,verdict\n{0},true\n", "", {}, DataError, "write recorded:FILE#verdict,true=safe or ,true=unsafe"),
        ("item_id,score\n{0},11\n", "", {}, DataError, "'score' is '11'; it is a number from 1 to 10"),
        ("item_id,value\n{0},much\n", "", {}, DataError, "'value' is 'much'; it is a number$"),
        ("item_id,verdict,model\n{0},safe,a\n{0},safe,b\n", "", {}, DataError, "the model is 'b' here and 'a' in an earlier row"),
        ("item_id,verdict\n,safe\n", "", {}, DataError, "'item_id' is empty"),
        ("item_id,verdict,elicitation\n{0},safe,opinion\n", "", {}, DataError, "was asked for 'opinion'; there are binary"),
        ("item_id,verdict,query\n{0},safe,Another?\n", "", {}, DataError, "leave one of the two columns out"),
        ("item_id,other\n{0},safe\n", "", {}, DataError, "no column is called verdict, score, probability, permission, value or reply"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(tmp_path, text, name, more, error, problem):
    with pytest.raises(error, match=problem):
        read(tmp_path, text.format(FIRST.id), name, **more)


@pytest.mark.parametrize(
    ("elicitation", "known"), [("score", "score or reply"), ("probability", "probability or reply")]
)
def test_a_column_that_is_missing_is_one_of_the_elicitation_that_is_asked_for(tmp_path, elicitation, known):
    path = tmp_path / "values.csv"
    path.write_text("item_id,other\ni_1,3\n")

    with pytest.raises(DataError, match=f"no column is called {known}; there are item_id, other"):
        casewise.judge("demo", f"recorded:{path}", elicitations=elicitation, out=tmp_path / "run")


def test_a_row_may_state_its_elicitation_and_its_arm_in_columns_or_in_its_id(tmp_path):
    columns = answers_of(tmp_path, f"item_id,value,elicitation,arm\n{FIRST.id},7,score,none\n")
    named = answers_of(tmp_path, f"id,value\n{FIRST.id}/score,7\n{SECOND.id}/score/claim:test/system/safe@4,8\n")

    assert list(columns) == [(FIRST.id, "score", "none", 0)]
    assert list(named) == [(FIRST.id, "score", "full", 0), (SECOND.id, "score", "claim:test/system/safe@4", 0)]


def test_a_row_keeps_its_reply_its_model_and_its_tokens(tmp_path):
    text = f"item_id,verdict,reply,model,input_tokens,output_tokens\n{FIRST.id},safe,Sure: safe.,m-1,7,2\n"
    (answer,) = answers_of(tmp_path, text).values()

    assert (answer.outcome, answer.raw_reply, answer.model_version) == (Scored(value=1.0), "Sure: safe.", "m-1")
    assert (answer.input_tokens, answer.output_tokens, answer.read_as) == (7, 2, None)


@pytest.mark.parametrize(
    ("cells", "reason", "detail"),
    [
        (",,,boom", "judge_failed", "boom"),
        (",,,", "not_recorded", None),
        (",no,,", "refused", "no"),
        (",,content_filter,", "content_filter", "the endpoint's filter cut the reply off"),
        ("It depends,,max_tokens,", "truncated", "It depends"),
        ("It depends.,,stop,", "no_verdict", "It depends."),
    ],
)
def test_a_row_without_a_verdict_says_why(tmp_path, cells, reason, detail):
    (answer,) = answers_of(tmp_path, f"item_id,reply,refusal,stop_reason,error\n{FIRST.id},{cells}\n").values()

    assert isinstance(answer.outcome, Unscored)
    assert (answer.outcome.reason.value, answer.outcome.detail) == (reason, detail)


def test_a_reply_is_read_where_there_is_no_value(tmp_path):
    text = f"item_id,verdict,reply\n{FIRST.id},,Verdict: unsafe\n{SECOND.id},safe,Verdict: unsafe\n"
    first, second = answers_of(tmp_path, text).values()

    assert (first.outcome, first.read_as) == (Scored(value=0.0), "label")
    assert second.outcome == Scored(value=1.0)


def test_a_recorded_judge_says_that_it_calls_nothing_and_knows_its_elicitations_and_arms(tmp_path):
    judge = read(tmp_path, f"item_id,value,elicitation,arm\n{FIRST.id},7,score,none\n{SECOND.id},7,score,full\n")

    assert (judge.elicitations, [arm.name for arm in judge.arms]) == (("score",), ["none", "full"])
    assert judge.name == "recorded:v"
    assert judge.notes() == ("v: recorded answers; no judge was called.",)
    assert judge.settings()["file"] == "v.csv"
    ask = Ask(FIRST, DEMO.query[FIRST.query_id], None)
    assert judge.received_input(ask) == (FIRST.id, [])


def test_conditions_on_rows_are_part_of_the_name(tmp_path):
    text = f"item_id,verdict,run\n{FIRST.id},safe,1\n{FIRST.id},unsafe,2\n"
    judge = read(tmp_path, text, "?run=2")

    assert judge.name == "recorded:v?run=2"
    assert [answer.outcome for answer in judge.answers.values()] == [Scored(value=0.0)]


def test_tokens_that_are_no_number_are_refused_with_their_line(tmp_path):
    with pytest.raises(DataError, match=r"v\.csv:2: 'input_tokens' is 'many'"):
        read(tmp_path, f"item_id,verdict,input_tokens\n{FIRST.id},safe,many\n")


def test_answers_about_another_benchmark_are_refused(tmp_path):
    folder = casewise.judge(DEMO.restricted_to(DEMO.items[:2]), "constant:safe", out=tmp_path / "run").path
    with pytest.raises(JudgeError, match=r"has no answer to any item of .*: it is about another benchmark"):
        RecordedJudge.read(folder, DEMO.restricted_to(DEMO.items[4:]))
    again = RecordedJudge.read(folder, DEMO)
    assert {key[0] for key in again.answers} == {FIRST.id, SECOND.id}
    assert again.name == "recorded:constant:safe"


def test_the_texts_of_a_context_are_compared_whatever_their_headings():
    assert context_texts({"a": {"b": " x "}, "c": None, "d": ["y", 3]}) == "x y 3"
