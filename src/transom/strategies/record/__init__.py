"""Records of folded turns: what they say and quote, and the index from which that is chosen."""
