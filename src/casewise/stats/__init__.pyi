from .conditions.contrast import ClusteredContrast, Difference, Equivalence, clustered_contrast, equivalence
from .conditions.kruskal import KruskalWallis, kruskal_wallis
from .conditions.post_hoc import PairwiseTests, dunn, pairwise_proportions
from .conditions.proportions import TwoProportionZ, newcombe, two_proportion_z
from .core.clustered import ClusteredRegression, clustered_mean, clustered_regression
from .core.multiplicity import adjust, benjamini_hochberg, benjamini_yekutieli, bonferroni, holm
from .core.share_intervals import Interval, clopper_pearson, korn_graubard, wilson
from .people.agreement import Agreement, FleissKappa, agreement_of_votes, fleiss_kappa, krippendorff_alpha
from .people.alternative_annotator import AlternativeAnnotator, alternative_annotator_test
from .people.ceiling import Ceilings, ceilings
from .people.crowd import CrowdDesign, CrowdModel, CrowdRatings, simulate_ratings
from .people.oracle import OracleAccuracy, oracle_accuracy
from .people.panel import PanelCurve, PanelWorth, panel_curve, panel_worth
from .people.vote_reliability import Reliability, reliability, spearman_brown
from .power.anova import AnovaPower, anova_detectable_effect, anova_power, anova_sample_size
from .power.chi_square import (
    ChiSquarePower,
    chi_square_detectable_effect,
    chi_square_sample_size,
    chi_square_test_power,
)
from .power.kruskal import KruskalPower, kruskal_power, kruskal_sample_size
from .power.proportions import (
    ProportionsPower,
    cohen_h,
    proportions_detectable_effect,
    proportions_power,
    proportions_sample_size,
)

__all__ = [
    "Agreement",
    "AlternativeAnnotator",
    "AnovaPower",
    "Ceilings",
    "ChiSquarePower",
    "ClusteredContrast",
    "ClusteredRegression",
    "CrowdDesign",
    "CrowdModel",
    "CrowdRatings",
    "Difference",
    "Equivalence",
    "FleissKappa",
    "Interval",
    "KruskalPower",
    "KruskalWallis",
    "OracleAccuracy",
    "PairwiseTests",
    "PanelCurve",
    "PanelWorth",
    "ProportionsPower",
    "Reliability",
    "TwoProportionZ",
    "adjust",
    "agreement_of_votes",
    "alternative_annotator_test",
    "anova_detectable_effect",
    "anova_power",
    "anova_sample_size",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bonferroni",
    "ceilings",
    "chi_square_detectable_effect",
    "chi_square_sample_size",
    "chi_square_test_power",
    "clopper_pearson",
    "clustered_contrast",
    "clustered_mean",
    "clustered_regression",
    "cohen_h",
    "dunn",
    "equivalence",
    "fleiss_kappa",
    "holm",
    "korn_graubard",
    "krippendorff_alpha",
    "kruskal_power",
    "kruskal_sample_size",
    "kruskal_wallis",
    "newcombe",
    "oracle_accuracy",
    "pairwise_proportions",
    "panel_curve",
    "panel_worth",
    "proportions_detectable_effect",
    "proportions_power",
    "proportions_sample_size",
    "reliability",
    "simulate_ratings",
    "spearman_brown",
    "two_proportion_z",
    "wilson",
]
