"""What the API server refuses: ValidatingAdmissionPolicies for jobs and for pods with accelerators."""
