"""Contexts written by a model."""
