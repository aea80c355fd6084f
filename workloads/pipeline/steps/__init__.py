"""What a pipeline's stages do besides their programs: an agent plans parts, keeps results, commits versions."""
