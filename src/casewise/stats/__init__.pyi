from .agreement import Agreement, Reliability, agreement_of_votes, reliability
from .ceilings import AlternativeAnnotator, Ceilings, alternative_annotator_test, ceilings
from .contrasts import (
    ClusteredContrast,
    Difference,
    TwoProportionZ,
    clustered_contrast,
    equivalence,
    newcombe,
    two_proportion_z,
)
from .intervals import adjust
from .kruskal import KruskalWallis, PairwiseTests, dunn, kruskal_wallis, pairwise_proportions
from .panel import PanelCurve, PanelWorth, panel_curve, panel_worth
from .power import (
    AnovaPower,
    KruskalPower,
    ProportionsPower,
    anova_power,
    cohen_h,
    kruskal_power,
    proportions_power,
)
from .ratings import CrowdDesign, CrowdModel, CrowdRatings, simulate_ratings
from .shares import Interval, clopper_pearson, korn_graubard, wilson

__all__ = [
    "Agreement",
    "AlternativeAnnotator",
    "AnovaPower",
    "Ceilings",
    "ClusteredContrast",
    "CrowdDesign",
    "CrowdModel",
    "CrowdRatings",
    "Difference",
    "Interval",
    "KruskalPower",
    "KruskalWallis",
    "PairwiseTests",
    "PanelCurve",
    "PanelWorth",
    "ProportionsPower",
    "Reliability",
    "TwoProportionZ",
    "adjust",
    "agreement_of_votes",
    "alternative_annotator_test",
    "anova_power",
    "ceilings",
    "clopper_pearson",
    "clustered_contrast",
    "cohen_h",
    "dunn",
    "equivalence",
    "korn_graubard",
    "kruskal_power",
    "kruskal_wallis",
    "newcombe",
    "pairwise_proportions",
    "panel_curve",
    "panel_worth",
    "proportions_power",
    "reliability",
    "simulate_ratings",
    "two_proportion_z",
    "wilson",
]
