"""Turns a report into text, one file a format."""
