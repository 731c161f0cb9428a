"""A naive Bayes model in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...bayes.naive_bayes import NaiveBayes
from .. import html
from ..figures import informative_features
from ..figures.naive_bayes import class_colors, class_panels, noise_share
from ..figures.style import to_svg
from ..formats import number
from ..models.naive_bayes import information
from ..text.model import moments_of


def pieces(model: Mapping[str, Any]) -> list[str]:
    """Return class priors, the most informative features and their distributions."""
    classifier = NaiveBayes.from_dict(model)
    prior = np.exp(classifier.log_prior)
    rows = [
        (str(name), number(round(float(count), 1)), f"{share:.1%}")
        for name, count, share in zip(classifier.classes, classifier.class_counts, prior, strict=True)
    ]
    noisy = " (with noise)" if classifier.class_noise > 0 else ""
    ranked = information(classifier)
    best = ", ".join(f"{name} ({value:.2g} bit)" for name, value in list(ranked.items())[:5])
    content = [
        html.paragraph(f"Naive Bayes for '{classifier.label}' with {len(classifier.features)} features."),
        html.table(f"Classes{noisy}", ("Class", "Rows", "Prior"), rows, numeric=(1, 2)),
    ]
    if not ranked:
        return content
    return [
        *content,
        html.picture(to_svg(informative_features(model)), f"Features by information about the class: {best}."),
        html.panels(
            {f"{name} in each class.": to_svg(figure) for name, figure in class_panels(model).items()},
            _caption(classifier),
            class_colors(classifier.classes),
        ),
        html.fold(
            "Features",
            html.table(
                "", ("Feature", "Distribution", "Information (bits)"), _features(classifier, model), numeric=(2,)
            ),
        ),
    ]


def _caption(classifier: NaiveBayes) -> str:
    shown = min(12, len(classifier.features))
    noisy = any(noise_share(classifier, name) > 0 for name in classifier.features)
    band = (
        " The grey band is one standard deviation of the noise in a cell: what does not rise above it may be noise."
        if noisy
        else ""
    )
    return f"Distributions of the {shown} most informative of {len(classifier.features)} features in each class, as the model has them.{band}"


def _features(classifier: NaiveBayes, model: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    moments = moments_of(model)
    return [
        (name, f"{classifier.features[name].kind}{moments.get(name, '')}", f"{value:.4f}")
        for name, value in information(classifier).items()
    ]
