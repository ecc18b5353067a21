"""How well a window reads: a yardstick of `policies.py`."""
