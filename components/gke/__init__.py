"""What a GKE cluster is made of. Checks, `addresses`, `places` and `slices` do without the SDK of Google Cloud."""
