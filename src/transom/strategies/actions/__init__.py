"""What calls do and how they end: each call and each result is read once, into an `Action` and an `Outcome`."""
