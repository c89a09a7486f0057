"""A decider as a service: JSON in and out, in its own form and in that of a moderation endpoint."""
