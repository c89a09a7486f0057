"""What a judge is asked, and what its reply comes to."""
