"""The time of a replay: a clock that stops at each delivery and at each firing of a schedule, in order.

A report that finds nothing to seal only moves the checkpoint. So of the firings between two things that happen, the
last one leaves what all of them leave: the clock jumps to it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Final

from quarterhour.model.clock import ManualClock
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import last_closed
from quarterhour.reports.schedule.expression import LONGEST, Expression, upcoming
from quarterhour_tools.emulator.stack import Stack

BEGINNING: Final = datetime(1900, 1, 1, tzinfo=UTC)

_REPORT: Final = "report"
"""The function whose schedule a replay always follows."""
_WATCH: Final = "watch"
"""The function whose schedule a replay follows while events are held or statements are due.

Its other work serves alarms and people.
"""
_RUNS: Final = 100


@dataclass(slots=True)
class _Firing:
    """A schedule, its next firing, and whether the last firing completed its work.

    ``idle``: whether it left nothing to do for the next ones, and nothing has happened since.

    The periods of a ``rate`` expression count from 1970-01-01T00:00Z, not from the creation of the schedule, so that
    every replay has the same runs.
    """

    expression: Expression
    function: str
    due: datetime
    done: bool = True
    idle: bool = False

    def skip_to(self, limit: datetime) -> None:
        """Make the last firing up to a limit the next one, if there is any."""
        for span in (timedelta(days=1), LONGEST):
            upcoming_ = upcoming(self.expression, max(self.due - timedelta.resolution, limit - span))
            for firing in takewhile(lambda at: at <= limit, upcoming_):
                self.due = firing
            if self.due > limit - span:
                return


class Timeline:
    """The virtual clock of a stack. Until ``start``, its time is long before every event."""

    def __init__(  # noqa: PLR0913 - the last one is an option
        self,
        stack: Stack,
        own_clock: ManualClock,
        due: Callable[[], datetime | None],
        catch_up: Callable[[], None],
        *,
        statements: bool,
        confirm: Callable[[], bool] | None = None,
    ) -> None:
        """Take a new stack and the process's clock.

        ``due`` returns when the replay itself has something to do next, and ``catch_up`` does what is due by now.
        ``confirm`` releases drafts, and returns whether there were any.
        """
        self.clock = own_clock
        self.statements = statements
        """Whether periods are sealed; it may be changed."""
        self.waiting = False
        """Whether events may be held."""
        self._stack = stack
        self._due_of_replay = due
        self._catch_up = catch_up
        self._confirm = confirm
        self._firings: list[_Firing] = []
        self._watch: _Firing | None = None
        self._sent_since_tick = False
        self._active = BEGINNING
        self._cut_off = BEGINNING
        self._statements_due = False
        self._undelivered = False

    @property
    def runs(self) -> bool:
        """Whether the clock has the time of an event."""
        return bool(self._firings)

    def start(self, instant: datetime) -> None:
        """Set the clock to the first event's time and start the schedules there."""
        if not self._firings:
            self.clock.advance_to(instant)
            schedules = [one for one in self._stack.schedules() if one.function == _REPORT]
            self._firings = [_Firing(one.expression, one.function, one.expression.after(instant)) for one in schedules]
            ticks = (one.expression for one in self._stack.schedules() if one.function == _WATCH)
            self._watch = next((_Firing(tick, _WATCH, tick.after(instant)) for tick in ticks), None)
            self._cut_off = self._next_cut_off()
            self._catch_up()

    def advance(self, until: datetime) -> None:
        """Move the clock to an instant; run all deliveries and firings until then in the order of time."""
        while (due := self._due(until)) is not None and due <= until:
            self.clock.advance_to(due)
            self._catch_up()
            self._deliver()
            for firing in self._firings:
                if firing.due <= self.clock.now():
                    self._fire(firing)
            for watch in self._watching:
                if watch.due <= self.clock.now():
                    self._tick(watch)
        self.clock.advance_to(until)

    def pause(self, span: timedelta) -> None:
        """Let time pass before a request is repeated, whose first try may have had effects."""
        self.advance(self.clock.now() + span)
        self._act()

    def begin_to_send(self) -> None:
        """Note that what is sent now can have effects later: deliveries, and held events that can be posted."""
        self._act()
        if self._watch and not self._sent_since_tick:
            self._watch.due = self._watch.expression.after(self.clock.now())
            self._sent_since_tick = True

    def _act(self) -> None:
        """Note that something may be recorded now: what it writes is to be delivered and reported."""
        self._undelivered = True
        self._active = self.clock.now()
        for firing in self._firings:
            firing.idle = False

    def _due(self, until: datetime) -> datetime | None:
        """Return the instant of the next delivery, task of the replay, or firing that is not skipped before it."""
        known = [self._next_delivery(), self._due_of_replay(), *(watch.due for watch in self._watching)]
        first = min(filter(None, known), default=None)
        for firing in self._firings:
            if firing.idle:
                self._skip(firing, min(first or until, until))
        return min([*filter(None, [first]), *(firing.due for firing in self._firings)], default=None)

    def _skip(self, firing: "_Firing", limit: datetime) -> None:
        """Skip the firings before the last one up to a limit; that by which a period can be sealed is not skipped."""
        if self.statements and not self._statements_due:
            sealing = self._first_after_cut_off(firing)
            limit = min(limit, sealing) if sealing >= firing.due else limit
        firing.skip_to(limit)

    def _first_after_cut_off(self, firing: "_Firing") -> datetime:
        """Return the first firing that can seal all that is recorded up to the next cut-off."""
        last = QuarterHour.at(self._cut_off - timedelta.resolution)
        return firing.expression.after(last.end + self._stack.grace - timedelta.resolution)

    @property
    def _watching(self) -> "list[_Firing]":
        """The watch, while it can do something: seal a period, or post what is held if something was sent since."""
        can_post = self.waiting and self._sent_since_tick
        return [self._watch] if self._watch and (self._statements_due or can_post) else []

    def _next_delivery(self) -> datetime | None:
        if self._undelivered:
            self._stack.read_streams(self.clock.now())
            self._undelivered = False
        return min(filter(None, (pump.due() for pump in self._stack.pumps)), default=None)

    def _deliver(self) -> None:
        for pump in self._stack.pumps:
            if pump.deliver(self.clock.now()):
                self._act()

    def _fire(self, firing: "_Firing") -> None:
        """Invoke a scheduled function until it reports that its work is complete."""
        firing.due = firing.expression.after(self.clock.now())
        firing.done = False
        self._undelivered = True
        for _ in range(_RUNS):
            try:
                answer = self._stack.invoke(firing.function, {})
            except Exception:  # noqa: BLE001 - the next firing continues the work, as in AWS
                return
            firing.done = answer.get("complete", True)
            if firing.done:
                # The archive takes some months each time, as long as any are due.
                sealed = last_closed(self.clock.now(), self._stack.grace)
                firing.idle = "archive" not in answer and QuarterHour.at(self._active) <= sealed
                self._seal_periods()
                return

    def _seal_periods(self) -> None:
        """Follow the watch until it has sealed the periods that are due, if everything up to a cut-off is sealed."""
        now = self.clock.now()
        is_due = QuarterHour.at(now - self._stack.grace).start >= self._cut_off
        if self.statements and is_due and self._watch and not self._statements_due:
            self._statements_due = True
            self._watch.due = self._watch.expression.after(now)

    def _next_cut_off(self) -> datetime:
        """Return the cut-off of the earliest period that is open."""
        calendar = self._stack.calendar
        return calendar.cut_off(calendar.earliest_open(self.clock.now()))

    def _tick(self, watch: "_Firing") -> None:
        """Let the watch post the held events that can be posted by now, and seal the periods that are due."""
        watch.due = watch.expression.after(self.clock.now())
        self._act()
        try:
            answer = self._stack.invoke(watch.function, {})
        except Exception:  # noqa: BLE001 - the next firing continues the work, as in AWS
            return
        held = answer["held"]
        self.waiting = bool(held["left"]) or not held["complete"]
        self._sent_since_tick = not held["complete"]
        # The next tick makes the statements of the drafts that are released now.
        if self._statements_due and answer["statements_due"] is None and not (self._confirm and self._confirm()):
            self._statements_due = False
            self._cut_off = self._next_cut_off()

    # ------------------------------------------------------------ the end

    def close_quarter_hour(self) -> None:
        """Drain the streams, let what is held be posted, and close and report the last quarter-hour."""
        self.drain()
        self.begin_to_send()
        for watch in self._watching:
            self.advance(watch.due)
            self.drain()
        until = QuarterHour.at(self.clock.now()).end + self._stack.grace
        for _ in range(_RUNS):
            until = max(
                (firing.expression.after(until - timedelta.resolution) for firing in self._firings), default=until
            )
            self.advance(until)
            if all(firing.done for firing in self._firings):
                break
            until += timedelta.resolution
        self.drain()

    def seal_through(self, last: Period | None) -> None:
        """Let time pass until a period is sealed; ``None`` if there is no event."""
        if last is None:
            return
        while (cut_off := self._cut_off) <= self._stack.calendar.cut_off(last):
            for _ in range(_RUNS):
                now = self.clock.now()
                firings = [max(self._first_after_cut_off(one), one.expression.after(now)) for one in self._firings]
                self.advance(min([*(watch.due for watch in self._watching), *firings], default=cut_off))
                if self._cut_off > cut_off:
                    break
            else:
                break
        self.drain()

    def drain(self) -> None:
        """Let time pass until everything that the streams hold is delivered."""
        self._undelivered = True
        while (due := self._next_delivery()) is not None:
            self.advance(due)

    def unfinished(self) -> list[str]:
        """Return what was due and is not complete."""
        found = [f"{firing.function}: did not complete" for firing in self._firings if not firing.done]
        if self._statements_due:
            found.append("statements: a period that is due is not sealed")
        return found
