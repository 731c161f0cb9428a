"""The rounds that stations answer, beside those of every image."""

from fedbayes.federation.vertical.remote import partial_match, partial_submit

from .horizontal.judging.partials import partial_hazard, partial_measures, partial_predictors, partial_table
from .horizontal.partials import partial_risk, partial_scores, partial_squares, partial_tally, partial_weigh
from .horizontal.private.partials import partial_outline, partial_slope
from .noisy.partials import partial_arrange, partial_factors, partial_products, partial_survey
from .stations.assessing import partial_assess
from .stations.clusters import partial_group
from .stations.consensus import partial_admm, partial_auxiliary
from .stations.folds import partial_draw, partial_folds, partial_held_out, partial_judge, partial_split
from .stations.private import partial_enter, partial_finish, partial_permute, partial_stage
from .stations.scoring import partial_locate, partial_score
from .stations.seen import partial_predict, partial_residuals
from .stations.setup import partial_prepare

__all__ = [
    "partial_admm",
    "partial_arrange",
    "partial_assess",
    "partial_auxiliary",
    "partial_draw",
    "partial_enter",
    "partial_factors",
    "partial_finish",
    "partial_folds",
    "partial_group",
    "partial_hazard",
    "partial_held_out",
    "partial_judge",
    "partial_locate",
    "partial_match",
    "partial_measures",
    "partial_outline",
    "partial_permute",
    "partial_predict",
    "partial_predictors",
    "partial_prepare",
    "partial_products",
    "partial_residuals",
    "partial_risk",
    "partial_score",
    "partial_scores",
    "partial_slope",
    "partial_split",
    "partial_squares",
    "partial_stage",
    "partial_submit",
    "partial_survey",
    "partial_table",
    "partial_tally",
    "partial_weigh",
]
