"""Records how many GPU-seconds the jobs of each queue have held, by month and flavor.

It watches the Workloads of Kueue. It writes a ConfigMap for each namespace, with the sums and with how much of each
Workload they contain. Both are written together, so a crash counts no second twice: the next reconcile adds what Kueue
reports and the ConfigMap does not contain. Only jobs that are deleted meanwhile are not counted.
"""
