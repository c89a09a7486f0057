"""Charts, before anything else is loaded."""

from casewise.reporting.charts.apart import draw_apart

__all__ = ["draw_apart"]
