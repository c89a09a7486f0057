"""Benchmarks and runs in other people's formats. Everything is written here, and nothing is uploaded."""
