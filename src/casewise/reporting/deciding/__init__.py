"""Pages of deciders: one that was fitted, and judges beside each other for who must choose."""
