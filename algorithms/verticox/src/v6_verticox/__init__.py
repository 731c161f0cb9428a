"""Cox regression on vertically split records: the remote functions."""

from fedbayes.federation import (
    describe,
    disclosure_settings,
    partial_close,
    partial_describe,
    partial_open_channel,
    preflight,
)
from fedbayes.federation.vertical import partial_match, partial_submit

from .admm_rounds import partial_admm, partial_auxiliary
from .apply import baseline, evaluate, predict
from .central import fit
from .folds import partial_draw, partial_folds, partial_held_out, partial_judge, partial_split
from .partial import partial_enter, partial_finish, partial_permute, partial_prepare, partial_stage
from .scoring import partial_assess, partial_locate, partial_score
from .seen_predictor import partial_predict, partial_residuals

__all__ = [
    "baseline",
    "describe",
    "disclosure_settings",
    "evaluate",
    "fit",
    "partial_admm",
    "partial_assess",
    "partial_auxiliary",
    "partial_close",
    "partial_describe",
    "partial_draw",
    "partial_enter",
    "partial_finish",
    "partial_folds",
    "partial_held_out",
    "partial_judge",
    "partial_locate",
    "partial_match",
    "partial_open_channel",
    "partial_permute",
    "partial_predict",
    "partial_prepare",
    "partial_residuals",
    "partial_score",
    "partial_split",
    "partial_stage",
    "partial_submit",
    "predict",
    "preflight",
]
