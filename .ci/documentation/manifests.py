"""Checks the manifests in the pages: runs can be planned, and fields are in the Kubernetes schemas. Performs I/O."""

import json
import os
import subprocess


def check_plans(root, all_pages, scratch):
    """Yields the runs that fabricbench cannot plan."""
    for place, file in manifests(root, all_pages, scratch):
        documents = run("yq", "--compact-output", "select(. != null)", file)
        if documents.returncode != 0:
            yield f"{place}: {documents.stderr.strip()}"
            continue
        kinds = {json.loads(document).get("kind") for document in documents.stdout.splitlines()}
        if "BenchmarkRun" in kinds:
            plan = run("fabricbench", "plan", file)
            if plan.returncode != 0:
                yield f"{place}: {plan.stderr.strip()}"


# A BenchmarkRun is checked by `fabricbench plan`. The configuration of kind is not an object of the API server.
SKIPPED = "BenchmarkRun,kind.x-k8s.io/v1alpha4/Cluster"


def check_schemas(root, all_pages, scratch):
    """Yields the manifests of other kinds that do not match the Kubernetes schemas."""
    schemas = [os.environ["FABRICBENCH_KUBERNETES_SCHEMAS"], root / "charts/tests/schemas"]
    locations = [f"-schema-location={directory}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json" for directory in schemas]
    for place, file in manifests(root, all_pages, scratch):
        result = run("kubeconform", "-strict", "-skip", SKIPPED, *locations, file)
        if result.returncode != 0:
            yield f"{place}: {(result.stdout + result.stderr).strip()}"


def applied(root, all_pages, scratch):
    """Yields the runs that the API server in the current kubeconfig context rejects."""
    for place, file in manifests(root, all_pages, scratch):
        if "kind: BenchmarkRun" in file.read_text():
            result = run("kubectl", "apply", "--server-side", "--dry-run=server", "--filename", file)
            if result.returncode != 0:
                yield f"{place}: {result.stderr.strip()}"


def manifests(root, all_pages, scratch):
    """Yields the page and line of each manifest, and a file that contains the manifest. The first one is in the chart."""
    file = scratch / "manifest.yaml"
    examples = run("yq", "--raw-output", '.annotations["artifacthub.io/crdsExamples"]', root / "charts/fabricbench/Chart.yaml").stdout
    file.write_text(examples)
    file.write_text(run("yq", "--yaml-output", ".[]", file).stdout)
    yield "charts/fabricbench/Chart.yaml: the first run", file
    for page in all_pages:
        for block in page.blocks:
            if block.language == "yaml" and "apiVersion:" in block.text:
                file.write_text(block.text)
                yield f"{page.path.relative_to(root)}:{block.line}", file


def run(*command):
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
