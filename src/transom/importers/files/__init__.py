"""Opens files: packed, in archives, from a stream."""
