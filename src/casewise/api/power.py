"""How many annotators, and what so many can find: analysis of variance, two safe rates, chi-square, Kruskal-Wallis."""

from __future__ import annotations

from casewise.reporting.study.power_answers import KruskalQuestion, PowerAnswer
from casewise.reporting.study.power_answers import anova_answer as anova
from casewise.reporting.study.power_answers import chi_square_answer as chi_square
from casewise.reporting.study.power_answers import kruskal_answer as kruskal
from casewise.reporting.study.power_answers import proportions_answer as proportions

__all__ = ["KruskalQuestion", "PowerAnswer", "anova", "chi_square", "kruskal", "proportions"]
