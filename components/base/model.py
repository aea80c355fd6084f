"""The base of every setting: a frozen model whose fields are at once YAML schema, constructor argument and docs."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, NoReturn, TypeVar, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    InstanceOf,
    Tag,
    ValidationError,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, SchemaValidator, core_schema
from pydantic_core.core_schema import no_info_before_validator_function

from tensorplane.components.base import sdk
from tensorplane.components.base.labels import is_label_key
from tensorplane.components.base.produced import Produced


@dataclass(frozen=True)
class Moved:
    """The new key of a setting that moved."""

    to: tuple[str, ...]
    """The new key."""
    text: str
    """Problem and remedy, in one line."""


Relocation = Callable[[str, Any], Moved]
"""A function of the name of the map with the old key, such as a volume's name, and the value of that key."""


class _OnceKnown:
    """Checks a value that another resource produces once it is known: it is as the settings allow, whoever gives it.

    A preview does not know it yet. The message leaves the value out, which may be a secret.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        # Read at the first use: the model's own schema may still change what is in it.
        of_value = lru_cache(1)(lambda: SchemaValidator(schema["choices"][0]))

        def checked(given: Any, info: core_schema.ValidationInfo) -> Any:
            def check(value: Any) -> Any:
                try:
                    return of_value().validate_python(value)
                except ValidationError as error:
                    reasons = "; ".join(each["msg"] for each in error.errors(include_url=False, include_input=False))
                    key = to_camel(info.field_name or "")
                    raise sdk.pulumi.RunError(f"{key}: a value of another resource is not allowed: {reasons}") from None

            return given.apply(check) if isinstance(given, Produced) else given

        return core_schema.with_info_after_validator_function(checked, schema)


T = TypeVar("T")
In = Annotated[Union[T, SkipJsonSchema[InstanceOf[Produced]]], _OnceKnown()]  # noqa: UP007  # mypy takes no | here
"""A value, or one that another resource will produce. Only for leaves: values that decide the resources are plain."""


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


def _whole_number(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("int_type")
    return value


def _boolean(value: Any) -> Any:
    if not isinstance(value, bool) and value not in ("true", "false"):
        raise PydanticKnownError("bool_type")
    return value


_CHECKS = {"float": _number, "int": _whole_number, "bool": _boolean}


def _take_no_other_type(node: Any) -> None:
    """Makes numbers and booleans below a schema's node strict, in lists and maps too.

    pydantic accepts true as 1 and "no" as false. Strings with a number or boolean stay allowed, because
    `pulumi config set` stores some values, and all secret ones, as strings.
    """
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        _take_no_other_type(child)
    if isinstance(node, dict) and (check := _CHECKS.get(str(node.get("type")))):
        checked = dict(node)
        node.clear()
        node.update(no_info_before_validator_function(check, checked))


class Model(BaseModel):
    """Settings: camelCase in YAML, snake_case in Python, unknown keys refused, never changed after loading."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        allow_inf_nan=False,
        # Most models are part of the stack's model and are built with it.
        defer_build=True,
    )
    moved: ClassVar[Mapping[str, Relocation]] = {}
    """Former keys of this model, and where each is now."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _take_no_other_type(handler.resolve_ref_schema(schema))
        return schema


def refuse_all_but(allowed: str, near: str = "", at: str = "") -> NoReturn:
    """Rejects the value being validated. `allowed` describes valid values, `near` is the nearest one. `at`: the key
    whose value is refused, where a map is validated."""
    raise PydanticCustomError("refused", "use {allowed}", {"allowed": allowed, "near": near, "at": at})


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
NAME_LIMIT = 63
NAME_RULE = f"lower-case letters, digits and dashes, beginning with a letter, at most {NAME_LIMIT} characters"


def is_name(value: str) -> bool:
    """Whether this is a valid DNS label."""
    valid = set(value) <= _LETTERS | _DIGITS | {"-"} and value[:1] in _LETTERS and value[-1:] != "-"
    return valid and len(value) <= NAME_LIMIT


def _check_name(value: str) -> str:
    if not is_name(value):
        refuse_all_but(NAME_RULE, _nearest_name(value))
    return value


_LOOK_ALIKE = str.maketrans("аеорсухіјѕһԁοιν", "aeopcyxijshdoiv")  # noqa: RUF001  # Cyrillic and Greek
"""Letters of other alphabets by the Latin ones that look the same, in names that are copied or typed on a keyboard of
theirs."""


def _nearest_name(value: str) -> str:
    """Empty where it would be another name: with letters of other alphabets, or too long."""
    alike = unicodedata.normalize("NFKD", value.lower().translate(_LOOK_ALIKE))
    plain = "".join(c for c in alike if not unicodedata.combining(c))
    if any(c.isalnum() and c not in _LETTERS | _DIGITS for c in plain):
        return ""
    name = "".join(c if c in _LETTERS | _DIGITS else "-" for c in plain).lstrip("-0123456789").rstrip("-")
    return name if len(name) <= NAME_LIMIT else ""


Name = Annotated[str, AfterValidator(_check_name)]
"""A DNS label (RFC 1035), which Kubernetes requires as the name of a Service."""


LINE_LIMIT = 1024
_NO_PART_OF_A_LINE = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of control and invisible characters, surrogates, and line and paragraph separators. With invisible
characters, two different names would look the same."""


def _check_line(value: str) -> str:
    if any(unicodedata.category(character) in _NO_PART_OF_A_LINE for character in value):
        refuse_all_but("one line of text, without control or invisible characters")
    if len(value) > LINE_LIMIT:
        refuse_all_but(f"at most {LINE_LIMIT:,} characters")
    return value


def _without_outer_spaces(value: str) -> str:
    if value != value.strip():
        refuse_all_but("text without spaces at its ends", value.strip())
    return value


Line = Annotated[str, AfterValidator(_check_line)]
"""One line of text, of a length that Kubernetes and the clouds accept. It may be empty."""
NonEmptyStr = Annotated[str, Field(min_length=1), AfterValidator(_check_line), AfterValidator(_without_outer_spaces)]
"""One line of text that is not empty."""


@dataclass(frozen=True)
class OneOf:
    """Accepts only these strings: a Literal whose values are known at run time."""

    choices: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.literal_schema(list(self.choices))


ARGUMENT_LIMIT = 120 * 1024
"""Bytes. Linux refuses arguments, and variables with their names, of 128 KiB or more."""


def argument(value: str) -> str:
    """The value, refused if it cannot be passed to a process on Linux."""
    if any(character == "\0" or unicodedata.category(character) == "Cs" for character in value):
        refuse_all_but("text that Linux can hand to a process: without NUL and lone surrogates")
    if len(value.encode()) > ARGUMENT_LIMIT:
        refuse_all_but(
            f"at most {ARGUMENT_LIMIT // 1024} KiB, which is what Linux hands to a process; put more into a file"
        )
    return value


_UNSEEN = ("\u200b", "\u2060", "\ufeff")
"""Characters without width, which come along where text is copied. Others, which join letters, belong to a language."""


_CURLY = ("\u201c\u201d", "\u201e\u201c", "\u2018\u2019")
"""Quotes of word processors around a text, which YAML takes for a part of it."""


def _without_unseen(value: str) -> str:
    if len(value) > 2 and value[0] + value[-1] in _CURLY:
        refuse_all_but("text without typographic quotes around it", value[1:-1])
    if odd := next((character for character in _UNSEEN if character in value), ""):
        refuse_all_but(
            f"text without the invisible character U+{ord(odd):04X}", "".join(c for c in value if c not in _UNSEEN)
        )
    return value


Argument = Annotated[str, AfterValidator(argument), AfterValidator(_without_unseen)]
"""An argument of a command. It may have several lines."""

_OBJECT = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_OBJECT_LIMIT = 253
OBJECT_NAME_RULE = f"lower-case letters, digits, dashes and dots, between letters or digits, at most {_OBJECT_LIMIT}"


def is_object_name(value: str) -> bool:
    """Whether this is a valid name of most Kubernetes objects."""
    return len(value) <= _OBJECT_LIMIT and _OBJECT.fullmatch(value) is not None


def _check_object_name(value: str) -> str:
    if not is_object_name(value):
        refuse_all_but(OBJECT_NAME_RULE)
    return value


ObjectName = Annotated[str, Field(min_length=1), AfterValidator(_check_object_name)]
"""Name of an existing object (RFC 1123), such as a StorageClass, a Secret or a CSI driver."""


_FOLDER_LIMIT = 255
"""Maximum length of a folder's name on Linux, in bytes."""


def folders(value: str) -> str:
    """The path, refused if its folders cannot exist or Kubernetes would expand it."""
    if any(len(part.encode()) > _FOLDER_LIMIT for part in value.split("/")):
        refuse_all_but(f"a path whose folders have names of at most {_FOLDER_LIMIT} bytes")
    if "$(" in value:
        refuse_all_but("a path without $(, after which Kubernetes expects the name of a variable")
    return value


def _check_relative_path(value: str) -> str:
    parts = value.split("/")
    if not value or "" in parts or "." in parts or ".." in parts or parts[0] == "~":
        refuse_all_but("a path relative to the volume's root, such as models/digits")
    return folders(value)


RelativePath = Annotated[Line, AfterValidator(_without_outer_spaces), AfterValidator(_check_relative_path)]
"""A path inside a volume, without `.` and `..`."""


def each_once(values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuses a list that names something twice, which clouds and Kubernetes refuse or count twice."""
    if repeated := next((one for index, one in enumerate(values) if one in values[:index]), None):
        refuse_all_but(f"each value once, not {repeated} twice")
    return values


Zones = Annotated[tuple[NonEmptyStr, ...], AfterValidator(each_once)]
"""Names of zones of a cloud."""


def _check_extended_resource(value: str) -> str:
    domain, slash, _ = value.partition("/")
    if not (slash and is_label_key(value)) or f".{domain}".endswith(".kubernetes.io"):
        refuse_all_but("the name of an extended resource, such as vpc.amazonaws.com/efa")
    if domain in _ACCELERATORS:
        refuse_all_but("another resource; accelerators are requested with gpus")
    return value


_ACCELERATORS = ("nvidia.com", "google.com")
"""Domains of the resources of GPUs and TPUs."""
ExtendedResource = Annotated[str, AfterValidator(_check_extended_resource)]
"""Name of an extended resource, which a device plugin offers."""


TEXT_TAG, LIST_TAG, MAP_TAG, PRODUCED_TAG, SECRET_TAG = "[text]", "[list]", "[map]", "[produced]", "[secret]"
"""Tags of a value of several forms; like pydantic's own `[key]`, they are in locations but not in paths."""


class Tier(Model):
    """GPUs by the year of their architecture, instead of by model."""

    tier: Annotated[int, Field(ge=2000, le=2100)]
    """Year of the architecture, such as 2020 for a100-80gb: in `tensorplane catalog`, and in the nodes' label
    `tensorplane.dev/tier`."""
    or_newer: bool = False
    """Whether newer ones are accepted too."""

    def holds(self, year: int) -> bool:
        """Whether GPUs of this year belong to it."""
        return year >= self.tier if self.or_newer else year == self.tier


def _form(value: Any) -> str:
    if isinstance(value, Mapping | Tier):
        return MAP_TAG
    return LIST_TAG if isinstance(value, list | tuple) else TEXT_TAG


Accelerator = Annotated[
    Annotated[NonEmptyStr, Tag(TEXT_TAG)]
    | Annotated[Annotated[tuple[NonEmptyStr, ...], Field(min_length=1)], Tag(LIST_TAG)]
    | Annotated[Tier, Tag(MAP_TAG)],
    Discriminator(_form),
]
"""A model of accelerators, several, or a tier."""


class Resources(Model):
    """What one pod may use. It is reserved on the node and counted against the queue."""

    cpus: Annotated[float, Field(ge=0.001, le=1024)] = 1
    """CPU cores, fractions allowed. A pod may use more while the node has idle ones."""
    memory_gib: Annotated[float, Field(ge=0.03125, le=65536)] = 2
    """Memory in GiB. A pod that needs more is killed."""
    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    """GPUs of this pod (`nvidia.com/gpu`)."""
    accelerator: Accelerator | None = None
    """Their model, by its name in the catalog, such as t4; or a list of models, of which the pods get one:
    `[a100-80gb, h100-80gb]`; or all models of the fleet in a tier: `{tier: 2022}`. Any GPU of the fleet by default."""
    extended: dict[ExtendedResource, Annotated[int, Field(ge=1, le=65536)]] = Field(default_factory=dict)
    """Other extended resources of this pod: `{vpc.amazonaws.com/efa: 1}`. On EKS, workers that take all GPUs of a node
    with EFA request its EFA by themselves."""
    shared_memory_gib: Annotated[float, Field(gt=0, le=65536)] | None = None
    """Size of `/dev/shm` in GiB; what is written there counts against `memoryGib`. By default all of the memory in
    training pods with several GPUs, 64 MiB in others."""
    node_group: NonEmptyStr | None = None
    """The node group that the pod runs on, whose additional taints it tolerates. Any by default."""

    @property
    def accelerators(self) -> tuple[str, ...]:
        """The models that the pod may get; empty for any, and for a tier, which the stack replaces by its models."""
        if self.accelerator is None or isinstance(self.accelerator, Tier):
            return ()
        return (self.accelerator,) if isinstance(self.accelerator, str) else self.accelerator
