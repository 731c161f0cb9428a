"""What the researcher gets: the model, how learning went, what is promised, and who learns what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbayes.federation import Federation, results

from .learning import Fit
from .messages import Shape
from .settings import Settings
from .training import Training


def fitted(
    federation: Federation,
    training: Training,
    learned: Fit,
    left: Mapping[str, Any],
    personalized: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the result of `fit`; `left` is what was left to the plan, `personalized` the scores after local improvement."""
    diagnostics = {
        "converged": learned.converged,
        "steps": training.step,
        "objective": learned.objective,
        "parameters": training.layout.parameters,
        **({"left_to_the_plan": dict(left)} if left else {}),
        **({} if personalized is None else {"personalized": dict(personalized)}),
    }
    statement = privacy(training.settings, training.shape)
    return federation.result(training.model(learned).to_dict(), statement, diagnostics)


def privacy(settings: Settings, shape: Shape) -> dict[str, Any]:
    """Return the privacy statement of a fit."""
    private = settings.step_noise.private
    step = "improved weights" if settings.averaging else "gradient" if private else "loss and gradient"
    noisy = "noisy " if private else ""
    reveals = {
        "central": f"the {noisy}sum over all stations of every step's {step}"
        + ("" if shape.tables == "local" else f", and the {noisy}tables over all stations"),
        "stations": "the weights of every step" + ("" if shape.tables == "local" else ", and the tables"),
        "researcher": "the model",
    }
    if not private:
        return results.not_private(
            "the weights are functions of the data, and the tables are exact; give epsilon for noise", reveals
        )
    noise, whole_station = settings.step_noise, shape.tables == "local"
    return results.privacy(
        True,
        unit="party" if whole_station else settings.asked.whom.name,
        neighbors=noise.neighbors,
        epsilon=noise.epsilon,
        delta=noise.delta,
        mechanism="discrete Gaussian in shares inside the secure sum",
        composition=f"Gaussian: the square of mu, the largest that epsilon and delta allow, over {settings.asked.steps} steps"
        + ("" if whole_station else ", which have half of it, and the tables, which have the other half"),
        sensitivity=f"a {'row' if not settings.averaging else 'station'}'s contribution is cut at {settings.cut:g} (L2)"
        + ("; a row changes it by at most twice that" if settings.averaging and not whole_station else "")
        + noise.replaced
        + settings.asked.whom.statement,
        reveals=reveals,
    )
