"""Prices of tokens, and the count of requests without reported tokens."""

import asyncio

import pytest
from genai_prices import Usage as ListedUsage
from genai_prices import calc_price

from casewise.errors import ConfigurationError
from casewise.models.prices import Meter, Prices, Spend, listed_prices, metered, note_unreported, spend_of
from casewise.models.protocol import Usage
from casewise.records.call import Call


def test_tokens_in_the_cache_have_their_own_price():
    prices = Prices(1.0, 4.0, 0.25)

    assert prices.cost_of(Usage(3_000_000, 1_000_000, cached_tokens=2_000_000)) == 1.0 + 2 * 0.25 + 4.0
    assert prices.cost_of(Usage(1_000_000, 0, cached_tokens=9_000_000)) == 0.25
    assert prices.discounted(0.5) == Prices(0.5, 2.0, 0.125)


def test_tokens_in_the_cache_cost_as_much_as_others_where_their_price_is_unknown():
    assert Prices(1.0, 4.0).cost_of(Usage(1_000_000, 0, cached_tokens=1_000_000)) == 1.0
    assert Prices(1.0, 4.0).discounted(0.25) == Prices(0.75, 3.0)


@pytest.mark.parametrize("prices", [(-1, 1), (1, -1), (1, 1, -1), (float("nan"), 1)])
def test_a_price_is_zero_or_more(prices):
    with pytest.raises(ConfigurationError, match="0 or more"):
        Prices(*prices)


def test_the_tokens_that_are_reported_have_a_price():
    assert Prices(1e6, 1e6).cost_of(Usage(5, None)) == Prices(1e6, 1e6).cost_of(Usage(None, 5)) == 5.0
    assert Prices(1.0, 1.0).cost_of(Usage()) is None


def test_the_public_list_has_a_price_of_cached_tokens():
    prices = listed_prices("openai", "gpt-4o")

    assert prices is not None
    assert prices.cached_usd is not None
    assert 0 < prices.cached_usd < prices.input_usd < prices.output_usd
    million = calc_price(ListedUsage(input_tokens=10**6, output_tokens=10**6), model_ref="gpt-4o", provider_id="openai")
    assert prices.input_usd + prices.output_usd == pytest.approx(float(million.total_price))
    assert listed_prices("openai", "no-such-model") is None


def test_spends_are_added_subtracted_and_multiplied_part_by_part():
    one, other = Spend(1.0, 20), Spend(0.25, 3)

    assert (one + other, one - other, other * 3) == (Spend(1.25, 23), Spend(0.75, 17), Spend(0.75, 9))


def test_what_a_call_took_is_what_is_known_and_what_is_assumed():
    call = Call(input_tokens=1, output_tokens=2, cost_usd=0.5, assumed_cost_usd=0.25, assumed_tokens=8)

    assert spend_of(call) == Spend(0.75, 11)
    assert spend_of(Call()) == Spend()


def test_a_meter_counts_in_tasks_of_its_block_and_nowhere_else():
    async def two_calls() -> tuple[Meter, Meter]:
        async def note() -> None:
            note_unreported()

        with metered() as first:
            await asyncio.gather(note(), note())
        note_unreported()
        with metered() as second:
            pass
        return first, second

    assert [meter.n_unreported for meter in asyncio.run(two_calls())] == [2, 0]
