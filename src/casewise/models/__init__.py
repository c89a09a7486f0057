"""What answers a prompt: the protocol, clients for remote and local models, and a fake."""
