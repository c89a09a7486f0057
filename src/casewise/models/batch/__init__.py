"""Providers' batch interfaces: many requests handed over at once, answered within a day, at about half the price."""
