"""Models run on this machine."""
