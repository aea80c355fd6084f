"""Model servers: a Deployment of TensorFlow Serving with REST and gRPC, for models on volumes or from elsewhere."""
