"""Settings of workloads. These modules import neither checks nor builders."""
