"""From a judge's values to decisions: calibrators, promises that hold on new queries, and what decisions cost."""
