"""Messages of errors: where, what, and a name that was nearly right."""

import pytest

from casewise.errors import ConfigurationError, DataError, StudyError, did_you_mean, one_of, unknown_key


def test_an_error_of_data_names_the_file_and_the_line():
    with_line, without = DataError("a.csv", 3, "is empty"), DataError("a.csv", None, "is empty")

    assert (str(with_line), str(without)) == ("a.csv:3: is empty", "a.csv: is empty")
    assert (str(with_line.path), with_line.line, with_line.problem) == ("a.csv", 3, "is empty")


@pytest.mark.parametrize(
    ("name", "names", "question"),
    [
        ("recal_safe", ["accuracy", "recall_safe"], " (did you mean 'recall_safe'?)"),
        ("type", ["sender", "recipient.type"], " (did you mean 'recipient.type'?)"),
        ("rol", ["a.role", "b.role"], " (did you mean 'a.role' or 'b.role'?)"),
        ("purpose", ["x.sender_purpose"], " (did you mean 'x.sender_purpose'?)"),
        ("speed", ["accuracy", "recall_safe"], ""),
        ("x", [], ""),
    ],
)
def test_a_name_that_is_nearly_one_is_asked_about(name, names, question):
    assert did_you_mean(name, names) == question


def test_the_first_key_that_is_not_known_is_named():
    assert unknown_key(["seed", "per_itme", "x"], ["per_item", "seed"], within="ratings.") == (
        "ratings.per_itme is not known (did you mean 'per_item'?)"
    )
    assert unknown_key(["seed"], ["seed"]) is None


def test_a_choice_is_one_of_those_that_there_are():
    assert one_of("half", ("half", "drop"), "--ties") == "half"
    with pytest.raises(ConfigurationError, match="--ties is 'both'; it can be half, drop"):
        one_of("both", ("half", "drop"), "--ties")
    with pytest.raises(StudyError):
        one_of("both", ("half",), "ties", error=StudyError)
