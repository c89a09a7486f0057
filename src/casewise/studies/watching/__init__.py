"""A round watched while it runs: pace, money, alerts, flags, people, and what is done by itself."""
