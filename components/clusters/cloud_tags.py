"""Checks of tags on a cluster's cloud resources."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tensorplane.components.base.model import In
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import known

# AWS and Azure have the same (docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
# #id_tags_naming_best_practices; learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations,
# where storage accounts take keys of 128). Of the 50 that a resource may have, some are not the user's.
_KEY_LIMIT, _VALUE_LIMIT, _TAGS, _TAGS_LIMIT = 128, 256, 50, 40


@dataclass(frozen=True)
class Rules:
    """One cloud's rules for tags, in addition to those of all clouds."""

    cloud: str
    others: str
    """Who else adds tags to the cluster's resources."""
    reserved: tuple[str, ...]
    """Reserved prefixes of keys in lower case; the comparison ignores case."""
    takes: str
    """Allowed characters, for messages."""
    is_taken: Callable[[str, str], bool]
    """Whether it allows the characters of a text. The first argument is `key` or `value`, the second the text."""


def find_problems(tags: Mapping[str, In[str]], rules: Rules) -> Iterator[Problem]:
    """Every problem, a line each."""
    path = ("cluster", "tags")
    if len(tags) > _TAGS_LIMIT:
        reason = f"{len(tags)} tags are set; {rules.cloud} allows {_TAGS}, and {rules.others} use some of them"
        yield Problem(path, f"{reason}; set at most {_TAGS_LIMIT}")
    for key, value in tags.items():
        if reserved := next((begin for begin in rules.reserved if key.lower().startswith(begin)), None):
            yield Problem((*path, key), f"{rules.cloud} reserves tags that begin with {reserved}; use another key")
            continue
        for what, text, limit in (("key", key, _KEY_LIMIT), ("value", known(value), _VALUE_LIMIT)):
            if text is None:
                continue
            if len(text) > limit:
                reason = f"the {what} has {len(text)} characters; shorten it to {limit}, the limit of {rules.cloud}"
                yield Problem((*path, key), reason)
            elif not rules.is_taken(what, text):
                yield Problem(
                    (*path, key),
                    f"the {what} {text!r} has characters that {rules.cloud} does not allow; use {rules.takes}",
                )
