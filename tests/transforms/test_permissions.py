from datetime import date

import pytest

from casewise import api
from casewise.errors import DataError

pytest.importorskip("casbin", reason="needs the extra [verify]: pycasbin")

AT = date(2026, 6, 1)
RULES = "p, staff, *, ask, allow\np, trainee, {category}, ask, deny\ng, trainee, staff\n"


@pytest.fixture
def forged(tmp_path):
    return api.forge_contexts("demo", tmp_path / "forged", at=AT)


def permissions(forged, tmp_path, rules, roles):
    benchmark = forged.forged.benchmark
    facts = tmp_path / "roles.jsonl"
    facts.write_text(
        "".join(
            f'{{"subject": "{context.id}", "field": "recipient.role", "value": "{role}", "source": "register"}}\n'
            for context, role in zip(benchmark.contexts, roles, strict=False)
        )
    )
    (tmp_path / "policy.csv").write_text(rules)
    options = api.VerifyOptions(policy=tmp_path / "policy.csv")
    return api.verify_contexts(forged.folder, facts, at=AT, options=options)


def test_a_role_without_permission_is_flagged_with_the_rule_and_an_unknown_one_is_not(forged, tmp_path):
    benchmark = forged.forged.benchmark
    category = benchmark.query[benchmark.contexts[1].query_id].category
    found = permissions(forged, tmp_path, RULES.format(category=category.replace(",", "?")), ["staff", "stranger"])
    staff, stranger, unknown, *_ = found.permissions
    assert (staff.allowed, staff.flagged) == (True, False)
    assert (stranger.allowed, stranger.flagged, stranger.rule) == (False, True, "")
    assert (unknown.role, unknown.allowed, unknown.flagged) == (None, None, False)
    assert "may not ask what is asked" in found.to_markdown()


def test_a_rule_that_denies_counts_before_those_that_allow(forged, tmp_path):
    benchmark = forged.forged.benchmark
    first = benchmark.query[benchmark.contexts[0].query_id].category.partition(",")[0]
    found = permissions(forged, tmp_path, RULES.format(category=f"{first}*"), ["trainee"])
    assert found.permissions[0].flagged
    assert "deny" in found.permissions[0].rule


@pytest.mark.parametrize("line", ["p, staff, *, ask", "p, staff, *, ask, perhaps", "q, staff"])
def test_a_line_that_is_no_rule_is_named(forged, tmp_path, line):
    with pytest.raises(DataError, match=r"policy.csv:2.*is no rule"):
        permissions(forged, tmp_path, f"# rules\n{line}\n", ["staff"])
