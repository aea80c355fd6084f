"""Estimates of what a stack costs, at the list prices of the catalog. Pure: settings and outputs in, dollars out."""
