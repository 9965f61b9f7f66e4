"""Pictures and tables."""
