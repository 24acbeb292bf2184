"""The description of DynamoDB that botocore gets from us: items are JSON documents, sent and received as they are.

botocore converts requests and responses shape by shape. For items, that is a method call for each attribute, though
the JSON already has the form that the caller sees. A document has no shapes to convert. The rest of the description
stays as it is.

Its rules of endpoints are left out. botocore would gather their eight parameters for each call; without them, it takes
the endpoint from its list of regions, once for a client.

Binary values are in it as base64, which botocore would decode. ``items.binary`` and ``items.bytes_of`` convert those
of the ledger's segments; ``items`` refuses all others both ways. A copied item keeps them.
"""

from typing import Any, Final

from botocore.exceptions import UnknownServiceError
from botocore.loaders import Loader

DOCUMENTS: Final = (
    "AttributeMap",
    "AttributeValue",
    "BatchGetResponseMap",
    "BatchWriteItemRequestMap",
    "ExpressionAttributeValueMap",
    "ItemCollectionKeyAttributeMap",
    "ItemList",
    "Key",
    "KeyList",
    "PartiQLBatchRequest",
    "PartiQLBatchResponse",
    "PutItemInputAttributeMap",
    "TransactWriteItemList",
)
"""The shapes of DynamoDB's description that hold items, in the operations that we use.

Whatever else they hold, names and texts, has the form that the caller sees too.
"""

_DOCUMENT: Final = {"type": "structure", "document": True}


class Descriptions(Loader):
    """Loads botocore's descriptions of AWS's services; in DynamoDB's, items are documents."""

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:  # noqa: ANN401 - as in botocore
        """Return a description as botocore's loader does; raise ``UnknownServiceError`` if there is none."""
        if (service_name, type_name) == ("dynamodb", "endpoint-rule-set-1"):
            raise UnknownServiceError(service_name=service_name, known_service_names="")
        model = super().load_service_model(service_name, type_name, api_version)
        if (service_name, type_name) != ("dynamodb", "service-2"):
            return model
        # The loader caches the model, so it must not be changed.
        return {**model, "shapes": {**model["shapes"], **dict.fromkeys(DOCUMENTS, _DOCUMENT)}}
