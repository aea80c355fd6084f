"""What an AKS cluster is made of. Checks, `pool_name`, `pool` and `roles` do without the SDK of Azure."""
