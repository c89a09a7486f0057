"""How far words alone go, and which texts are nearly the same."""
