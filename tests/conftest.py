"""What the process must know before the product is imported, as in Lambda."""

import os

# Powertools reads it once, at import, whichever test imports it first.
os.environ["POWERTOOLS_METRICS_NAMESPACE"] = "Quarterhour"
