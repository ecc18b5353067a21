"""`transom chat`: a chat at the terminal, over any provider."""
