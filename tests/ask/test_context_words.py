import casewise
from casewise.ask.layouts import FOR_ANNOTATORS, FOR_REVIEWERS, LABELS, groups, in_words
from casewise.records import GROUPS, PARAMETERS
from casewise.records.context import OPTIONAL

SHOWN = {"sender": {"platform_type": "A portal."}, "subject": "a neighbour"}


def test_everything_that_a_context_can_say_has_a_name_for_every_reader():
    assert {*GROUPS, *PARAMETERS, *OPTIONAL} == set(LABELS) == set(FOR_REVIEWERS) == set(FOR_ANNOTATORS)
    assert all(label.reviewers and label.annotators for label in LABELS.values())


def test_a_judge_reads_a_group_a_paragraph_and_a_parameter_a_line():
    assert in_words(SHOWN) == "Sender:\n- Platform type: A portal.\nSubject: a neighbour"
    assert in_words({}) == ""


def test_every_statement_of_a_context_is_in_one_of_its_groups():
    for context in casewise.load("demo").contexts:
        shown = context.shown()
        again = {
            one.name: one.statements[0][1] if one.statements[0][0] == "" else dict(one.statements)
            for one in groups(shown)
        }
        assert again == shown


def test_a_judge_reads_what_stands_under_headings_in_words():
    shown = {"recipient": {"type": {"age": 45, "member": False}, "background": True}, "subject": {"since": None}}

    expected = "Recipient:\n- Type: age: 45; member: no\n- Background: yes\nSubject: since: not stated"
    assert in_words(shown) == expected
