"""Takes the steps of a pipeline's stages that need no pod: plan, keep results of jobs, commit a version, clean up.

It watches the pipeline's Workflows for nodes that wait. It writes datasets on their volumes by tensorplane's library,
and sets the nodes to succeeded or failed. It has no state: a crash leaves nodes that still wait, and the next process
takes their steps again, with the same results.
"""
