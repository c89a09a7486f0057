"""The replies of a chatbot to a benchmark's queries in context: collecting them and, apart from that, grading them."""
