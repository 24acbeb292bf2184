"""Reading the settings: each process reads them at most once a minute."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.registry.documents.keys import latest_key
from quarterhour.registry.settings.settings import SETTINGS, Settings, settings_of

_FRESH_FOR: Final = timedelta(minutes=1)
"""How long settings are used after they were read."""
_USED_FOR: Final = timedelta(minutes=10)
"""How long they are used if they cannot be read again, so that a throttled table does not stop the recording."""


@dataclass(slots=True)
class SettingsReader:
    """Reads the settings, which all rooms of a function share."""

    entities: EntityReader
    _read: tuple[datetime, Settings] | None = None

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the reader of a function."""
        return resources.shared(cls)

    def settings(self) -> Settings:
        """Return the settings of now; raise ``UnavailableError`` if they cannot be read."""
        now = clock.now()
        if self._read and now < self._read[0] + _FRESH_FOR:
            return self._read[1]
        try:
            found = self.entities.get_many([latest_key(SETTINGS)])
        except UnavailableError:
            if self._read and now < self._read[0] + _USED_FOR:
                return self._read[1]
            raise
        self._read = now, settings_of(found[0] if found else None)
        return self._read[1]
