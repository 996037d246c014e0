"""Starts a Prometheus on 127.0.0.1 for the duration of a test and queries it. I/O."""

import contextlib
import http.server
import json
import pathlib
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class QueryError(Exception):
    """Error response of Prometheus with its message."""


class Api:
    """HTTP API of the Prometheus at `url`."""

    def __init__(self, url):
        self.url = url

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise QueryError(json.load(error).get("error", str(error))) from error

    def values(self, label, selector):
        return self.get(f"label/{label}/values", **{"match[]": selector})

    def rows(self, expression):
        """{labels: value} of an instant query."""
        result = self.get("query", query=expression)["result"]
        return {frozenset(row["metric"].items()): float(row["value"][1]) for row in result}

    def lines(self, expression, seconds):
        """{labels: last value} of a query over the last `seconds`."""
        end = time.time()
        result = self.get("query_range", query=expression, start=end - seconds, end=end, step=1)["result"]
        return {frozenset(row["metric"].items()): float(row["values"][-1][1]) for row in result}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def awaited(condition, what, seconds=30, besides=lambda: None):
    """Waits until `condition` holds; `besides` may return why it never will."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if reason := besides():
            raise SystemExit(f"{what}: {reason}")
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return found


@contextlib.contextmanager
def served(directory):
    """Serves the *.prom files of `directory` as OpenMetrics; returns their addresses."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {".prom": OPENMETRICS}

        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(directory))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield [f"{address}/{path.name}" for path in sorted(pathlib.Path(directory).glob("*.prom"))]
        server.shutdown()


@contextlib.contextmanager
def running(directory, targets, rules):
    """Prometheus with its files in `directory`, scraping `targets` each second, its rules loaded; returns its `Api`."""
    scrapes = []
    for number, target in enumerate(targets):
        url = urllib.parse.urlsplit(target)
        static = [{"targets": [url.netloc], "labels": {"namespace": "fabricbench"}}]
        scrapes.append({"job_name": f"fabricbench-{number}", "metrics_path": url.path, "static_configs": static})
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(path) for path in rules],
        "scrape_configs": scrapes,
    }
    # JSON is YAML.
    (directory / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={directory}/prometheus.yml",
        f"--storage.tsdb.path={directory}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    log_path = directory / "prometheus.log"
    with log_path.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin", "GOMAXPROCS": "2"})
        try:
            api = Api(f"http://127.0.0.1:{port}")
            awaited(
                lambda: answers(f"{api.url}/-/ready"), "Prometheus starts", besides=lambda: ended(process, log_path)
            )
            awaited(lambda: scraped(api, len(targets)), "Prometheus scrapes", besides=lambda: refused(api))
            yield api
        finally:
            process.terminate()
            process.wait(20)


def ended(process, log_path):
    if process.poll() is None:
        return None
    return f"it ended: {log_path.read_text(encoding='utf-8')[-2000:]}"


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def scraped(api, targets):
    """Waits for two scrapes of each target, which a rate needs, and one evaluation of the rules after them."""
    if len(api.rows("sum_over_time(up[1m]) >= 3")) < targets:
        return False
    groups = api.get("rules")["groups"]
    return all(rule["health"] != "unknown" for group in groups for rule in group["rules"])


def refused(api):
    """Scrape error of a target whose text cannot be parsed, if any."""
    for target in api.get("targets")["activeTargets"]:
        if target["lastError"]:
            return f"{target['scrapeUrl']}: {target['lastError']}"
    return None
