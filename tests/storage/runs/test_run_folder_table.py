import polars as pl
import pytest

from casewise.errors import DataError
from casewise.records import Judgement, Scored, Unscored, UnscoredReason
from casewise.storage import run_folder as module
from casewise.storage.run_folder import judgement_summaries, judgement_table, last_attempts, last_rows


def judgement(i, **more):
    outcome = Unscored(reason=UnscoredReason.EMPTY) if i % 5 == 0 else Scored(value=float(i % 10))
    given = {"item_id": f"i_{i}", "judge_id": "j@1", "elicitation": "score", "arm": "full", "raw_reply": f"reply\n{i}"}
    return Judgement.model_validate(given | {"outcome": outcome} | more)


def log_of(path, judgements):
    path.write_text("".join(one.line() + "\n" for one in judgements))
    return path


def test_a_row_a_judgement_with_its_outcome_spread_out(tmp_path):
    table = judgement_table(log_of(tmp_path / "log", [judgement(i) for i in range(7)]))

    assert table["value"].to_list() == [None, 1, 2, 3, 4, None, 6]
    assert table["unscored_reason"].cast(pl.String).to_list() == ["empty", None, None, None, None, "empty", None]
    assert "raw_reply" not in table.columns


@pytest.mark.slow
def test_blocks_of_any_size_give_the_same_table(tmp_path, monkeypatch):
    log = log_of(tmp_path / "log", [judgement(i, raw_reply="x" * (7 * i % 50)) for i in range(100)])
    whole = judgement_table(log, replies="keep")

    for size in (1, 64, 333, 5000):
        monkeypatch.setattr(module, "BLOCK", size)
        assert judgement_table(log, replies="keep").equals(whole)


@pytest.mark.parametrize("size", [64, 1 << 24])
def test_a_torn_last_line_is_left_out_and_a_whole_one_without_its_break_is_not(tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "BLOCK", size)
    log = log_of(tmp_path / "log", [judgement(i) for i in range(6)])
    text = log.read_text()

    log.write_text(text[:-30])
    assert judgement_table(log).height == 5
    log.write_text(text[:-1])
    assert judgement_table(log).height == 6


def test_a_bad_line_in_a_later_block_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 300)
    log = log_of(tmp_path / "log", [judgement(i) for i in range(20)])
    lines = log.read_text().splitlines()
    lines[12] = lines[12].replace('"score"', '"guess"')
    log.write_text("\n".join(lines) + "\n")

    with pytest.raises(DataError, match=":13: 'elicitation'"):
        judgement_table(log)


def test_of_several_attempts_the_last_one_counts(tmp_path):
    tries = [judgement(3), judgement(4), judgement(5, item_id="i_4", attempt=1), judgement(6, item_id="i_4", repeat=1)]
    table = last_attempts(judgement_table(log_of(tmp_path / "log", tries)))

    assert table.select("item_id", "repeat", "value").sort("item_id", "repeat").rows() == [
        ("i_3", 0, 3),
        ("i_4", 0, None),
        ("i_4", 1, 6),
    ]


def test_an_empty_log_is_an_empty_table(tmp_path):
    (tmp_path / "log").touch()

    assert judgement_table(tmp_path / "log").height == 0
    assert judgement_table(tmp_path / "absent").columns == judgement_table(tmp_path / "log").columns


@pytest.mark.parametrize("size", [64, 1 << 24])
def test_lines_in_brief_say_what_records_say_and_where_they_stand(tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "BLOCK", size)
    made = [judgement(i, attempt=i % 3, input_tokens=i or None, cost_usd=i / 8 or None) for i in range(20)]
    made[15] = judgement(15, outcome=Unscored(reason=UnscoredReason.UNAVAILABLE), input_tokens=15, cost_usd=15 / 8)
    log = log_of(tmp_path / "log", made)

    found = judgement_summaries(log)

    lines, text = log.read_bytes().splitlines(keepends=True), log.read_bytes()
    assert [text[at : at + len(line)] for at, line in zip(found["place"], lines, strict=True)] == lines
    assert found.select("item_id", "attempt", "usable", "passing", "tokens", "cost_usd").rows() == [
        (one.item_id, one.attempt, i % 5 > 0, i == 15, one.input_tokens or 0, one.cost_usd or 0.0)
        for i, one in enumerate(made)
    ]


def test_of_a_log_in_brief_a_line_without_its_break_is_passed_over(tmp_path):
    log = log_of(tmp_path / "log", [judgement(i) for i in range(3)])
    log.write_bytes(log.read_bytes()[:-1])

    assert len(judgement_summaries(log)) == 2


@pytest.mark.parametrize("line", ['{"item_id": "i_1"}', "no JSON", "", '{"item_id": 3}'])
def test_a_line_in_brief_that_is_no_judgement_is_an_error(tmp_path, line):
    log = log_of(tmp_path / "log", [judgement(1)])
    log.write_text(f"{log.read_text()}{line}\n")

    with pytest.raises(DataError):
        judgement_summaries(log)


def test_columns_are_those_that_are_asked_for(tmp_path):
    log = log_of(tmp_path / "log", [judgement(1), judgement(5)])

    assert judgement_table(log, columns=["value", "item_id"]).rows() == [(1.0, "i_1"), (None, "i_5")]
    assert judgement_table(log, replies="keep")["raw_reply"].to_list() == ["reply\n1", "reply\n5"]
    whole = judgement_table(log)
    assert whole.columns[:11] == [
        *("item_id", "judge_id", "elicitation", "arm", "repeat", "attempt", "kind"),
        *("value", "low", "high", "unscored_reason"),
    ]
    assert [whole.schema[name] for name in ("repeat", "attempt")] == [pl.Int32, pl.Int32]


SCORED = '"outcome":{"kind":"scored","value":3.0}'


@pytest.mark.parametrize(
    ("was", "now", "problem"),
    [
        (SCORED, '"outcome":{"kind":"scored"}', "'outcome.scored.value': Field required"),
        (SCORED, '"outcome":{"kind":"scored","value":3.0,"reason":"empty"}', "'outcome.scored.reason' is 'empty'"),
        (SCORED, '"outcome":{"kind":"unscored"}', "'outcome.unscored.reason': Field required"),
        (SCORED, '"outcome":{"kind":"unscored","reason":"bored"}', "'outcome.unscored.reason' is 'bored'"),
        (SCORED, '"outcome":{"kind":"unscored","reason":"empty","value":3.0}', "'outcome.unscored.value' is 3.0"),
        (SCORED, '"outcome":{"kind":"other","value":3.0}', "'outcome'"),
        (SCORED, '"outcome":null', "'outcome'"),
        ('"elicitation":"score"', '"elicitation":"guess"', "'elicitation'"),
        ('"arm":"full"', '"arm":null', "'arm' is null"),
        ('"item_id":"i_3"', '"item_id":null', "'item_id' is null"),
        ('"judge_id":"j@1"', '"judge_id":null', "'judge_id' is null"),
    ],
)
def test_a_line_that_is_no_judgement_is_named_by_table_and_brief(tmp_path, was, now, problem):
    log = log_of(tmp_path / "log", [judgement(1), judgement(3)])
    first, second = log.read_text().splitlines()
    assert was in second
    log.write_text(f"{first}\n{second.replace(was, now)}\n")

    for read in (judgement_table, judgement_summaries):
        with pytest.raises(DataError, match=f":2: {problem}"):
            read(log)


def test_where_attempts_tie_the_later_line_counts():
    table = pl.DataFrame({"item_id": ["a", "a", "b"], "attempt": [0, 0, 0], "value": [1, 2, 3]})

    assert last_rows(table, ["item_id"]).sort("item_id")["value"].to_list() == [2, 3]
