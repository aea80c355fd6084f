"""Tests of the CSI driver on a pool of their own: most need root and btrfs."""
