"""Reads a training script and predicts its trace; the only code that knows ``ast``."""
