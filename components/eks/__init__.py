"""What an EKS cluster is made of. Checks, `addresses` and `placement` do without the SDK of AWS."""
