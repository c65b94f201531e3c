"""Training as a child of this process."""
