"""Charts, in one style, drawn to SVG."""
