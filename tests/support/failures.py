"""A plugin of pytest that prints failures at once, and again at the end."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_FailurePrinter(config))


class _FailurePrinter:
    """Prints the report of each failure; only in the process with the terminal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and isinstance(terminal, pytest.TerminalReporter):
            terminal.ensure_newline()
            terminal.write_line(f"FAILED {report.nodeid} ({report.when})", red=True)
            terminal.write_line(report.longreprtext)
