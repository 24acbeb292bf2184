"""DynamoDB in memory: the calls that Quarterhour makes, answered as DynamoDB answers them.

``calls`` has an entry for each operation; ``table`` holds items, indexes and streams; ``expressions`` reads conditions
and updates; ``values`` and ``sizes`` are DynamoDB's rules of attribute values. What the engine does not know is an
error that names it. The contract tests run over it and over DynamoDB Local, which decides.
"""
