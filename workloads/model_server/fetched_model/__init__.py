"""Models that each server pod fetches before it starts."""
