"""Starts a Prometheus server on 127.0.0.1 for the duration of a test and queries it. Performs I/O."""

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
    """Error response from Prometheus, with its message."""


class Api:
    """HTTP API of the Prometheus server at `url`."""

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
        """Result of an instant query as {labels: value}."""
        result = self.get("query", query=expression)["result"]
        return {frozenset(row["metric"].items()): float(row["value"][1]) for row in result}

    def latest(self, expression, seconds):
        """Result of a query over the last `seconds` as {labels: last value}."""
        end = time.time()
        result = self.get("query_range", query=expression, start=end - seconds, end=end, step=1)["result"]
        return {frozenset(row["metric"].items()): float(row["values"][-1][1]) for row in result}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what, seconds=30, failure=lambda: None):
    """Waits until `condition` returns a truthy value. Exits at once if `failure` returns a reason."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if reason := failure():
            raise SystemExit(f"waiting for {what}: {reason}")
        if time.monotonic() > end:
            raise SystemExit(f"waiting for {what}: timed out after {seconds} s")
        time.sleep(0.1)
    return found


@contextlib.contextmanager
def served(directory):
    """Serves the *.prom files in `directory` as OpenMetrics; yields their URLs."""

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
def running(directory, texts, operators, token, rules):
    """Runs a Prometheus server that scrapes `texts` and `operators` every second and evaluates `rules`; yields its `Api`.

    The operators get the bearer token in the file `token`, if it is set.

    Its files are stored in `directory`.
    """
    scrapes, targets = [], texts + operators
    for number, target in enumerate(targets):
        url = urllib.parse.urlsplit(target)
        static = [{"targets": [url.netloc], "labels": {"namespace": "fabricbench"}}]
        scrape = {"job_name": f"fabricbench-{number}", "metrics_path": url.path, "static_configs": static}
        if token and target in operators:
            scrape["authorization"] = {"credentials_file": str(token)}
        scrapes.append(scrape)
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(path) for path in rules],
        "scrape_configs": scrapes,
    }
    # JSON is valid YAML.
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
            wait_until(
                lambda: is_ready(f"{api.url}/-/ready"), "Prometheus to start", failure=lambda: ended(process, log_path)
            )
            wait_until(lambda: scraped(api, len(targets)), "Prometheus to scrape", failure=lambda: scrape_error(api))
            yield api
        finally:
            process.terminate()
            process.wait(20)


def ended(process, log_path):
    if process.poll() is None:
        return None
    return f"it exited: {log_path.read_text(encoding='utf-8')[-2000:]}"


def is_ready(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def scraped(api, targets):
    """Whether each target has been scraped often enough to compute rates, and the rules have been evaluated."""
    if len(api.rows("sum_over_time(up[1m]) >= 3")) < targets:
        return False
    groups = api.get("rules")["groups"]
    return all(rule["health"] != "unknown" for group in groups for rule in group["rules"])


def scrape_error(api):
    """Error message for a target that cannot be scraped, or None."""
    for target in api.get("targets")["activeTargets"]:
        if target["lastError"]:
            return f"{target['scrapeUrl']}: {target['lastError']}"
    return None
