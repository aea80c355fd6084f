"""Pipeline specs of Pachyderm 2, as `pachctl create pipeline` reads them, and some fields of 1.x."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

MASTER = "master"
"""Pachyderm's default branch."""
DEFAULT_PROJECT = "default"


class Part(BaseModel):
    """A part of a spec, in camelCase or snake_case. Null is as good as absent; unknown fields are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=to_camel, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _in_one_spelling(cls, value: Any) -> Any:
        for name, field in cls.model_fields.items():
            if isinstance(value, dict) and field.alias != name and {name, field.alias} <= value.keys():
                problem = f"{name} and {field.alias} are one field; remove one of them"
                raise PydanticCustomError("twice", "{problem}", {"problem": problem})
        return value


class Project(Part):
    name: str | None = None


class PipelineName(Part):
    """The pipeline's own name."""

    name: str
    project: Project | None = None


class Secret(Part):
    name: str | None = None
    key: str | None = None
    mount_path: str | None = None
    env_var: str | None = None


class Transform(Part):
    """The program of a pipeline."""

    image: str | None = None
    cmd: list[str] | None = None
    err_cmd: list[str] | None = None
    env: dict[str, str] | None = None
    secrets: list[Secret] | None = None
    image_pull_secrets: list[str] | None = None
    stdin: list[str] | None = None
    err_stdin: list[str] | None = None
    accept_return_code: list[int] | None = None
    debug: bool | None = None
    user: str | None = None
    working_dir: str | None = None
    dockerfile: str | None = None
    memory_volume: bool | None = None
    datum_batching: bool | None = None


class Trigger(Part):
    """When an input counts as new."""

    branch: str | None = None
    all: bool | None = None
    rate_limit_spec: str | None = None
    size: str | None = None
    commits: int | None = None
    cron_spec: str | None = None


class Propagation(Part):
    never: bool | None = None


class PfsInput(Part):
    """A repo."""

    project: str | None = None
    name: str | None = None
    repo: str
    repo_type: str | None = None
    branch: str | None = None
    commit: str | None = None
    glob: str | None = None
    join_on: str | None = None
    outer_join: bool | None = None
    group_by: str | None = None
    lazy: bool | None = None
    empty_files: bool | None = None
    s3: bool | None = None
    trigger: Trigger | None = None
    propagation_spec: Propagation | None = None
    reference: bool | None = None


class CronInput(Part):
    """A clock, which commits a file at each tick."""

    name: str
    project: str | None = None
    repo: str | None = None
    commit: str | None = None
    spec: str
    overwrite: bool | None = None
    start: str | None = None


class Input(Part):
    """One of its fields is set."""

    pfs: PfsInput | None = None
    join: list[Input] | None = None
    group: list[Input] | None = None
    cross: list[Input] | None = None
    union: list[Input] | None = None
    cron: CronInput | None = None


class Gpu(Part):
    type: str | None = None
    number: int | None = None


class Resources(Part):
    """What a worker may use."""

    cpu: float | None = None
    memory: str | None = None
    gpu: Gpu | None = None
    disk: str | None = None


class Parallelism(Part):
    constant: int | None = None
    coefficient: float | None = None


class DatumSets(Part):
    number: int | None = None
    size_bytes: int | None = None
    per_worker: int | None = None


class Scheduling(Part):
    node_selector: dict[str, str] | None = None
    priority_class_name: str | None = None


class Egress(Part):
    address: str | None = Field(default=None, alias="URL")
    object_storage: dict[str, Any] | None = None
    sql_database: dict[str, Any] | None = None


class Metadata(Part):
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class Spec(Part):
    """A pipeline."""

    pipeline: PipelineName
    description: str | None = None
    transform: Transform | None = None
    tf_job: dict[str, Any] | None = None
    input: Input | None = None
    parallelism_spec: Parallelism | None = None
    egress: Egress | None = None
    output_branch: str | None = None
    s3_out: bool | None = None
    resource_requests: Resources | None = None
    resource_limits: Resources | None = None
    sidecar_resource_requests: Resources | None = None
    sidecar_resource_limits: Resources | None = None
    service: dict[str, Any] | None = None
    spout: dict[str, Any] | None = None
    datum_set_spec: DatumSets | None = None
    datum_timeout: str | None = None
    job_timeout: str | None = None
    datum_tries: int | None = None
    salt: str | None = None
    scheduling_spec: Scheduling | None = None
    pod_spec: str | dict[str, Any] | None = None
    pod_patch: str | list[Any] | None = None
    metadata: Metadata | None = None
    reprocess_spec: str | None = None
    autoscaling: bool | None = None
    tolerations: list[dict[str, Any]] | None = None
    determined: dict[str, Any] | None = None
    maximum_expected_uptime: str | None = None
    update: bool | None = None
    reprocess: bool | None = None
    dry_run: bool | None = None

    @property
    def name(self) -> str:
        """Its name, which its output repo has too."""
        return self.pipeline.name

    @property
    def project(self) -> str:
        """The project of the pipeline, and of its inputs by default."""
        given = self.pipeline.project
        return (given.name if given else None) or DEFAULT_PROJECT

    @property
    def writes(self) -> str:
        """The branch of its output."""
        return self.output_branch or MASTER
