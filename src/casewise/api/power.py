"""Numbers of annotators or queries, and the effects that they can find: conditions, safe rates, two judges."""

from __future__ import annotations

from casewise.reports.power import AssumedJudges, KruskalQuestion, People, PlannedStudy, PowerAnswer, pilot_ratings
from casewise.reports.power import anova_answer as anova
from casewise.reports.power import chi_square_answer as chi_square
from casewise.reports.power import judges_answer as judges
from casewise.reports.power import kruskal_answer as kruskal
from casewise.reports.power import labels_answer as labels
from casewise.reports.power import people_answer as people
from casewise.reports.power import pilot_answer as study
from casewise.reports.power import proportions_answer as proportions

__all__ = [
    "AssumedJudges",
    "KruskalQuestion",
    "People",
    "PlannedStudy",
    "PowerAnswer",
    "anova",
    "chi_square",
    "judges",
    "kruskal",
    "labels",
    "people",
    "pilot_ratings",
    "proportions",
    "study",
]
