"""Terms of batch interfaces."""

from dataclasses import replace

import pytest

from casewise.errors import ConfigurationError
from casewise.models.batches.terms import COMPATIBLE, MB, TERMS, Terms, terms_of
from casewise.models.endpoints import CUSTOM, ENDPOINTS


def test_every_hosted_endpoint_has_terms_with_a_source_or_is_refused():
    for name, endpoint in ENDPOINTS.items():
        if name in TERMS:
            assert TERMS[name].source.startswith("https://")
        elif not endpoint.key_optional:
            with pytest.raises(ConfigurationError, match="not known to have a batch interface"):
                terms_of(endpoint)
        else:
            assert terms_of(endpoint).discount == 0


def test_a_server_of_ones_own_has_the_usual_limits_and_no_discount():
    assert terms_of(CUSTOM) is COMPATIBLE
    assert (COMPATIBLE.most_requests, COMPATIBLE.most_bytes, COMPATIBLE.hours) == (50_000, 200 * MB, 24)
    assert COMPATIBLE.discount == 0


def test_the_usual_terms_are_half_the_price_within_a_day():
    assert (MB, Terms("").discount, Terms("").hours, Terms("").shape) == (1_000_000, 0.5, 24, "openai")


@pytest.mark.parametrize(
    ("name", "most_requests", "megabytes", "hours", "discount"),
    [
        ("openai", 50_000, 200, 24, 0.5),
        ("groq", 50_000, 100, 24, 0.25),
        ("together", 50_000, 100, 24, 0.0),
        ("mistral", 1_000_000, 100, 24, 0.5),
        ("anthropic", 100_000, 256, 24, 0.5),
        ("google", 50_000, 19, 48, 0.5),
    ],
)
def test_terms_are_those_that_the_provider_documents(name, most_requests, megabytes, hours, discount):
    terms = terms_of(ENDPOINTS[name])

    assert (terms.most_requests, terms.most_bytes, terms.hours) == (most_requests, megabytes * MB, hours)
    assert terms.discount == discount


def test_an_endpoint_without_terms_is_refused_with_those_that_have_some():
    with pytest.raises(ConfigurationError, match=r"xai is not known to have a batch interface.*openai, azure, groq"):
        terms_of(replace(ENDPOINTS["xai"], base_url="https://elsewhere.example/v1"))
