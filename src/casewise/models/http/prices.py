"""What tokens cost: from the user, or from the public price list of genai-prices."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from casewise.models.http.endpoints import Endpoint
from casewise.models.protocol import Usage

__all__ = ["FREE", "Prices", "find_prices"]


@dataclass(frozen=True)
class Prices:
    """US dollars for a million tokens."""

    input_usd: float
    output_usd: float

    def of(self, usage: Usage) -> float | None:
        """What `usage` costs; None where the endpoint does not say how many tokens it was."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1e6

    def less(self, discount: float) -> Prices:
        """These, with a share taken off: 0.5 is half the price."""
        return Prices(self.input_usd * (1 - discount), self.output_usd * (1 - discount))


FREE = Prices(0.0, 0.0)


def find_prices(endpoint: Endpoint, model: str) -> Prices | None:
    """What `model` costs at `endpoint`; None where nobody has listed it.

    A server on this machine costs nothing. Prices that rise with the length of a prompt are taken at their base.
    """
    if not endpoint.remote:
        return FREE
    if endpoint.priced_as is None:
        return None
    from genai_prices import Usage as ListedUsage
    from genai_prices import calc_price

    try:
        listed = calc_price(
            ListedUsage(input_tokens=1000, output_tokens=1000), model_ref=model, provider_id=endpoint.priced_as
        )
    except LookupError:
        return None
    return Prices(per_million(listed.input_price), per_million(listed.output_price))


def per_million(of_thousand: Decimal) -> float:
    return float(of_thousand * 1000)
