"""A plugin of pytest that prints failures when they happen; the end of a run has them again."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_FailurePrinter(config))


class _FailurePrinter:
    """Prints the report of each failure; workers of xdist have no terminal, and print nothing."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and isinstance(terminal, pytest.TerminalReporter):
            terminal.ensure_newline()
            terminal.write_line(f"FAILED {report.nodeid} ({report.when})", red=True)
            terminal.write_line(report.longreprtext)
