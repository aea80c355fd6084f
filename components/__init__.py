"""Infrastructure of a stack: cluster, namespace, volumes, queues, and the controllers that they require."""
