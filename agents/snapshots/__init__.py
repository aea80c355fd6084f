"""Takes one scheduled snapshot of a volume or a group of volumes, waits until it is ready, and deletes expired ones.

A CronJob runs it. It reads, creates and deletes VolumeSnapshots or VolumeGroupSnapshots. The name of a snapshot has the
minute of its schedule. So a crash leaves a snapshot that the Job's retry finds under this name, and completes.
"""
