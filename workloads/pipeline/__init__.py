"""Pipelines: stages over versioned data, as a WorkflowTemplate of Argo, of which each run is a Workflow."""
