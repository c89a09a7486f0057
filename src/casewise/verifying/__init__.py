"""What a source outside says of what a context claims: supported, contradicted, not stated, expired."""
