"""What the maintainers run by hand."""
