"""How far the state machine goes: registered before Hypothesis looks for the profile of the command line."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "bounded", max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", settings.get_profile("bounded"), max_examples=1000, stateful_step_count=50)
