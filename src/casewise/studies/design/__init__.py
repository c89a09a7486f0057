"""What a study is: its design, material, wording, price and assignment, and the frozen whole."""
