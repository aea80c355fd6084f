"""The agent of a pipeline's stages: what plans their parts, keeps the results of jobs, and commits versions."""
