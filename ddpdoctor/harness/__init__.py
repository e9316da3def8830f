"""Runs the user's script in contained children and observes it."""
