"""The release: its numbers as published, recomputed, and the paper's tables beside ours."""
