"""Executes the commands in the pages until they finish or try to reach a cluster. Performs I/O."""

import itertools
import os
import re
import shlex
import shutil
import subprocess

# Placeholders that readers replace with their values.
PLACEHOLDERS = {"REGISTRY": "registry.example", "TAG": "dev", "NAME": "nixl-t2-inject", "IMAGE": "base"}
# Seconds. A run of one round takes up to 10 s, and several times longer on a machine that compiles at the same time.
LIMIT = 300
# A kubeconfig for a cluster that immediately refuses connections.
UNREACHABLE_CLUSTER = """
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
current-context: none
"""
UNREACHABLE = re.compile(r"refused|unreachable|client error \(Connect\)", re.IGNORECASE)


def check(root, all_pages, scratch, programs):
    """Yields the commands that execute one of `programs` and fail. All commands run in the directory `scratch`."""
    (scratch / "kubeconfig").write_text(UNREACHABLE_CLUSTER)
    for name in ("charts", "command-output", "examples", "images", "operator", "testbed", "Makefile"):
        (scratch / name).symlink_to(root / name)
    for page in all_pages:
        save_manifests(page, scratch)
        for line, command in commands(page):
            if problem := execute(command, scratch, programs):
                yield f"{page.path.relative_to(root)}:{line}: {command}\n    {problem}"


def check_names(root, all_pages):
    """Yields the subcommands, options and make targets in running text that do not exist."""
    helps = {}
    makefile = (root / "Makefile").read_text()
    for page in all_pages:
        for line, code in page.inline_code():
            if problem := misnamed(code, helps, makefile):
                yield f"{page.path.relative_to(root)}:{line}: `{code}`: {problem}"


def save_manifests(page, scratch):
    """Writes each manifest whose first line is a comment with a file name to this file, as the page asks its readers to do."""
    for block in page.blocks:
        if block.language == "yaml" and (name := re.match(r"# ([\w.-]+\.yaml)\n", block.text)):
            (scratch / name[1]).write_text(block.text)


def commands(page):
    """Yields each command with its line number."""
    for block in page.blocks:
        if block.language not in ("", "sh"):
            continue
        joined = block.text.replace("\\\n", "\0")
        line = block.line
        for text in joined.split("\n"):
            command = re.sub(r"\s+#.*", "", text.replace("\0", " ")).strip()
            is_command = command.partition(" ")[0] in LOCAL | KUBERNETES
            # A block without a language may also contain output.
            if command and not command.startswith("#") and (is_command or block.language == "sh"):
                yield line, command
            line += 1 + text.count("\0")


def execute(command, scratch, programs):
    """Returns why a command does not work, or None if it works or its program is not in `programs`."""
    arguments = [with_placeholders(word) for word in shlex.split(command)]
    name = arguments[0]
    if name not in LOCAL | KUBERNETES:
        return f"no check knows how to execute {name}"
    try:
        return programs[name](arguments, scratch) if name in programs else None
    except subprocess.TimeoutExpired:
        return f"it did not end within {LIMIT} seconds"


def with_placeholders(word):
    """Replaces the placeholders in `word` with example values."""
    return re.sub(r"\b[A-Z]{3,}\b", lambda found: PLACEHOLDERS.get(found[0], found[0]), word)


def run(arguments, scratch, **more):
    """Runs a command with a kubeconfig whose cluster is unreachable."""
    env = dict(os.environ, KUBECONFIG=str(scratch / "kubeconfig"), NO_COLOR="1")
    return subprocess.run(arguments, check=False, cwd=scratch, env=env, capture_output=True, text=True, timeout=LIMIT, **more)


def exits(arguments, scratch, statuses=(0,)):
    """Runs a command, which must exit with one of `statuses`."""
    result = run(arguments, scratch)
    return None if result.returncode in statuses else f"status {result.returncode}: {result.stderr.strip()}"


def needs_cluster(arguments, scratch):
    """Runs a command, which must fail to connect: this shows that its files and options are valid."""
    result = run(arguments, scratch)
    if result.returncode != 0 and UNREACHABLE.search(result.stderr):
        return None
    return f"status {result.returncode}, and the cause is not the missing cluster: {result.stderr.strip()}"


def fabricbench(arguments, scratch):
    """Runs a fabricbench command.

    Campaigns have only one round: `run` may exit with status 1, and `replay` with status 3, because one round is not
    enough to compare two runs. Imported runs cannot be trusted like measured runs, so they result in status 3.
    """
    if arguments[1] == "run":
        return exits([*arguments, "--rounds", "1"], scratch, (0, 1))
    if any((scratch / word / "import.json").exists() for word in arguments[2:]):
        return exits(arguments, scratch, (3,))
    in_cluster = re.compile(r"^[a-z0-9-]+/[a-z0-9-]+$")
    runs = [word for word in arguments[2:] if in_cluster.match(word) and not (scratch / word).exists()]
    if arguments[1] == "replay" and not runs:
        return exits(arguments, scratch, (0, 1, 3))
    if arguments[1] not in ("report", "compare", "replay") or not runs:
        return exits(arguments, scratch)
    if unknown := [run for run in runs if not is_example(scratch, run)]:
        return f"{unknown[0]}: no file in examples/ has a run of that name"
    return needs_cluster(arguments, scratch)


def is_example(scratch, run_name):
    """Whether an example, or a manifest that a page has saved, has a run with this name."""
    name = run_name.partition("/")[2]
    files = itertools.chain((scratch / "examples").glob("*.yaml"), scratch.glob("*.yaml"))
    return any(f"\n  name: {name}\n" in file.read_text() for file in files)


def kubectl(arguments, scratch):
    """Checks that files exist, because kubectl may contact the cluster before it reads them."""
    for option, value in itertools.pairwise(arguments):
        if option in ("-f", "--filename") and not (scratch / value).exists():
            return f"{value}: no such file"
    if unknown := [word for word in arguments if word.startswith("bench/") and not is_example(scratch, word)]:
        return f"{unknown[0]}: no file in examples/ has a run of that name"
    return needs_cluster(arguments, scratch)


def helm(arguments, scratch):
    """Checks the values against the schema by rendering the chart instead of installing it."""
    if arguments[1] in ("install", "upgrade"):
        rendered = [word for word in arguments[2:] if word != "--reset-then-reuse-values"]
        return exits(["helm", "template", *rendered, "--kube-version", os.environ["KUBERNETES_VERSION"]], scratch)
    return needs_cluster(arguments, scratch)


def make(arguments, scratch):
    """Checks that the target exists. Other checks execute it."""
    return exits(["make", "--dry-run", *arguments[1:]], scratch)


def docker(arguments, scratch):
    """Checks that the Dockerfile, its stage and its arguments exist. `make test-cluster` builds the images."""
    file = scratch / arguments[arguments.index("--file") + 1]
    if not file.exists():
        return f"{file.relative_to(scratch)}: no such file"
    text = file.read_text()
    stage = arguments[arguments.index("--target") + 1] if "--target" in arguments else None
    build_args = [word.partition("=")[0] for option, word in itertools.pairwise(arguments) if option == "--build-arg"]
    if stage and not re.search(rf"^FROM \S+ AS {stage}$", text, re.MULTILINE):
        return f"no stage {stage}"
    missing = [name for name in build_args if not re.search(rf"^ARG {name}\b", text, re.MULTILINE)]
    return f"no argument {missing[0]}" if missing else None


def misnamed(code, helps, makefile):
    """Returns a description of a subcommand, option or target in `code` that does not exist, or None."""
    arguments = re.findall(r"[^\s\[\]]+", code)
    if arguments[:1] == ["make"] and len(arguments) == 2 and not re.search(rf"^{re.escape(arguments[1])}:", makefile, re.MULTILINE):
        return f"the Makefile has no target {arguments[1]}"
    if len(arguments) < 2 or arguments[0] not in ("fabricbench", "fabricbench-runner") or not shutil.which(arguments[0]):
        return None
    program, rest = arguments[0], arguments[1:]
    names = rest[0].split("|") if not rest[0].startswith("-") else [""]
    for name in names:
        query = [program, name, "--help"] if name else [program, "--help"]
        if tuple(query) not in helps:
            helps[tuple(query)] = subprocess.run(query, check=False, capture_output=True, text=True, timeout=20)
        result = helps[tuple(query)]
        if result.returncode != 0:
            return f"{program} has no subcommand {name}"
        for option in (word for word in rest if re.match(r"--\w", word)):
            if not re.search(rf"{re.escape(option.partition('=')[0])}(?![\w-])", result.stdout):
                return f"{program} {name} has no {option}"
    return None


LOCAL = {"fabricbench": fabricbench, "fabricbench-runner": exits, "make": make, "docker": docker}
KUBERNETES = {"kubectl": kubectl, "helm": helm}
