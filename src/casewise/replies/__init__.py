"""What a chatbot does: its replies to a benchmark's queries in context, collected; and graded, apart from that."""
