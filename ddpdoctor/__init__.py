"""Diagnostics and linting for PyTorch DistributedDataParallel training."""

__version__ = "0.1.0"
