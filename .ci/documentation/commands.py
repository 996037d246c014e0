"""Commands of pages are executed: whole, or as far as a cluster that is not there. Starts programs."""

import itertools
import os
import re
import shlex
import shutil
import subprocess

# What readers replace by their own.
PLACEHOLDERS = {"REGISTRY": "registry.example", "TAG": "dev", "NAME": "nixl-t2-inject", "IMAGE": "base"}
# A cluster that refuses at once.
NOWHERE = """
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
current-context: none
"""
UNREACHABLE = re.compile(r"refused|unreachable|no cluster configuration|client error \(Connect\)", re.IGNORECASE)


def check(root, every, scratch):
    """Yields what is wrong, with its place. Commands of a page follow each other in one folder, as a reader's do."""
    (scratch / "kubeconfig").write_text(NOWHERE)
    for name in ("charts", "examples", "images", "operator", "testbed", "Makefile"):
        (scratch / name).symlink_to(root / name)
    helps = {}
    for page in every:
        place = page.path.relative_to(root)
        for line, code in page.inline_code():
            if wrong := misnamed(code, helps):
                yield f"{place}:{line}: `{code}`: {wrong}"
        for line, command in commands(page):
            if wrong := executed(command, scratch):
                yield f"{place}:{line}: {command}\n    {wrong}"


def commands(page):
    """Every command line: its number, and what to execute."""
    for block in page.blocks:
        if block.language not in ("", "sh"):
            continue
        joined = block.text.replace("\\\n", "\0")
        line = block.line
        for text in joined.split("\n"):
            command = re.sub(r"\s+#.*", "", text.replace("\0", " ")).strip()
            is_command = command.partition(" ")[0] in PROGRAMS
            # A block without a language may show output.
            if command and not command.startswith("#") and (is_command or block.language == "sh"):
                yield line, command
            line += 1 + text.count("\0")


def executed(command, scratch):
    """What is wrong with a command; nothing where it ends as it should."""
    words = [placed(word) for word in shlex.split(command)]
    handler = PROGRAMS.get(words[0])
    return handler(words, scratch) if handler else f"no check knows how to execute {words[0]}"


def placed(word):
    """`word` with something in the place of placeholders."""
    return re.sub(r"\b[A-Z]{3,}\b", lambda found: PLACEHOLDERS.get(found[0], found[0]), word)


def run(words, scratch, **more):
    """Executes `words` without a cluster."""
    env = dict(os.environ, KUBECONFIG=str(scratch / "kubeconfig"), NO_COLOR="1")
    return subprocess.run(words, check=False, cwd=scratch, env=env, capture_output=True, text=True, timeout=60, **more)


def ends(words, scratch, statuses=(0,)):
    """It ends with one of `statuses`."""
    result = run(words, scratch)
    return None if result.returncode in statuses else f"status {result.returncode}: {result.stderr.strip()}"


def needs_cluster(words, scratch):
    """It gets as far as the cluster: files and options are right."""
    result = run(words, scratch)
    if result.returncode != 0 and UNREACHABLE.search(result.stderr):
        return None
    return f"status {result.returncode}, and not for want of a cluster: {result.stderr.strip()}"


def fabricbench(words, scratch):
    """A campaign is measured with one round, for that it goes through is what is asked; 1 is an answer, too."""
    if words[1] == "run":
        return ends([*words, "--rounds", "1"], scratch, (0, 1))
    in_cluster = re.compile(r"^[a-z0-9-]+/[a-z0-9-]+$")
    runs = [word for word in words[2:] if in_cluster.match(word) and not (scratch / word).exists()]
    if words[1] not in ("report", "compare") or not runs:
        return ends(words, scratch)
    if unknown := [run for run in runs if not is_example(scratch, run)]:
        return f"{unknown[0]}: no file of examples/ has a run of that name"
    return needs_cluster(words, scratch)


def is_example(scratch, run_name):
    """Whether an example has a run of that name."""
    name = run_name.partition("/")[2]
    return any(f"\n  name: {name}\n" in file.read_text() for file in (scratch / "examples").glob("*.yaml"))


def kubectl(words, scratch):
    """kubectl reads its files before it asks the cluster, or after: that they are there is looked at here."""
    for option, value in itertools.pairwise(words):
        if option in ("-f", "--filename") and not (scratch / value).exists():
            return f"{value}: no such file"
    if unknown := [word for word in words if word.startswith("bench/") and not is_example(scratch, word)]:
        return f"{unknown[0]}: no file of examples/ has a run of that name"
    return needs_cluster(words, scratch)


def helm(words, scratch):
    """What would be installed is rendered, so that values are held against the schema."""
    if words[1] in ("install", "upgrade"):
        rendered = [word for word in words[2:] if word != "--reset-then-reuse-values"]
        return ends(["helm", "template", *rendered, "--kube-version", os.environ["KUBERNETES_VERSION"]], scratch)
    return needs_cluster(words, scratch)


def make(words, scratch):
    """The target is there. What it does, others test."""
    return ends(["make", "--dry-run", *words[1:]], scratch)


def docker(words, scratch):
    """The Dockerfile and its stage are there. `make cluster-test` builds them."""
    file = scratch / words[words.index("--file") + 1]
    if not file.exists():
        return f"{file.relative_to(scratch)}: no such file"
    text = file.read_text()
    stage = words[words.index("--target") + 1] if "--target" in words else None
    arguments = [word.partition("=")[0] for option, word in itertools.pairwise(words) if option == "--build-arg"]
    if stage and not re.search(rf"^FROM \S+ AS {stage}$", text, re.MULTILINE):
        return f"no stage {stage}"
    missing = [name for name in arguments if not re.search(rf"^ARG {name}\b", text, re.MULTILINE)]
    return f"no argument {missing[0]}" if missing else None


def misnamed(code, helps):
    """What is wrong with a command of ours that a sentence names: a subcommand or option that is not there."""
    words = re.findall(r"[^\s\[\]]+", code)
    if len(words) < 2 or words[0] not in ("fabricbench", "fabricbench-runner") or not shutil.which(words[0]):
        return None
    program, rest = words[0], words[1:]
    names = rest[0].split("|") if not rest[0].startswith("-") else [""]
    for name in names:
        asked = [program, name, "--help"] if name else [program, "--help"]
        if tuple(asked) not in helps:
            helps[tuple(asked)] = subprocess.run(asked, check=False, capture_output=True, text=True, timeout=20)
        told = helps[tuple(asked)]
        if told.returncode != 0:
            return f"there is no {program} {name}"
        for option in (word for word in rest if re.match(r"--\w", word)):
            if not re.search(rf"{re.escape(option.partition('=')[0])}(?![\w-])", told.stdout):
                return f"{program} {name} has no {option}"
    return None


PROGRAMS = {
    "fabricbench": fabricbench,
    "fabricbench-runner": ends,
    "kubectl": kubectl,
    "helm": helm,
    "make": make,
    "docker": docker,
}
