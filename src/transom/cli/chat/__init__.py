"""The command `transom chat`: a chat at the terminal, with any provider."""
