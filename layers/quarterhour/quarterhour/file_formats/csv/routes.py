"""The routes that show what a file of others becomes. They write nothing."""

from dataclasses import replace
from typing import TYPE_CHECKING

from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.parts import MAX_COUNTS, FileConversion, convert_part, map_of_part
from quarterhour.file_formats.csv.proposal import QUESTION
from quarterhour.file_formats.csv.requests import read_map_request, read_part, refused
from quarterhour.file_formats.csv.seen import seen_rows
from quarterhour.web import http
from quarterhour.web.access import Role, people
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.file_formats.csv import api
    from quarterhour.file_formats.csv.proposal import Proposal


def read(routes: Routes) -> None:
    """Register the routes."""

    @routes.post("/csv/events", allow=people(Role.FINANCE))
    def events_of_part() -> http.Response:
        """Return the events and the bad rows of a part of a CSV file, by a map, and where the next part begins."""
        request = read_part(routes.body())
        try:
            with seen_rows() as seen:
                seen.restore(request.place.counts if request.place else [])
                by = FileConversion(request.map, request.settings, seen)
                part = convert_part(request.content, by, request.place, last=request.last)
                following = replace(part.next, counts=seen.counts(MAX_COUNTS)) if part.next else None
        except MapError as error:
            raise refused("map", error) from error
        except FileError as error:
            raise refused("part", error) from error
        body: api.ConvertedPart = {
            "items": [one.body for one in part.events],
            "lines": part.lines,
            "bad": [{"line": one.line, "reason": one.reason, "text": one.text} for one in part.bad],
            "head": part.head,
            "summary": part.summary.as_dict(),
            "must_not_change": request.map.must_not_change,
            "read": part.read,
            "next": following.token if following else None,
        }
        return http.response(200, body)

    @routes.post("/csv/maps", allow=people(Role.FINANCE))
    def map_for_file() -> http.Response:
        """Return a map for a CSV file, proposed from its beginning, and the questions that it leaves open."""
        request = read_map_request(routes.body())
        try:
            text, proposal = map_of_part(request.content, request.given, last=request.last)
        except FileError as error:
            raise refused("part", error) from error
        shown: api.ProposedMap = {
            "map": text,
            "questions": _questions(text, proposal),
            "shipped": proposal.shipped,
            "certain": proposal.certain,
            "checks": proposal.checks,
            "unused": proposal.unused,
            "columns": [{"name": one.name, "values": one.values} for one in proposal.columns],
            "parts": proposal.parts,
        }
        return http.response(200, shown)


def _questions(text: str, proposal: "Proposal") -> list["api.MapQuestion"]:
    """Return the open entries of a proposed map, each with its line in the map's text."""
    lines = [number for number, line in enumerate(text.split("\n"), 1) if QUESTION in line and line[0] != "#"]
    return [
        {"line": line, "name": one.name, "question": one.question, "answers": list(one.answers)}
        for line, one in zip(lines, proposal.open_entries(), strict=True)
    ]
