"""Infrastructure that a stack is made of: cluster, namespace, volumes, queues and the controllers they need."""
