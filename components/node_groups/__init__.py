"""Node groups: their settings, their machines from the catalog, and the fleet of all groups."""
