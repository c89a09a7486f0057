"""The parts of a run: its estimate, its limits before the first call, its folder, its sessions and its spend."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.sums import SUMS, Adder, Sum, SumAsk, add_up, sum_manifest, sums

from casewise.errors import ConfigurationError, RunConflict
from casewise.models.asker import Asker
from casewise.models.prices import Prices, Spend
from casewise.models.protocol import FakeModel, Usage
from casewise.runs.batch import BatchOptions
from casewise.runs.engine import separate_calls
from casewise.runs.limits import InFlight, Limits, RunProgress
from casewise.runs.run import (
    CallEstimate,
    CallingOptions,
    check_limits,
    default_folder,
    estimate_calls,
    folder_log,
    new_session,
    perform,
    run_spend,
)
from casewise.storage.run_folder import run_notes


class Priced(Asker[SumAsk]):
    """An asker whose calls take more with each ask."""

    name = "priced"
    prices: Prices | None = Prices(1e6, 2e6)

    def estimate_usage(self, ask: SumAsk, /) -> Usage:
        return Usage(ask.left, 1)

    def max_spend(self, ask: SumAsk, /) -> Spend:
        return Spend(10.0 * ask.left, 100)


PLAN = sums((SumAsk(1, 2), SumAsk(2, 1)), (SumAsk(5, 0),), commutes=True)


def test_an_estimate_counts_a_call_for_each_group_of_asks():
    assert estimate_calls(Priced(), PLAN) == CallEstimate(
        n_calls=2, input_tokens=6, output_tokens=2, cost_usd=10.0, cost_at_most_usd=60.0
    )


def test_an_estimate_leaves_out_what_takes_no_call_and_has_no_cost_without_prices():
    unpriced = Priced()
    unpriced.prices = None
    few = estimate_calls(unpriced, PLAN, takes_call=lambda ask: ask.left == 5)

    assert few == CallEstimate(n_calls=1, input_tokens=5, output_tokens=1, cost_usd=None, cost_at_most_usd=None)


@pytest.mark.parametrize(
    ("limits", "more", "problem"),
    [
        (Limits(max_cost=1.0), {"prices": None}, "the price of priced is unknown, so a cost limit cannot be enforced; remove --max-cost"),
        (Limits(max_cost=1.0), {"prices": None, "model": FakeModel()}, "enforced; give --price-in and --price-out .*, or remove --max-cost"),
        (Limits(max_tokens_total=1), {"counts_tokens": False}, "priced does not report its tokens, so a limit on them cannot be enforced"),
    ],
)  # fmt: skip
def test_a_limit_that_cannot_be_kept_is_refused(limits, more, problem):
    asker = Priced()
    for name, value in more.items():
        setattr(asker, name, value)
    with pytest.raises(ConfigurationError, match=problem):
        check_limits(limits, asker)


def test_a_limit_that_can_be_kept_is_not_refused():
    unknown = Priced()
    unknown.prices, unknown.counts_tokens = None, False

    check_limits(Limits(max_cost=1.0, max_tokens_total=1), Priced())
    check_limits(Limits(), unknown)
    check_limits(Limits(max_cost=1.0), unknown, priced=True)
    with pytest.raises(ConfigurationError, match="the price of priced is unknown"):
        check_limits(Limits(max_cost=1.0), Priced(), priced=False)


@pytest.mark.parametrize(
    ("name", "folder"), [("demo-openai/gpt-4o", "runs/demo-openai-gpt-4o"), ("a b:c_d.e+f", "runs/a-b-c_d.e+f")]
)
def test_a_folder_has_the_name_of_its_run_without_what_a_file_cannot_be_called(name, folder):
    assert str(default_folder(name)) == folder


def test_a_session_is_recorded_with_its_limits_its_command_and_the_versions():
    limits = replace(Limits(3, 1.5, 9), spent_elsewhere=Spend(1.0, 1))
    session = new_session(limits, command="casewise judge", items=4, asks={"binary full": 4}, weights_bytes=7)

    assert session.options == {"concurrency": 3, "max_cost": 1.5, "max_tokens_total": 9}
    assert (session.command, session.planned_items, session.planned_asks) == ("casewise judge", 4, {"binary full": 4})
    assert session.weights_bytes == 7
    assert set(session.versions) == {"python", "casewise", "numpy", "polars", "pydantic", "aiohttp"}
    assert session.started.tzinfo is not None


def test_the_spend_of_a_run_is_that_of_its_calls_and_of_those_that_a_kill_hid(tmp_path):
    folder = tmp_path / "run"
    assert run_spend(folder, SUMS) == Spend()
    add_up(folder, separate_calls([SumAsk(n, 0) for n in range(3)]), Adder())
    assert run_spend(folder, SUMS) == Spend(3.0, 9)

    InFlight(folder).begin(Spend(2.0, 10))
    assert run_spend(folder, SUMS) == Spend(6.0, 24)


def opened(folder: Any, *, fails: bool = False, **more: Any) -> list[Any]:
    """What the log of a run says of its earlier sessions, once it was opened."""

    async def go() -> list[Any]:
        log: Any
        async with folder_log(folder, sum_manifest(), SUMS, new_session(Limits()), **more) as log:
            if fails:
                raise ZeroDivisionError
            return [log.earlier_answers is None, log.spent]

    return asyncio.run(go())


def test_the_log_of_a_run_has_what_earlier_sessions_answered_and_spent(tmp_path):
    folder = tmp_path / "run"
    assert opened(folder) == [True, Spend()]
    add_up(folder, separate_calls([SumAsk(1, 0)]), Adder())
    assert opened(folder) == [False, Spend(1.0, 3)]


def test_notes_are_kept_at_the_end_of_a_session_however_it_ends(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(ZeroDivisionError):
        opened(folder, fails=True, notes=lambda: ["the abacus creaked"], private=True)

    assert run_notes(folder) == ("the abacus creaked",)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_each_answer_is_shown_to_the_caller_before_it_is_written(tmp_path):
    seen: list[tuple[SumAsk, int | None]] = []

    def before(ask: SumAsk, answer: Sum) -> None:
        seen.append((ask, answer.value))

    async def go() -> None:
        async with folder_log(tmp_path / "run", sum_manifest(), SUMS, new_session(Limits()), before=before) as log:
            log.write(SumAsk(1, 2), Adder().said(SumAsk(1, 2)))

    asyncio.run(go())
    assert seen == [(SumAsk(1, 2), 3)]


def test_a_folder_of_another_run_is_not_taken(tmp_path):
    opened(tmp_path / "run")
    with pytest.raises(RunConflict):
        add_up(tmp_path / "run", separate_calls([SumAsk(1, 0)]), Adder(), manifest=sum_manifest("calculator"))


def test_tokens_that_an_estimate_does_not_know_count_as_none():
    class Vague(Priced):
        def estimate_usage(self, ask: SumAsk, /) -> Usage:
            return Usage(None, 3) if ask.left == 5 else Usage(7, None)

    found = estimate_calls(Vague(), PLAN)

    assert (found.n_calls, found.input_tokens, found.output_tokens, found.cost_usd) == (2, 7, 3, 7.0 + 6.0)


def test_a_batch_goes_to_the_askers_own_client_or_to_its_models_and_is_refused_without_one(monkeypatch, tmp_path):
    clients: list[Any] = []

    async def in_batches(_session: Any, _call_of: Any, client: Any, _options: Any, **_more: Any) -> None:
        clients.append(client)

    def performed(asker: Asker[SumAsk]) -> None:
        log: Any = folder_log(tmp_path / "run", sum_manifest(), SUMS, new_session(Limits()))
        options = CallingOptions(batch=BatchOptions())
        asyncio.run(perform(asker, Adder(), PLAN, log, options=options, progress=RunProgress()))

    monkeypatch.setattr("casewise.runs.run.run_in_batches", in_batches)
    monkeypatch.setattr("casewise.runs.run.client_of", lambda model, name: (model, name))
    own, behind = Priced(), Priced()
    client: Any = SimpleNamespace(set_notifier=lambda _notify: None)
    own.client, behind.model = client, FakeModel()
    performed(own)
    performed(behind)

    assert clients == [client, (behind.model, "priced")]
    monkeypatch.undo()
    with pytest.raises(ConfigurationError, match="priced cannot be used over a batch interface; remove --batch"):
        performed(Priced())


def test_two_estimates_add_up_and_an_unknown_cost_of_either_is_unknown_of_both():
    one = CallEstimate(n_calls=1, input_tokens=20, output_tokens=300, cost_usd=4.0, cost_at_most_usd=50.0)
    other = CallEstimate(n_calls=2, input_tokens=30, output_tokens=400, cost_usd=None, cost_at_most_usd=60.0)
    both = CallEstimate(n_calls=3, input_tokens=50, output_tokens=700, cost_usd=None, cost_at_most_usd=110.0)

    assert (one.plus(other), other.plus(one)) == (both, both)
    assert one.plus(one).cost_usd == 8.0
