"""Moves a model server from one version of its model to the next: a canary first, then all replicas, or back.

It watches the versions on the model's volume, the server's pods, their metrics and the routes of its Gateway. It
changes the replicas of the stable and the canary Deployment, their model config files, annotations of pods and the
conditions of their readiness gates, and the weights of the routes. Its state is in the ConfigMap NAME-rollout; each
decision is an Event, and a line of the record on the volume. A crash leaves a decision that is in the state and perhaps
not applied: the next reconcile applies it. Until then, the model server answers with the versions that it has.
"""
