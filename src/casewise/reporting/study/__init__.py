"""The report of a human study, and answers to questions of power."""
