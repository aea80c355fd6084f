"""Starts runs of one pipeline when its datasets have enough that is new, or at the times of a schedule.

It watches the logs of the datasets on their volumes, the WorkflowTemplate and the Workflows of the pipeline. It creates
Workflows, and an Event for each decision. Its state is in a ConfigMap, which has a run before the run is created. So a
crash leaves a run that may not exist yet: the next reconcile creates it. No version is counted twice, and none is lost.
"""
