"""The routes that convert the files of others."""

from typing import Final

from quarterhour.file_formats.csv.api import ConvertedPart, FileBeginning, FilePart, ProposedMap
from quarterhour.registry.agencies.api import AgenciesOfFile, AgencyFile
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, RouteDescription, json_body

_RETRIES: Final = "The request writes nothing."

FILES: Final = Group(
    "Files of others",
    {
        "POST /csv/events": RouteDescription(
            "csv_convert",
            {200: ConvertedPart},
            BODY_PROBLEMS,
            """
            Converts a part of a CSV file as `quarterhour csv` does, with the same [map](csv.md#the-map), the same
            events and the same messages. It records nothing: send `items` to [`POST /events`](#post-events). The
            [console](console.md#files) does both.

            1. Send the first bytes of the file, and `last` true if these are all.
            2. Send the bytes behind `read` with the `next` of the response, until `next` is null.

            A part that is not the last may end anywhere. Its last row may be cut, so it is left for the next part. The
            file is UTF-8, or has the `encoding` of the map. UTF-16 is not read.
            """,
            {400: "`errors` names the entry of the map that is invalid or does not fit, or a missing setting."},
            bodies=json_body(FilePart),
            retries=_RETRIES,
        ),
        "POST /csv/maps": RouteDescription(
            "csv_propose_map",
            {200: ProposedMap},
            BODY_PROBLEMS,
            """
            Proposes a [map](csv.md#the-map) for a CSV file from its first bytes, as `quarterhour csv --guess` does.
            What the data do not decide is a question.
            """,
            {400: "The file is no table, or of an encoding that is not read."},
            bodies=json_body(FileBeginning),
            retries=_RETRIES,
        ),
        "POST /csv/agencies": RouteDescription(
            "csv_read_agencies",
            {200: AgenciesOfFile},
            BODY_PROBLEMS,
            """
            Reads a file of agencies as [`quarterhour agencies`](operations.md#registering-agencies) does, with the same
            messages. It registers nothing: send each of `items` to [`PUT /agencies/{agency}`](#put-agenciesagency).
            """,
            {400: "The file is no text, or has an unknown column or no column `agency`."},
            bodies=json_body(AgencyFile),
            retries=_RETRIES,
        ),
    },
)
