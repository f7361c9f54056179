"""What a batch reports, remembered."""

from __future__ import annotations

from seekwarc.jobs.outcome import Job, Outcome


class Heard:
    """Records its calls."""

    def __init__(self) -> None:
        self.events: list[tuple[str, object]] = []
        self.outcomes: dict[str, Outcome] = {}
        self.progress = 0

    def on_event(self, job: Job, event: object) -> None:
        self.events.append((job.source, event))

    def on_progress(self, size: int) -> None:
        self.progress += size

    def on_outcome(self, outcome: Outcome) -> None:
        self.outcomes[outcome.job.source] = outcome

    @property
    def statuses(self) -> dict[str, str]:
        return {name: str(outcome.status) for name, outcome in self.outcomes.items()}
