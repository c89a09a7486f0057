"""What a document is written as: HTML, Markdown, LaTeX, the terminal, files."""
