"""How many people, ratings or queries a question takes."""
