"""The programs that `components/agent` runs in the cluster: one package each, and the modules that all of them use.

Their images have Python and its standard library. What all agents share runs on Python 3.9, which Ceph's image has.
"""
