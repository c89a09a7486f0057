"""The receipt of an import, in words and as the words of a file."""

from casewise.storage.receipt import ColumnRead, MergedRows, Receipt, WordRead


def read(word, read_as, *, column="label", how="declared", n=2):
    return WordRead(column=column, word=word, read_as=read_as, how=how, n=n)


def receipt(*words, **more):
    columns = (
        ColumnRead(column="label", role="label", declared=False),
        ColumnRead(column="text", role="query", declared=True),
    )
    return Receipt(file="f.csv", format="CSV", n_rows=1200, n_kept=1190, columns=columns, words=words, **more)


def test_declared_words_are_known_again_and_true_or_one_in_their_own_column_only():
    found = receipt(
        read("Pass", "safe"), read("1", "unsafe"), read("n/a", "missing"), read("ok", "safe", how="listed"),
        read("Perhaps", "unsure"),
    )  # fmt: skip

    assert found.known_words("label") == {"pass": "safe", "1": "unsafe", "perhaps": "unsure"}
    assert found.known_words("verdict") == {"pass": "safe", "perhaps": "unsure"}


def test_a_file_has_a_word_of_its_own_where_it_has_exactly_one():
    found = receipt(
        read("Pass", "safe"), read("Fail", "unsafe"), read("Stop", "unsafe"), read("yes", "safe", column="text")
    )

    assert found.own_words() == {"safe": "Pass"}
    assert receipt(read("Safe", "safe")).own_words() == {}


def test_the_receipt_says_how_everything_was_read_and_what_became_of_each_row():
    dropped = MergedRows(reason="the row is empty", n=9, first_line=4)
    merged = MergedRows(reason="said the same twice", n=1, first_line=7, first="case 'a'")
    bare = MergedRows(reason="not rated", n=2)
    named = MergedRows(reason="a header", n=1, first="'text'")
    found = receipt(
        read("Pass", "safe", n=1), read("safe", "safe", how="listed"), merged=(merged,), dropped=(dropped, bare, named),
        notes=("Read as UTF-8.",),
    )  # fmt: skip

    assert [str(line) for line in found.sentences()] == [
        "f.csv was read as CSV: 1,200 rows, 1,190 kept.",
        "Column 'label': label (by its name).",
        "Column 'text': query.",
        "'Pass' in 'label': safe (declared), 1 cell.",
        "'safe' in 'label': safe, 2 cells.",
        "1 row merged: said the same twice; the first is on line 7 case 'a'.",
        "9 rows dropped: the row is empty; the first is on line 4.",
        "2 rows dropped: not rated.",
        "1 row dropped: a header; the first is 'text'.",
        "Read as UTF-8.",
    ]
