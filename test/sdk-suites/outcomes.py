"""A plugin of pytest: no retries, and each test's outcome into the file that `OUTCOMES` names."""

import json
import os

outcomes = {}


def pytest_configure(config):
    for name in ["openai", "anthropic"]:
        try:
            client = __import__(f"{name}._base_client", fromlist=["BaseClient"])
        except ImportError:
            continue
        client.BaseClient._should_retry = lambda *_: False


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        crash = getattr(report.longrepr, "reprcrash", None)
        outcomes[report.nodeid] = {
            "outcome": report.outcome,
            "message": "" if crash is None else crash.message.split("\n")[0][:300],
        }


def pytest_sessionfinish():
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump(outcomes, file)
