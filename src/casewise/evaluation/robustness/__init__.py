"""What attacks do to a judge's verdicts, from a run with arms of attacks and defences."""
