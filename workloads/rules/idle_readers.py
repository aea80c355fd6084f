"""Training jobs with more workers than a topic has partitions: one worker reads each, so the others get no records."""

from collections.abc import Iterator, Mapping

from components.base.problems import Key, Note
from components.streams.settings import StreamArgs
from workloads.family import WorkloadArgs
from workloads.training_job.settings import JobSettings


def notes(workloads: Mapping[Key, WorkloadArgs], streams: Mapping[str, StreamArgs]) -> Iterator[Note]:
    """A note for each job and topic. A program of one's own may divide the records in another way."""
    for at, job in workloads.items():
        if isinstance(job, JobSettings):
            yield from _of_job(job, (*at, "strategy", "workers"), streams)


def _of_job(job: JobSettings, at: Key, streams: Mapping[str, StreamArgs]) -> Iterator[Note]:
    workers = getattr(job.strategy, "workers", 1)
    for name, use in job.streams.items():
        stream = streams.get(name)
        if not stream or not use.group:
            continue
        for topic in stream.topics_of(use.client):
            partitions = stream.topics[topic].partitions
            if partitions < workers:
                reason = f"is {workers}, but topic {topic} of stream {name} has {partitions} partitions"
                yield Note(at, f"{reason}, each read by one worker; set {partitions} or less, or raise partitions")
