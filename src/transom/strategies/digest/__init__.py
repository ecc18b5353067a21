"""The covering digest: which passages of old turns are quoted, and the index that the choice needs."""
