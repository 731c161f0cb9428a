"""What one station does in a private fit: add up its records, add its share of the noise, mask."""

from __future__ import annotations

from fedbayes.federation import Station, partial
from fedbayes.federation.horizontal import SumReply, pay_part

from . import records
from .layout import Layout, Whole, outline_layout, slope_layout
from .messages import Asked, OutlineRequest, SlopeRequest


@partial
def partial_outline(station: Station, request: OutlineRequest) -> SumReply:
    """Add up events and time at risk by cell of the grid, columns and squares, with this station's share of the noise.

    **Reveals** to central these sums over all stations, with noise. **Assumes** that at least two stations do not collude with central, and that the honest
    fraction of the stations adds its share.
    """
    asked = request.asked
    station.require_private(asked.noise.promises)
    sums = records.outline(asked.question, records.read(station, asked))
    return _noisy(station, asked, outline_layout(asked.question), sums, "outline")


@partial
def partial_slope(station: Station, request: SlopeRequest) -> SumReply:
    """Add up slopes, missed events and squares at a point, with this station's share of the noise.

    **Reveals** to central these sums over all stations, with noise. **Assumes** that at least two stations do not collude with central, and that the honest
    fraction of the stations adds its share.
    """
    asked = request.asked
    station.require_private(asked.noise.promises)
    sums = records.slope(request, records.read(station, asked))
    return _noisy(station, asked, slope_layout(request), sums, f"slope-{request.step}")


def _noisy(station: Station, asked: Asked, layout: Layout, vector: Whole, name: str) -> SumReply:
    """Charge the fit's budget once in the job, refuse a portion that is spent, add this station's noise, and mask."""
    noise, change, parts = asked.noise, layout.change(asked.noise), 1.0 / layout.portion
    receipt = pay_part(station, noise, parts, change, "a Cox model", name)
    share = noise.shares(layout.length, parts, change, len(station.participants))
    return SumReply(station.mask(station.released(vector + share, receipt)))
