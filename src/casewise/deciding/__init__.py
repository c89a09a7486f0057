"""A judge with fitted thresholds, ready to deploy: fitted on a run, kept in one file, asked one request at a time."""
