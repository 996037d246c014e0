"""Manifests of pages are right: runs can be planned, and the API server knows every field. Starts programs."""

import json
import os
import subprocess


def check(root, every, scratch):
    """Yields what is wrong, with its place."""
    for page in every:
        for block in page.blocks:
            if block.language == "yaml" and "apiVersion:" in block.text:
                file = scratch / "manifest.yaml"
                file.write_text(block.text)
                for wrong in problems(root, file):
                    yield f"{page.path.relative_to(root)}:{block.line}: {wrong}"


def applied(root, every, scratch):
    """Yields the runs of pages that the API server of KUBECONFIG would not take. It keeps none of them."""
    for page in every:
        for block in page.blocks:
            if block.language == "yaml" and "kind: BenchmarkRun" in block.text:
                file = scratch / "manifest.yaml"
                file.write_text(block.text)
                answer = output("kubectl", "apply", "--server-side", "--dry-run=server", "--filename", file)
                if answer.returncode != 0:
                    yield f"{page.path.relative_to(root)}:{block.line}: {answer.stderr.strip()}"


def problems(root, file):
    """What is wrong with a file of manifests."""
    read = output("yq", "--compact-output", "select(. != null)", file)
    if read.returncode != 0:
        yield read.stderr.strip()
        return
    kinds = {json.loads(document).get("kind") for document in read.stdout.splitlines()}
    if "BenchmarkRun" in kinds:
        planned = output("fabricbench", "plan", file)
        if planned.returncode != 0:
            yield planned.stderr.strip()
    schemas = [os.environ["FABRICBENCH_KUBERNETES_SCHEMAS"], root / "charts/tests/schemas"]
    places = [f"-schema-location={folder}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json" for folder in schemas]
    # Of runs the plan has said it, and better.
    conforms = output("kubeconform", "-strict", "-skip", "BenchmarkRun", *places, file)
    if conforms.returncode != 0:
        yield (conforms.stdout + conforms.stderr).strip()


def output(*command):
    """Runs a program and keeps what it says."""
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
