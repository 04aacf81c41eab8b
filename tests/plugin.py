"""What every run of pytest here has, whichever folders it tests: deadlines, examples, and word of each failure."""

import os

import pytest
from hypothesis import settings

from tests.patience import patience

pytest_plugins = ("tests.workers",)

# The same examples each time, however busy the machine is: whether a change is taken must not be a matter of luck.
# `make test-long` takes many; `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile("steady", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("long", settings.get_profile("steady"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

MAX_TEST_SECONDS = 150.0
"""What a test may take before it counts as hung; some name a deadline of their own."""
MAX_FAILURE_CHARACTERS = 600
"""What is said of a failure when it happens; all of it stands at the end."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Measure the machine before anything else runs, and let pytest's own deadline follow."""
    if config.option.timeout is None:
        config.option.timeout = patience(MAX_TEST_SECONDS)
    config.pluginmanager.register(FailureReporter(config), "failure-reporter")


class FailureReporter:
    """Writes a line for each failure when it happens: a run that is cut off later has said what failed until then."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the line, in the process that has the terminal."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr)
            terminal.ensure_newline()
            terminal.write_line(f"FAILED {report.nodeid} ({report.when}): {message[:MAX_FAILURE_CHARACTERS]}")
