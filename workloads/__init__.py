"""What runs on the platform: training jobs and model servers, each declared by its `kind`."""
