"""Every sentence of a page that claims a finding, and the condition under which it is printed."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import casewise
from casewise.audits import kinds
from casewise.evaluate.conclusions import AGREES, compared
from casewise.evaluate.yardsticks import better_baseline
from casewise.stats.comparison import Gate, GatedMetric, MetricGate
from casewise.stats.estimates import Estimate
from casewise.stats.study_tables import AnalysisOptions
from casewise.studies.report import contrast_sentence

CLAIM = re.compile(
    r"more often|less often|as often as|told apart|[Tt]old apart|do not tell|Too few items to decide|^Undecided|beats|weakest|errs by|not worse|"
    r"is worse|no worse|turns the most|turns a verdict|may be first|outranked|is first on|agrees most|keeps to|lower limit is above|"
    r"^not shown|docs/| more under |difference is smaller than|differ by less than| is not shown: |cannot be compared: too|"
    r"the same decision|the decision changes|shown to be below|shown to differ|differ from those|differed between|differ at 0|"
    r"No verdict changed|would not help|Words alone solve|Words alone do not help|words alone help|the two agree|at most the bound|right more often|turns the most|do not tell which|the highest accuracy of"
)

CLAIMS = {
    ("actions", "not told apart"): "no difference from the right context lies above 0 (Newcombe, corrected for all actions), and Wilson's interval over all four contexts holds a half",
    ("actions", "An action depends on the recipient if fewer people allow it when only the recipient is wrong, and in the same way on the purpose. The 95 % interval of that difference, corrected for all actions, excludes zero. “Not told apart”: more votes are needed to decide."): "states the condition of the column beside it",
    ("words", "Words alone solve this benchmark: a classifier of {reads}, tested on whole {held_out} that it did not learn from, gives the label on {right} of items, where a constant verdict does on {constant}. A high agreement here does not show that a judge weighs the case."): "the whole interval of the words' accuracy is above 90 %, and they beat the constant verdict",
    ("comparison", "Too few items to decide."): "gate: a conclusion on a metric is unknown",
    ("comparison", "It beats {beaten}."): "a judge is named as the best; the interval of each, corrected for all pairs, lies above 0",
    ("comparison", "Under every attack the upper limit is at most the bound."): "each bound's largest upper limit is at most the bound",
    ("comparison", "Under at least one attack the lower limit is above the bound."): "a lower limit is above a bound",
    ("comparison", "Undecided: an upper limit is above a bound, and no lower limit is."): "neither",
    ("comparison", "If the judge errs by chance, more answers to each item help as well: casewise attack with a higher --repeats."): "gate of attacks: a bound is undecided",
    ("judge", "On every item with a label and a verdict, the two agree."): "an item has a verdict and a label that is no tie, and no verdict differs from its label",
    ("judge_parts", " more often than the best baseline."): "of each judge named, the interval of its accuracy less its best baseline's lies above 0; of none that is not",
    ("judge_parts", "no worse"): "the one-sided test of the margin rejects",
    ("judge_parts", "not shown"): "it does not",
    ("leaderboard", " is first on each "): "the rank interval of one judge alone is [1, 1] on every benchmark",
    ("leaderboard", " may be first on each "): "a rank interval begins at 1 on every benchmark, and none is [1, 1] on all",
    ("leaderboard", "Each judge was outranked, or not asked, on at least one "): "no judge's rank interval begins at 1 on every benchmark",
    ("decider", "If you compared several judges on these {queries} and took the best, fit again with --chosen-from N: without it, the promise fails more often than stated."): "a promise was fitted for one judge alone (--chosen-from 1)",
    ("behaviour", "the two are not told apart"): "0 is on or between the limits of the difference of agreement",
    ("behaviour", " are right more often"): "the interval of this difference lies above 0 (verdicts) or below it (replies)",
    ("robustness", "Of {among:,} attacks and defences that argue for {towards}, {attack} turns the most verdicts: {share} of the {n:item} labelled {opposite} that the judge has right without the attack.{perturbed}"): "the largest share turned, with its interval corrected for the choice",
    ("robustness", "No verdict changed in any arm"): "no arm of the run has an item whose verdict differs from that without the attack",
    ("judge", "No category is shown to be below the others, after correction for the number of categories."): "Holm's p over all categories is above .05 in each",
    ("power", "More ratings of these items would not help: where the judges differ, people's verdict is clear."): "no item on which the judges differ has a label that may turn with twice as many people",
    ("published", " differ at 0.0125, on the two conditions that were released."): "the number of queries whose p is at most 0.0125",
    ("report_parts", "Each of {n:query} was tested by the Kruskal-Wallis test with permutation p values ({method}); {testable:,} were testable, and {significant:,} differed between conditions after Benjamini-Hochberg correction at {alpha:g}. Pairs of conditions were compared by Dunn's test."): "the number of queries whose corrected p is at most the level",
    ("report_parts", "No group is shown to differ from the others at "): "every corrected p of a group is above the level",
    ("report_parts", ", none is shown to differ; "): "groups besides those that differ, whose corrected p is above the level",
    ("robustness", ", none turns a verdict."): "no item turned",
    ("report_parts", "not shown to differ"): "a group of annotators was compared, and its corrected p is above the level",
    ("report", "not shown"): "the corrected p of a contrast, or of its equivalence, is above the level",
    ("report", ", and the difference is smaller than "): "and so is the corrected p of its equivalence",
    ("report", "every contrast has the same decision."): "no contrast differs at the level only with, or only without, what was left out",
    ("report", "the decision changes for "): "one does",
}  # fmt: skip

DECIDER = {
    "Both hold together with ": "two promises, and a level that they share",
    "No guarantee. This threshold minimises expected cost.": "no promise was fitted",
    " is not promised. It is": "one of harm and over-refusal was promised, the other was not",
    "It never answers: ": "the threshold is above every value",
    "It answers every request to which the judge gives a value.": "the threshold is below every value",
    "Nothing is promised about other traffic: ": "always",
    "Nothing is promised for a single request, category or user: ": "always",
    "Deploy ": "the best judge carries its promises, and the interval of what it saves lies above 0 for each alternative without a judge",
    "It costs less than ": "the same",
    "good enough": "of each judge the interval of what it saves lies below 0 for some alternative without a judge",
    "shown to be good enough yet": "neither",
    " promise what you asked for yet.": "no judge carries the promises on these queries",
    " is a constant: it gives every item the same value.": "the values that it gives are one value",
    "No decider can be made of ": "a judge was left out",
    " would show a difference of this size.": "the saving is above 0 and its interval holds 0",
    "{promise} is out of reach: the observed rate is {rate}, ": "the error's held-out rate is not below the limit",
    ", if the rate stays at {rate} as in the {n:query} at hand.": "so many carry the promise at the held-out rate, and these queries do not",
    " may be within reach: the rate is ": "these queries are as many as carry the promise at the held-out rate",
    "On held-out {queries} no item was answered or refused against its label.": "no decision was",
    "Traffic differs from the benchmark in ": "Holm's p over all tests is below .05",
    "No difference from the benchmark is shown (": "it is not, and there were tests",
    "Too little traffic to compare with the benchmark: ": "fewer requests than are tested",
}
"""What the pages of a decider and of its traffic say, and when."""

NO_CLAIM = re.compile(
    r"All judges are measured|Each person in turn|Each rank is an interval|So often would|Who is right|answers err more often"
    r"|A judge equals the panel|Each share is what exceeds|A promise is of a random query|People said what replies do|Each row is paired|the attack that turns the most verdicts of each category"
)
"""What explains how a table is read, or how a run is asked."""


def claims():
    for files in ("evaluate/*.py", "audits/*.py", "deciding/*.py", "reports/*.py", "studies/report*.py"):
        for path in Path(casewise.__file__).parent.glob(files):
            tree = ast.parse(path.read_text("utf-8"))
            docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                text = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
                own = path.stem == "conclusions"  # their conditions stand in `conditions.toml`
                if isinstance(text, str) and CLAIM.search(text) and not own:
                    yield path.stem, text


@pytest.mark.slow
def test_every_sentence_that_claims_a_finding_is_listed_with_its_condition():
    written = {(module, text) for module, text in claims() if not NO_CLAIM.search(text)}

    assert written == set(CLAIMS)


def test_every_finding_of_an_audit_has_a_condition_and_is_made_somewhere():
    sources = "".join(path.read_text("utf-8") for path in (Path(casewise.__file__).parent / "audits").glob("*.py"))

    assert [code for code, kind in kinds().items() if len(kind.condition) < 10 or f'"{code}"' not in sources] == []


def test_the_sentences_of_a_decider_stand_in_its_page_s_source():
    source = Path(casewise.__file__).parent.joinpath("reports", "decider.py").read_text("utf-8")

    assert [said for said in DECIDER if said not in source] == []


WORDS = "a classifier of the context's words (70.0 %), trained on these labels with whole queries held out"


def estimate(value, low=None, high=None, name="accuracy"):
    return Estimate(name, value, low, high, 90.0, 0, "made up")


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [
        (0.02, 0.05, "inconclusive"),
        (0.0201, 0.05, "fail"),
        (-0.01, 0.02, "inconclusive"),
        (-0.01, 0.0199, "pass"),
    ],
)
def test_a_gate_decides_only_where_a_bound_is_beyond_the_margin(low, high, decision):
    metric = MetricGate(GatedMetric("accuracy"), 0.9, 0.88, 0.02, low, high, 0.02, 0.03, 90, "made up")

    assert Gate((metric,), 90, 45).decision == decision


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (0.001, 0.2, "more often than"),
        (0.0, 0.2, "not told apart from"),
        (-0.2, 0.0, "not told apart from"),
        (-0.2, -0.001, "less often than"),
        (None, None, "cannot be compared with"),
    ],
)
@pytest.mark.parametrize(("constant", "baseline"), [(0.6, WORDS), (0.75, "a constant verdict (75.0 %)")])
def test_a_judge_is_above_or_below_the_better_baseline_only_where_the_interval_says_so(
    low, high, says, constant, baseline
):
    ahead = estimate(0.1, low, high)
    beside: Any = SimpleNamespace(
        words={"accuracy": estimate(0.7)},
        words_read="the context's words",
        words_held_out="queries",
        of_some="",
        constant=constant,
        ahead_of_words=ahead if constant < 0.7 else estimate(0.1, 0.001, 0.2),
        ahead_of_constant=ahead if constant > 0.7 else estimate(0.2, 0.001, 0.3),
        words_ahead_of_constant=estimate(0.7 - constant, 0.7 - constant - 0.04, 0.7 - constant + 0.04),
        key=None,
        ahead_of_key=None,
    )
    found = better_baseline(beside)

    assert f"{says} {baseline}" in compared("J", found.name, found.ahead, words=AGREES).sentence
    assert (found.about_words is None) == (constant < 0.7)


def contrast(estimate, low, high, *, differs, equivalent):
    return {
        "first": "no_context",
        "second": "safe_revised",
        "n1": 20,
        "n2": 20,
        "differs": differs,
        "equivalent": equivalent,
        "like_estimate": estimate,
        "like_ci_low": low,
        "like_ci_high": high,
        "recommended_p_corrected": 0.012 if differs else 0.12,
        "equivalent_p_corrected": 0.034 if equivalent else 0.34,
    }


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (contrast(0.5, 0.39, 0.61, differs=True, equivalent=False), "People allow 50.0 points [39.0, 61.0] more under no context than under safe revised (planned; p = 0.0120, corrected by Holm over 4 contrasts)."),
        (contrast(-0.5, -0.61, -0.39, differs=True, equivalent=False), "People allow 50.0 points [39.0, 61.0] more under safe revised than under no context (planned; p = 0.0120, corrected by Holm over 4 contrasts)."),
        (contrast(0.02, 0.01, 0.03, differs=True, equivalent=True), "People allow 2.0 points [1.0, 3.0] more under no context than under safe revised, and the difference is smaller than 5 points (planned; p = 0.0120, corrected by Holm over 4 contrasts)."),
        (contrast(0.0, -0.01, 0.01, differs=False, equivalent=True), "No context and safe revised differ by less than 5 points: 0.0 points [-1.0, 1.0] (planned; p = 0.0340, corrected by Holm over 4 contrasts)."),
        (contrast(0.05, 0.0, 0.1, differs=False, equivalent=False), "A difference between no context and safe revised is not shown: 5.0 points [0.0, 10.0] (planned; p = 0.1200, corrected by Holm over 4 contrasts)."),
        (contrast(None, None, None, differs=None, equivalent=None), "No context is not compared with safe revised: too few queries or people."),
    ],
)  # fmt: skip
def test_a_contrast_is_said_by_its_corrected_tests_and_not_by_its_interval(row, sentence):
    assert contrast_sentence(row, AnalysisOptions(), n_contrasts=4, planned="planned") == sentence
