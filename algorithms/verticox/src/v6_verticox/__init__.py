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

from .central import fit
from .partial import (
    partial_admm,
    partial_assess,
    partial_auxiliary,
    partial_draw,
    partial_enter,
    partial_finish,
    partial_folds,
    partial_held_out,
    partial_judge,
    partial_locate,
    partial_permute,
    partial_predict,
    partial_prepare,
    partial_residuals,
    partial_score,
    partial_split,
    partial_stage,
)
from .use.apply import baseline, evaluate, predict

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
