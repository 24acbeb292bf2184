"""Calls of AWS clients that are answered in this process: the short way and the long way give the same."""

import io
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour_tools.bucket import Bucket
from quarterhour_tools.emulator.direct import EmbeddedBucket
from quarterhour_tools.emulator.engines import open_engine
from quarterhour_tools.emulator.faults import Faults


def test_every_answer_about_an_object_is_the_same_the_long_way() -> None:
    with open_engine() as engine:
        short = about_objects(engine.s3())
    faults = Faults()
    with open_engine() as engine, faults.installed():
        faults.meanwhile(10**6, lambda: None)  # something may happen, so every call takes the long way
        with faults.at_work():
            long = about_objects(engine.s3())
    assert long == short
    assert {one["Error"]["Code"] for one in short if "Error" in one} == {
        "PreconditionFailed",
        "NoSuchKey",
        "NoSuchBucket",
        "404",
    }


def test_the_emulator_reads_the_objects_that_s3_returns() -> None:
    with open_engine() as engine:
        s3: Any = engine.s3()
        s3.create_bucket(Bucket="sealed")
        for key_, body in (("b/2", b"two"), ("b/10", b"ten"), ("a b/ü", b""), ("gone", b"gone")):
            s3.put_object(Bucket="sealed", Key=key_, Body=body)
        s3.delete_object(Bucket="sealed", Key="gone")
        embedded, over_http = EmbeddedBucket("sealed"), Bucket(s3, "sealed")
        assert embedded.keys() == over_http.keys() == ["a b/ü", "b/10", "b/2"]
        for key_ in embedded.keys():  # noqa: SIM118 - no dict
            assert embedded.open(key_).read() == over_http.open(key_).read()
        for bucket in (embedded, over_http):
            with pytest.raises(FileNotFoundError, match="gone"):
                bucket.open("gone")


def about_objects(s3: Any) -> list[Any]:
    """Write and read objects; return each call's answer."""
    s3.create_bucket(Bucket="sealed")
    name = {"Bucket": "sealed", "Key": "ledger/dt=2026-10-23/a b.csv"}
    given = []
    for call, request in (
        (s3.put_object, {**name, "Body": b"once", "IfNoneMatch": "*", "Metadata": {"sha256": "ab"}}),
        (s3.put_object, {**name, "Body": b"twice", "IfNoneMatch": "*"}),
        (s3.put_object, {**name, "Body": io.BytesIO(b"twice"), "IfNoneMatch": "*"}),
        (s3.put_object, {**name, "Key": "ledger/ü", "Body": io.BytesIO(b"a file"), "ContentType": "text/csv"}),
        (s3.put_object, {**name, "Key": "ledger/own", "Body": b"own", "ChecksumAlgorithm": "SHA256"}),
        (s3.put_object, {**name, "Key": "ledger/none", "Bucket": "none", "Body": b"lost"}),
        (s3.get_object, {**name, "Key": "ledger/ü"}),
        (s3.get_object, {**name, "Key": "ledger/own"}),
        (s3.get_object, name),
        (s3.get_object, {**name, "Range": "bytes=1-2"}),
        (s3.head_object, name),
        (s3.get_object, {**name, "Key": "ledger/none"}),
        (s3.head_object, {**name, "Key": "ledger/none"}),
        (s3.get_object, {**name, "Bucket": "none"}),
        (s3.delete_object, name),
        (s3.get_object, name),
    ):
        try:
            answer = call(**request)
        except ClientError as error:
            answer = error.response
        if "Body" in answer:
            answer["Body"] = answer["Body"].read()
        given.append(
            {name: value for name, value in answer.items() if name not in {"ResponseMetadata", "LastModified"}}
        )
    return given
