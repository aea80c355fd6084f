"""A Pulumi resource provider for Kubernetes, for machines that cannot download Pulumi's own plugin."""
