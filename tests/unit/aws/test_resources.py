"""The resources of a function: each is made once, and a wrong setting is an error that names its variable."""

import pytest

from quarterhour.aws import clients
from quarterhour.aws.resources import Resources
from quarterhour.model.errors import SettingsError
from quarterhour.model.settings import Environment


def test_each_resource_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "us-east-1")
    own = clients.session.__wrapped__()
    monkeypatch.setattr(clients, "session", lambda: own)
    resources = Resources(Environment({"ENTITY_TABLE": "entities", "QUARTERHOUR_WORKERS": "2"}))
    for name in ("dynamodb", "s3", "sqs", "entities", "workers"):
        assert getattr(resources, name) is getattr(resources, name)
    assert (resources.entities.client, resources.entities.table) == (resources.dynamodb, "entities")


def test_a_wrong_setting_is_an_error() -> None:
    with pytest.raises(SettingsError, match="ENTITY_TABLE is not set"):
        _ = Resources(Environment({})).entity_table
