"""Models that answer a prompt: the protocol, clients for remote and local models, and a fake."""
