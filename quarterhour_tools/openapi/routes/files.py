"""The routes that convert the files of others."""

from typing import Final

from quarterhour.file_formats.csv.api import ConvertedPart, FileBeginning, FilePart, ProposedMap
from quarterhour.registry.agencies.api import AgenciesOfFile, AgencyFile
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, RouteDescription, json_body

FILES: Final = Group(
    "Files of others",
    {
        "POST /csv/events": RouteDescription(
            "csv_convert",
            {200: ConvertedPart},
            BODY_PROBLEMS,
            {400: "`errors` names the entry of the map that is invalid or does not fit, or a missing setting."},
            bodies=json_body(FilePart),
        ),
        "POST /csv/maps": RouteDescription(
            "csv_propose_map",
            {200: ProposedMap},
            BODY_PROBLEMS,
            {400: "The file is no table, or of an encoding that is not read."},
            bodies=json_body(FileBeginning),
        ),
        "POST /csv/agencies": RouteDescription(
            "csv_read_agencies",
            {200: AgenciesOfFile},
            BODY_PROBLEMS,
            {400: "The file is no text, or has an unknown column or no column `agency`."},
            bodies=json_body(AgencyFile),
        ),
    },
)
