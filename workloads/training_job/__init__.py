"""Training jobs: a strategy's pods as a JobSet with TF_CONFIG, admitted by a queue, restarted as a gang."""
