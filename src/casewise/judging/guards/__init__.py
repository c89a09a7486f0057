"""Guards: models made to judge safety, each with a profile that says how it is asked and how it is read."""
