"""What is still recalled after a delay, and repairs."""
