"""Checks of workloads: one file for each part of their settings, or for each rule between several."""
