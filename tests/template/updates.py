"""What an update of a living stack would do to what must outlast it: two templates compared, before and after.

`python -m tests.template.updates` prints what is kept of a release, to be held against all that come after it.
"""

import json
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from tests.template.stack import Properties, listed, parsed, translated

REGION: Final = "eu-west-1"
WORK: Final = "work/"
"""The prefix of the bucket's files that are needed only for a while."""

LASTING: Final[dict[str, tuple[str, ...]]] = {
    "AWS::ApiGatewayV2::Api": (),  # its address is what clients know
    "AWS::DynamoDB::Table": (
        "AttributeDefinitions",
        "DeletionProtectionEnabled",
        "GlobalSecondaryIndexes",
        "LocalSecondaryIndexes",
        "PointInTimeRecoverySpecification",
        "StreamSpecification",
        "TimeToLiveSpecification",
    ),
    "AWS::Lambda::EventSourceMapping": ("Enabled", "FilterCriteria"),
    "AWS::Logs::LogGroup": (),
    "AWS::S3::Bucket": ("LifecycleConfiguration", "VersioningConfiguration"),
    "AWS::S3::BucketPolicy": ("PolicyDocument",),
    "AWS::SQS::Queue": ("MessageRetentionPeriod",),
}
"""The kinds that outlast updates, and which properties matter beside those that can never change."""

PROTECTIONS: Final = {
    "DeletionProtectionEnabled": True,
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    "VersioningConfiguration": {"Status": "Enabled"},
}
POLICIES: Final = ("DeletionPolicy", "UpdateReplacePolicy")
UNSAID: Final = {"AWS::DynamoDB::Table": ["LocalSecondaryIndexes"]}
"""What can never change, though the provider's schema does not say so."""


def lasting(template: Properties) -> Properties:
    """Return what matters of a translated template: the names that others use, and the resources that last."""
    return {
        "parameters": sorted(template["Parameters"]),
        "outputs": sorted(template["Outputs"]),
        "resources": {
            name: _kept(resource) for name, resource in template["Resources"].items() if resource["Type"] in LASTING
        },
    }


def dangers(before: Properties, after: Properties) -> list[str]:
    """Return what would be lost or refused if a stack of one template were updated to the other, as sentences."""
    return [*_names(before, after), *_resources(before["resources"], after["resources"])]


@cache
def fixed(kind: str) -> list[str]:
    """Return the properties of a kind of resource whose change replaces it."""
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # noqa: PLC0415 - takes seconds, which no other test needs

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema
    pointers = [*schema.get("createOnlyProperties", []), *schema.get("conditionalCreateOnlyProperties", [])]
    return [*(pointer.removeprefix("/properties/") for pointer in pointers), *UNSAID.get(kind, [])]


def _kept(resource: Properties) -> Properties:
    kind, properties = resource["Type"], resource.get("Properties", {})
    kept: Properties = {name: resource[name] for name in ("Type", "Condition", *POLICIES) if name in resource}
    kept["Properties"] = {name: properties[name] for name in (*fixed(kind), *LASTING[kind]) if name in properties}
    return kept


def _names(before: Properties, after: Properties) -> Iterator[str]:
    for what in ("parameters", "outputs"):
        for name in sorted(set(before[what]) - set(after[what])):
            yield f"{name} is no longer among the {what}"


def _resources(before: Properties, after: Properties) -> Iterator[str]:
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            yield f"{name} is gone"
        elif new["Type"] != old["Type"]:
            yield f"{name} is no {old['Type']} any more"
        else:
            yield from (f"{name} {what}" for what in _changes(old, new))


def _changes(old: Properties, new: Properties) -> Iterator[str]:
    for policy in POLICIES:
        if old.get(policy) == "Retain" and new.get(policy) != "Retain":
            yield f"has lost its {policy}"
    if new.get("Condition") != old.get("Condition"):
        yield "stands under another condition"
    before, after = old["Properties"], new["Properties"]
    for name in fixed(old["Type"]):
        if before.get(name) != after.get(name):
            yield f"would be replaced: its {name} changes"
    for name, value in PROTECTIONS.items():
        if before.get(name) == value and after.get(name) != value:
            yield f"has lost its {name}"
    if after.get("MessageRetentionPeriod", 0) < before.get("MessageRetentionPeriod", 0):
        yield "keeps its messages for a shorter time"
    if old["Type"] in CHANGES:
        yield from CHANGES[old["Type"]](before, after)


def _table_changes(before: Properties, after: Properties) -> Iterator[str]:
    attributes, now = (_by(one, "AttributeDefinitions", "AttributeName") for one in (before, after))
    for name in sorted(attributes.keys() & now.keys()):
        if attributes[name] != now[name]:
            yield f"would be replaced: its attribute {name} changes"
    if before.get("StreamSpecification") != after.get("StreamSpecification"):
        yield "would get another stream: what the old one still holds is not delivered"
    indexes, now = (_by(one, "GlobalSecondaryIndexes", "IndexName") for one in (before, after))
    for name in sorted(indexes.keys() & now.keys()):
        if indexes[name] != now[name]:
            yield f"cannot be updated: its index {name} changes"
    moved = sorted(indexes.keys() ^ now.keys())
    if len(moved) > 1:
        yield f"cannot be updated: the indexes {' and '.join(moved)} come or go at once"
    expiry = after.get("TimeToLiveSpecification", {})
    if expiry.get("Enabled") and expiry != before.get("TimeToLiveSpecification"):
        yield f"would forget items by their {expiry['AttributeName']}"


def _bucket_changes(before: Properties, after: Properties) -> Iterator[str]:
    rules, now = ([rule for rule in _rules(one) if _moves_or_forgets(rule)] for one in (before, after))
    for rule in now:
        if rule not in rules:
            yield f"would forget files, or move them away, by its rule {rule.get('Id', 'without a name')}"


def _rules(properties: Properties) -> list[Properties]:
    rules: list[Properties] = properties.get("LifecycleConfiguration", {}).get("Rules", [])
    return rules


def _moves_or_forgets(rule: Properties) -> bool:
    """Tell whether a rule of a bucket touches files: not one that only clears up what was never finished, say.

    What the steps of a statement run pass on, under ``work/``, is made again if it is gone.
    """
    return rule["Status"] == "Enabled" and rule.get("Prefix") != WORK and any(map(_touches, rule))


def _touches(name: str) -> bool:
    return name.startswith(("Expiration", "NoncurrentVersionExpiration", "NoncurrentVersionTransition", "Transition"))


def _policy_changes(before: Properties, after: Properties) -> Iterator[str]:
    statements = listed(after["PolicyDocument"]["Statement"])
    for one in listed(before["PolicyDocument"]["Statement"]):
        if not any(_says_as_much(new, one) for new in statements):
            yield f"no longer says what {one['Sid']} did"


def _says_as_much(new: Properties, old: Properties) -> bool:
    """Tell whether a statement of a policy is about all that another is about, and otherwise the same."""
    about = ("Action", "Resource")
    rest = ({name: value for name, value in one.items() if name not in about} for one in (new, old))
    return operator.eq(*rest) and all(one in listed(new[name]) for name in about for one in listed(old[name]))


def _mapping_changes(before: Properties, after: Properties) -> Iterator[str]:
    if before.get("Enabled", True) and not after.get("Enabled", True):
        yield "would be switched off: what its stream holds is lost after a day"
    patterns, now = (_patterns(one) for one in (before, after))
    if now and not (patterns and all(any(_lets_through(new, one) for new in now) for one in patterns)):
        yield "would pass over records that it delivers now"


def _patterns(properties: Properties) -> list[Any]:
    return [json.loads(one["Pattern"]) for one in properties.get("FilterCriteria", {}).get("Filters", [])]


def _lets_through(new: Any, old: Any) -> bool:
    """Tell whether a filter's pattern lets through all that another does: it asks for less, or allows more values."""
    if isinstance(new, dict):
        return isinstance(old, dict) and all(name in old and _lets_through(new[name], old[name]) for name in new)
    return isinstance(old, list) and all(value in new for value in old)


CHANGES: Final[Mapping[str, Callable[[Properties, Properties], Iterator[str]]]] = {
    "AWS::DynamoDB::Table": _table_changes,
    "AWS::Lambda::EventSourceMapping": _mapping_changes,
    "AWS::S3::Bucket": _bucket_changes,
    "AWS::S3::BucketPolicy": _policy_changes,
}
"""What of a kind of resource is looked at beside what concerns them all."""


def _by(properties: Properties, name: str, key: str) -> dict[str, Any]:
    return {one[key]: one for one in properties.get(name, [])}


if __name__ == "__main__":
    os.environ["AWS_DEFAULT_REGION"] = REGION
    print(json.dumps(lasting(translated(parsed())), indent=2, sort_keys=True))  # noqa: T201 - made to print
