"""People beside people: agreement, reliability, ceilings, panels, single annotators, a simulated crowd."""
