"""The components of this program, which have nothing to do with tensorplane's."""
