"""The ways to run a user's script so that nothing outside the run's folder changes."""
