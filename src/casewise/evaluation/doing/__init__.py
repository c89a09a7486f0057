"""What chatbots do, beside what people find right and beside what they say."""
