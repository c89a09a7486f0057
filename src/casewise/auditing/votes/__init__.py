"""What the votes themselves give away."""
