"""What DDP does with a model: gradient and bucket strides, BatchNorm. Imports torch."""
