"""Teams: namespaces with queues, their members, and the GPUs that they get there."""
