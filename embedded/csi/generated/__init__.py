"""Messages of CSI and of the kubelet's plugin registration; `generate.sh` makes the other files here."""
