"""Entries of logs: the message without what the logger adds, and whether something failed."""

from __future__ import annotations

import time

import pytest

from winnow.ranking.query.logs import LogEntry, is_log, log_entry

MESSAGE = "Cannot open the vault: it is locked"
ERRORS = {
    "Python": "2024-01-01 12:00:00,123 - my.vault - ERROR - {}",
    "Python, basic": "ERROR:root:{}",
    "Python, named": "ERROR:my.vault:{}",
    "Spring": "2024-01-01 12:00:00.123 ERROR 12345 --- [   main] c.e.demo.Vault       : {}",
    "Logback": "12:00:00.123 [main] ERROR com.example.Vault - {}",
    "Ruby": "E, [2024-01-01T12:00:00.123456 #123] ERROR -- : {}",
    "Ruby, named": "E, [2024-01-01T12:00:00.123456 #123] ERROR -- vault: {}",
    "nginx": "2024/01/01 12:00:00 [error] 1234#0: *1 {}",
    "PostgreSQL": "2024-01-01 12:00:00.000 UTC [123] ERROR:  {}",
    "Kubernetes": "E0823 14:22:01.123456    1234 vault.go:77] {}",
    "Rust, env_logger": "[2024-01-01T00:00:00Z ERROR my_crate::vault] {}",
    "Rust, tracing": "2024-01-01T00:00:00.000Z ERROR my_crate::vault: {}",
    "Rust, fern": "2024-03-15T10:26:27.434 my_crate::vault [ERROR] {}",
    "Serilog": "[2025-10-23 22:27:00.842 +03:00] [ERR] [58] Example.Vault: {}",
    "systemd": "Jan  2 10:11:12 host vaultd[12]: error: {}",
    "another language": "lis 13 16:24:28 host vaultd[12]: [16:24:28] [ERR] [58] Example.Vault: {}",
    "Go": 'time=2025-04-27T15:17:34.041Z level=ERROR source=vault.go:103 msg="{}" id=7',
    "Docker": 'vault-1  | ts=2018-09-21T02:15:28Z level=error msg="{}"',
    "an API": '{{"status":500,"error":"{}"}}',
    "Django REST framework": "{{'detail': '{}'}}",
    "a line of an object": '"error" : "{}",',
    "JSON": '{{"level":"error","ts":1700000,"logger":"vault","msg":"{}"}}',
}
OTHERS = {
    "Python": "2024-01-01 12:00:00,123 - vault - INFO - {}",
    "Serilog": "[INF] {}",
    "redis": "1234:M 01 Jan 2024 12:00:00.123 # {}",
    "Rust": "2024-03-15T10:26:27.434 my_crate::vault [WARN] {}",
    "Go": 'ts=2022-08-13T17:00:01.604Z caller=vault.go:12 level=info msg="{}" id=7',
    "a level": "WARNING: {}",
    "an API": '{{"error":{{"message":"{}","code":7}}}}',
    "Elasticsearch": '{{"type":"server","timestamp":"2024-01-01T00:00:00,000Z","message":"{}"}}',
}


@pytest.mark.parametrize("logger", ERRORS)
def test_an_entry_about_a_failure_is_parsed(logger: str) -> None:
    line = ERRORS[logger].format(MESSAGE)
    assert is_log(line)
    assert log_entry(line) == LogEntry(MESSAGE, is_error=True)


@pytest.mark.parametrize("logger", OTHERS)
def test_another_entry_is_parsed(logger: str) -> None:
    line = OTHERS[logger].format(MESSAGE)
    assert is_log(line)
    assert log_entry(line) == LogEntry(MESSAGE, is_error=False)


def test_the_cause_in_a_field_follows_the_message() -> None:
    line = 'level=warn msg="Reading \\"x\\" failed" component=vault err="open x: no such file"'
    expected = LogEntry('Reading "x" failed: open x: no such file', is_error=True)
    assert log_entry(line) == expected


def test_the_type_of_an_exception_is_no_logger() -> None:
    entry = log_entry("2024-01-01 12:00:00 ERROR requests.exceptions.ConnectionError: refused")
    assert entry == LogEntry("requests.exceptions.ConnectionError: refused", is_error=True)


@pytest.mark.parametrize(
    "line",
    [
        "Error: it failed",
        "ERR wrong number of arguments for 'get' command",
        "[x] is required",
        "information about errors",
        "12:30 is lunch",
    ],
)
def test_other_lines_are_no_entries(line: str) -> None:
    assert not is_log(line)


@pytest.mark.parametrize("part", ["a.b", "[x] ", "1 ", "- ", "a - ", "2024-01-01 ", 'msg="', "x: "])
def test_the_time_is_linear(part: str) -> None:
    line = "2024-01-01 12:00:00 " + part * (100_000 // len(part))
    started = time.process_time()
    log_entry(line)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "line", ['{"name":"vault","version":"1.0"}', '"error": {', '"message field" is required', "{"]
)
def test_other_objects_are_no_entries(line: str) -> None:
    assert not is_log(line)
