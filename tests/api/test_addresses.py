"""Names of `casewise` for attacks, and the address of a model as an argument."""

import pytest
from tests.support.fault_server import FaultServer
from tests.support.served import served

import casewise
from casewise.errors import ConfigurationError

ATTACK = "claim:authority/user/safe"


def test_an_attack_and_its_numbers_are_names_of_casewise():
    run = casewise.attack("demo", "constant:intended", attacks=ATTACK, noise="none")

    assert casewise.robustness(run).numbers.flips["attack"].unique().to_list() == [ATTACK]
    assert casewise.view(run).table.n_judgements == 180


@pytest.mark.parametrize("ask", [casewise.judge, casewise.attack])
def test_a_judge_is_reached_at_the_address_that_is_given(ask, tmp_path):
    more = {} if ask is casewise.judge else {"attacks": ATTACK, "noise": "none"}
    with served(FaultServer()) as server:
        run = ask("demo", "tiny", out=tmp_path / "run", base_url=server.url, **more)

    assert run.summary.n_judged == 90 * (1 if ask is casewise.judge else 2)


def test_a_chatbot_is_reached_at_the_address_that_is_given(tmp_path):
    with served(FaultServer()) as server:
        found = casewise.collect("demo", "tiny", out=tmp_path / "replies", base_url=server.url)
        graded = casewise.grade(found, "rubric:tiny", base_url=server.url)

    assert found.summary.n_usable == 90
    assert graded.n_calls > 0


def test_an_address_for_something_without_a_name_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="base_url"):
        casewise.judge("demo", lambda _query, _context: "safe", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(ConfigurationError, match="base_url"):
        casewise.collect("demo", object(), out=tmp_path / "replies", base_url="http://127.0.0.1:1/v1")  # type: ignore[arg-type]
