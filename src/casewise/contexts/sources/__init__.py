"""What a deployer has at hand, as parameters of a context: each source a function from a file to rows, its place named."""
