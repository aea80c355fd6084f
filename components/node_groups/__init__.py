"""Node groups: their settings, the machines that the catalog finds for them, the fleet that they make up."""
