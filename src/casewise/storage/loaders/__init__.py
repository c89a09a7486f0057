"""Public benchmarks by name: a loader each, where their files come from, and exports of annotation tools."""
