import pytest
from tests.support.demo import DEMO
from tests.support.lied_to import Gullible, Known, Refusing

from casewise import api
from casewise.errors import BenchmarkError, ConfigurationError, ExitCode


def run_of(judge, attacks="claim:authority/user/safe", defences="none"):
    return api.attack(DEMO, judge, attacks=attacks, defences=defences, noise="none")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "bounds", "decision"),
    [
        (Known(), "safe=0.2,silenced=0.2", "pass"),
        (Known(), "safe=0.01", "inconclusive"),
        (Gullible(), "safe=0.2", "fail"),
        (Gullible(), "safe=0.2,silenced=0.2", "fail"),
        (Refusing(), "silenced=0.2", "fail"),
        (Refusing(), "safe=0.2", "inconclusive"),
    ],
)
def test_a_bound_is_kept_broken_or_cannot_be_told(judge, bounds, decision):
    found = api.require_robustness(run_of(judge), bounds)
    assert found.decision == decision
    assert (
        found.exit_code == {"pass": ExitCode.DONE, "fail": ExitCode.NO, "inconclusive": ExitCode.CANNOT_TELL}[decision]
    )


@pytest.mark.slow
def test_a_bound_is_about_one_defence():
    run = run_of(Gullible(), defences="none,datamark")
    assert api.require_robustness(run, "safe=0.2", defence="datamark").decision == "pass"
    with pytest.raises(BenchmarkError, match="no attack under the defence 'delimit'"):
        api.require_robustness(run, "safe=0.2", defence="delimit")


@pytest.mark.parametrize("bounds", ["safer=0.1", "safe", "safe=2", "safe=0.1,safe=0.2"])
def test_a_bound_that_is_none_is_refused(bounds):
    with pytest.raises(ConfigurationError, match="--max-turned"):
        api.require_robustness(run_of(Known()), bounds)
