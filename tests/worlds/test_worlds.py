"""Every command over small worlds: no sentence contradicts its number, no command contradicts another, and every word fits."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.worlds import BY_NAME, QUICK, SPLIT, WORLDS, World, always

import casewise
from casewise import ReportOptions, Requirements, power
from casewise.errors import CasewiseError
from casewise.reports.formats import markdown
from casewise.stats.metrics import is_share
from casewise.studies.report import study_report

NOUNS = "item|query|vote|rating|label|judge|person|annotator|category|reply|answer|combination|cluster|verdict|run"
PLURALS = "items|queries|votes|ratings|labels|judges|people|annotators|categories|replies|answers|combinations|clusters|verdicts|runs"


@dataclass(frozen=True)
class Shown:
    """What every command shows of a world: its reports, and why others were refused."""

    world: World
    reports: dict[str, Any]
    refused: dict[str, str]

    @property
    def texts(self) -> dict[str, str]:
        return {name: markdown(report.document).replace("\\", "") for name, report in self.reports.items()}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return what all commands show of a world; each is built once."""

    @cache
    def build(name: str) -> Shown:
        world, folder = BY_NAME[name], tmp_path_factory.mktemp("world")
        return show(world, world.runs(folder))

    return build


def show(world: World, runs: dict[str, Path]) -> Shown:
    benchmark = world.benchmark
    named = list(runs.items())
    commands: dict[str, Callable[[], Any]] = {
        "compare": partial(casewise.compare, *runs.values(), benchmark=benchmark),
        "leaderboard": partial(casewise.leaderboard, *runs.values(), benchmark=benchmark),
        "policies": partial(casewise.policies, *runs.values(), benchmark=benchmark),
        "recommend": partial(casewise.recommend, *runs.values(), benchmark=benchmark),
        "audit": partial(casewise.audit, benchmark),
        "report": partial(casewise.report, *runs.values(), benchmark=benchmark),
    }
    for name, run in named:
        commands[f"report of {name}"] = partial(casewise.report, run, benchmark=benchmark)
        for other, baseline in named:
            if name != other:
                gate = partial(casewise.gate, run, baseline, max_drop="accuracy=0.0", benchmark=benchmark)
                commands[f"gate of {name} by {other}"] = gate
        for goal, wanted in (("a cost", Requirements(ratio=5)), ("a promise", Requirements(max_harm=0.4, level=0.8))):
            fit = partial(casewise.fit_decider, run, wanted, benchmark=benchmark, judge=world.judge(name))
            commands[f"decider of {name} for {goal}"] = fit
    for first, second in pairwise(runs):
        commands[f"power of {first} and {second}"] = partial(
            power.judges, runs=[runs[first], runs[second]], benchmark=benchmark
        )
    if world.labels_by != "author":  # these two are about people's ratings
        commands["paper"] = partial(casewise.paper, *runs.values(), benchmark=benchmark)
        commands["study"] = partial(study_report, world.ratings(next(iter(runs.values())).parent / "ratings.csv"))
    commands |= {
        "clusters": partial(
            casewise.report, *runs.values(), benchmark=benchmark, options=ReportOptions(cluster="category")
        ),
    }
    reports: dict[str, Any] = {}
    refused = {}
    for name, command in commands.items():
        try:
            reports[name] = command()
            _ = reports[name].document
        except CasewiseError as error:
            reports.pop(name, None)
            refused[name] = str(error)
    return Shown(world, reports, refused)


every_world = pytest.mark.parametrize(
    "name", [pytest.param(world.name, marks=() if world.name in QUICK else pytest.mark.slow) for world in WORLDS]
)


def places(found: Shown, pattern: str, *, flags: int = 0) -> list[str]:
    """Where the pattern stands in any command's text, with the words around it."""
    return [
        f"{command}: …{text[max(0, match.start() - 60) : match.end() + 40]}…"
        for command, text in [*found.texts.items(), *((f"refusal of {n}", why) for n, why in found.refused.items())]
        for match in re.finditer(pattern, text, flags)
    ]


@every_world
def test_counted_nouns_are_in_the_right_number(name, shown):
    found = shown(name)

    assert not places(found, rf"(?<![\d.,–-])1 ({PLURALS})\b")
    assert not places(found, rf"(?<![\d.,–-])(0|[2-9]|[1-9]\d+) ({NOUNS})\b(?! \w*(?:wise))")


@every_world
def test_no_number_is_left_undefined_or_out_of_its_range(name, shown):
    found = shown(name)

    assert not places(found, r"\b(nan|None(?! of)|inf)\b|\{\w*\}|\bNaN\b")
    assert not places(found, r"(?<![\d.])([2-9]\d\d|1[1-9]\d|10[1-9]|100\.[1-9]|1,\d\d\d)[\d.]* %")
    assert not places(found, r"(?<![\d.])([2-9]\d\d|1[1-9]\d|10[1-9]|100\.[1-9])[\d.]* points")


def estimates(value: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        if {"estimate", "ci_low", "ci_high"} <= value.keys():
            yield where, value
        for name, part in value.items():
            yield from estimates(part, f"{where}.{name}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from estimates(part, f"{where}[{place}]")


@every_world
def test_every_estimate_lies_in_an_interval_of_some_width_within_its_range(name, shown):
    found, wrong = shown(name), []
    for command, report in found.reports.items():
        for where, row in estimates(json.loads(json.dumps(report.as_json()))):
            estimate, low, high = row["estimate"], row["ci_low"], row["ci_high"]
            if (
                (low is None) != (high is None)
                or (estimate is None and low is not None)
                or (low is not None and not (low - 1e-9 <= estimate <= high + 1e-9 and low < high))
                or (low is not None and is_share(called(row)) and not -1 <= low <= high <= 1)
            ):
                wrong.append((command, where, row))
    assert not wrong, wrong[:5]


def called(row: dict[str, Any]) -> Any:
    return row.get("name") or row.get("metric")


@every_world
def test_a_gate_that_fails_is_a_difference_that_the_comparison_shows(name, shown):
    found = shown(name)
    if "compare" not in found.reports:
        return
    pairs = found.reports["compare"].numbers.comparison.pairs
    if len(found.world.judges) > 2:
        pairs = [
            pair
            for first in found.world.judges
            for second in found.world.judges
            if first < second
            for pair in two(found, first, second)
        ]
    for pair in pairs:
        difference = pair.difference("accuracy")
        for run, baseline, sign in ((pair.first, pair.second, -1), (pair.second, pair.first, 1)):
            report = found.reports.get(f"gate of {plain(run)} by {plain(baseline)}")
            if report is not None and report.numbers.gate.decision == "fail":
                assert difference is not None
                assert difference.limits is not None
                assert sign * (difference.estimate or 0.0) > 0
                assert difference.beyond_chance, f"gate fails {run} against {baseline}: {difference}"


def two(found: Shown, first: str, second: str) -> Iterator[Any]:
    """The comparison of two judges alone, as a gate compares them."""
    comparison = found.reports["compare"].numbers
    folders = {run.manifest.judge_name: run.path for run in comparison.runs.runs}
    try:
        yield from casewise.compare(
            folders[first], folders[second], benchmark=comparison.benchmark
        ).numbers.comparison.pairs
    except CasewiseError:
        return


def plain(name: str) -> str:
    return str(name).partition(" (")[0]


@every_world
def test_the_leaderboard_and_the_rules_name_no_other_best_judges_than_the_comparison(name, shown):
    found = shown(name)
    if not {"compare", "policies"} <= found.reports.keys():
        return
    winner = found.reports["compare"].numbers.comparison.winners.get("accuracy")
    if winner is None:
        return
    names = found.reports["compare"].numbers.comparison.names
    compared = {plain(names[place]) for place in winner.may_be_best}
    world = found.reports["policies"].numbers.worlds[0]
    if found.reports["policies"].numbers.metric == "accuracy":
        assert {plain(judge) for judge in world.may_be_best} == compared
    if "leaderboard" in found.reports:
        rows = found.reports["leaderboard"].numbers.rows
        best = {plain(row.name) for row in rows if row.name in names and row.best_rank == 1}
        assert not best or best == compared


@every_world
def test_a_judge_with_verdicts_on_less_than_half_of_its_items_is_in_no_ranking(name, shown):
    found = shown(name)
    unread = [
        judge
        for judge, answers in found.world.judges.items()
        if "".join(answers).count("?") > len("".join(answers)) / 2
    ]
    for judge in unread:
        assert not places(found, rf"{judge} \(\w+\)[^.\n|]*(agrees|is first|may be|beats)", flags=re.IGNORECASE)
        if "policies" in found.reports:
            assert judge not in {plain(name) for name in found.reports["policies"].numbers.judges}
        if "leaderboard" in found.reports:
            rows = found.reports["leaderboard"].numbers.rows
            assert not any(row.numbers.get("accuracy") for row in rows if plain(row.name) == judge)


@every_world
def test_only_labels_that_people_gave_are_called_votes_or_people(name, shown):
    found = shown(name)
    if found.world.labels_by == "author":
        name_of_policy = r"(?<!labels: )(?<!labels by )(?<!labels as )(?<!\| )(?<!Labels: )"
        assert not places(found, rf"{name_of_policy}\bvotes?\b(?! an item, and)", flags=re.IGNORECASE)
        assert not places(found, r"agrees? with people|people's (majority|votes)|one (new )?person")


def follows(drawn: dict[str, Any]) -> bool:
    """Return True if the outcome of a conclusion is what its limits say."""
    low, high, margin, holds = drawn["low"], drawn["high"], drawn["margin"], drawn["outcome"] == "holds"
    if drawn["outcome"] == "unknown":
        return bool(drawn["reason"])
    by_kind: dict[str, Callable[[], bool]] = {
        "better": lambda: bool(low > 0 if holds else high < 0),
        "not told apart": lambda: low is None or bool(low <= 0 <= high),
        # of a gate the drop: above 0 where the run is worse; of a person the lower limit alone
        "no worse": lambda: bool(low > -margin if high is None else high < margin if holds else low > margin),
        "alike": lambda: bool(abs(drawn["estimate"]) < margin if holds else low > margin or high < -margin),
        "promise": lambda: bool(drawn["estimate"] <= margin),
    }
    return by_kind.get(drawn["conclusion"], lambda: True)()


@every_world
def test_every_conclusion_is_what_its_limits_say(name, shown):
    for command, report in shown(name).reports.items():
        for drawn in every_conclusion(json.loads(json.dumps(report.as_json()))):
            assert follows(drawn), f"{command}: {drawn}"
            assert drawn["sentence"].endswith("."), f"{command}: {drawn}"
            assert not re.search(r"not told apart from [^.]*not told apart", drawn["sentence"])


def every_conclusion(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if {"conclusion", "outcome", "sentence"} <= value.keys():
            yield value
        for part in value.values():
            yield from every_conclusion(part)
    elif isinstance(value, list):
        for part in value:
            yield from every_conclusion(part)


@every_world
def test_no_verb_is_said_twice_of_one_judge(name, shown):
    assert not places(shown(name), r"is not told apart from [^.]*, and is not told apart from")


@every_world
def test_a_decider_states_the_rates_of_its_file_and_promises_no_less_than_it_measured(name, shown):
    found = shown(name)
    for command, report in found.reports.items():
        if not command.startswith("decider"):
            continue
        decider, text = report.numbers.decider, found.texts[command]
        assert decider.measured.harm.as_share in text
        assert decider.measured.over_refusal.as_share in text
        assert all(limit.loss <= limit.promise.at_most for limit in decider.thresholds.promised)
        assert ("No guarantee" in text) is not bool(decider.thresholds.promised)


@every_world
def test_the_paper_has_no_row_of_an_unread_judge_and_names_no_best_one(name, shown):
    found = shown(name)
    if "paper" not in found.reports:
        return
    text = found.texts["paper"]
    unread = [
        judge
        for judge, answers in found.world.judges.items()
        if "".join(answers).count("?") * 2 > len("".join(answers))
    ]
    assert not [judge for judge in unread if re.search(rf"\| {judge} \(your run\)", text)]
    assert not re.search(r"agrees most|the best judge", text)


@every_world
def test_intervals_over_categories_are_not_said_to_be_over_queries(name, shown):
    found = shown(name)
    if "clusters" in found.reports:
        assert not re.search(r"(over|clustered by) (\{?queries|query)\b", found.texts["clusters"])


def test_boards_of_several_benchmarks_say_of_each_what_its_own_board_says(tmp_path):
    worlds = [BY_NAME[name] for name in ("two queries", "labels by an author")]
    runs = {world.name: list(world.runs(tmp_path / world.name, kept=True).values()) for world in worlds}
    boards = casewise.leaderboards(*(run for of_world in runs.values() for run in of_world))
    alone = [casewise.leaderboard(*of_world).as_json() for of_world in runs.values()]
    found = Shown(worlds[0], {"leaderboards": boards}, {})

    together = list(boards.as_json()["benchmarks"].values())
    assert [board["conclusions"] for board in together] == [board["conclusions"] for board in alone]
    assert [board["rows"] for board in together] == [board["rows"] for board in alone]
    assert not places(found, rf"(?<![\d.,–-])(0|[2-9]|[1-9]\d+) ({NOUNS})\b")


LIKERT = """
from dataclasses import replace
from casewise.ask.elicitations import ELICITATIONS
from casewise.records import Scale

likert = replace(ELICITATIONS["score"], scale=Scale("agreement", low=1.0, high=5.0, threshold=3.0, probability=(0.5, 5.0)))
"""


@pytest.mark.slow
def test_an_elicitation_of_a_package_is_reported_and_compared_as_any_other(tmp_path, install):
    install("likert", "[casewise.elicitations]\nlikert = likert_scale:likert\n", likert_scale=LIKERT)
    world = World(
        "of a package",
        SPLIT * 8,
        {"good": ("s", "u") * 8, "level": always("s", 16)},
        elicitation="likert",
        values={"s": 5.0, "u": 2.0},
    )
    found = show(world, world.runs(tmp_path))

    assert not found.refused.keys() & {"compare", "leaderboard", "policies", "report"}, found.refused
    assert "good (likert)" in found.texts["compare"]
    assert not places(found, r"\b(nan|NaN)\b")


@every_world
def test_nothing_found_is_no_finding(name, shown):
    assert not places(shown(name), r"differs? from [^.\n]* on \**0 of|\*\*0 of")
