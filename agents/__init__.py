"""The programs that `components/agent` runs in the cluster: a package for each, and the modules that all of them use.

An agent with a Deployment has the same file names: `__main__` (arguments and loop), `controller` (one reconcile),
`spec` (what the user declared), `state` (what it remembers), `decide` (decisions, without I/O), `cluster` (requests to
the API server). Its pods mount its package and these shared modules, and have Python and its standard library. The
shared modules run on Python 3.9, which Ceph's image has.
"""
