"""How many annotators or queries, and what so many can find: conditions, safe rates, two judges."""

from __future__ import annotations

from casewise.reporting.study.judges_answer import AssumedJudges
from casewise.reporting.study.judges_answer import judges_answer as judges
from casewise.reporting.study.judges_answer import labels_answer as labels
from casewise.reporting.study.pilot_answer import PlannedStudy
from casewise.reporting.study.pilot_answer import pilot_answer as study
from casewise.reporting.study.power_answers import KruskalQuestion, PowerAnswer
from casewise.reporting.study.power_answers import anova_answer as anova
from casewise.reporting.study.power_answers import chi_square_answer as chi_square
from casewise.reporting.study.power_answers import kruskal_answer as kruskal
from casewise.reporting.study.power_answers import proportions_answer as proportions

__all__ = [
    "AssumedJudges",
    "KruskalQuestion",
    "PlannedStudy",
    "PowerAnswer",
    "anova",
    "chi_square",
    "judges",
    "kruskal",
    "labels",
    "proportions",
    "study",
]
