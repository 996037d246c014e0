"""Tests that each check reports the errors that it must detect and accepts correct input.

The `Kubernetes` class needs kubectl, helm and kubeconform; the `Local` class does not.
"""

import tempfile
import unittest
from pathlib import Path

import addresses
import commands
import enums
import examples
import fields
import links
import manifests
import pages
import site_pages
import tests

ROOT = Path(__file__).resolve().parents[2]
RUN = (ROOT / "examples/nixl-t2-inject.yaml").read_text()
POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: a, image: b}]}
"""


def page(text):
    return pages.parsed(ROOT / "docs/planted.md", text)


def fenced(language, text):
    return page(f"```{language}\n{text}\n```\n")


class Faults(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scratch = Path(directory.name)

    def assert_faults(self, faults, *expected):
        """Checks that there is one fault for each string in `expected`, in the same order, and that it contains the string."""
        self.assertEqual(len(faults := list(faults)), len(expected), faults)
        for fault, text in zip(faults, expected, strict=True):
            self.assertIn(text, fault)


class Local(Faults):
    def test_broken_links_are_reported(self):
        right = "# A b: `c`\n[x](install.md#upgrade) [y](#a-b-c) ![z](report-dark.png) [w](https://x.invalid/)"
        self.assert_faults(links.check(ROOT, [page(right)]))
        wrong = "[x](instal.md) [y](install.md#up) [z](#c)"
        self.assert_faults(links.check(ROOT, [page(wrong)]), "no such file", "no such heading", "no such heading")

    def test_missing_paths_in_running_text_are_reported(self):
        self.assert_faults(links.check_paths(ROOT, [page("`operator/src/` `docs/decisions/*.md` `verdicts.md` `other/none.rs`")]))
        self.assert_faults(links.check_paths(ROOT, [page("`operator/src/none.rs`")]), "no such file")

    def test_unreachable_page_is_reported(self):
        unlinked, readme = page(""), pages.parsed(ROOT / "README.md", "")
        self.assert_faults(links.orphans(ROOT, [readme, unlinked]), "not reachable")

    def test_addresses_of_missing_pages_are_reported(self):
        home = addresses.chart_field(ROOT, "home")
        self.assertEqual(addresses.parts(home, f"{home}/docs/a.html#b"), ("docs/a.md", "b"))
        self.assertEqual(addresses.parts(home, f"{home}/docs/index.html"), ("docs/README.md", ""))
        self.assertEqual(addresses.parts(home, f"{home}/docs/icon.svg"), ("docs/icon.svg", ""))
        self.assertEqual(addresses.parts(home, f"{home}/docs/install.md"), ("", ""))
        self.assertIsNone(addresses.missing(ROOT, "docs/troubleshooting.md", "fabricbenchregression"))
        self.assertEqual(addresses.missing(ROOT, "docs/troubleshooting.md", "none"), "no such heading")
        self.assertEqual(addresses.missing(ROOT, "docs/none.md", ""), "no such page")
        self.assertIn(("docs/troubleshooting.html", "fabricbenchregression"), addresses.targets(ROOT))

    def test_addresses_that_the_site_does_not_have_are_reported(self):
        faults = list(site_pages.check(ROOT, self.scratch))
        self.assertEqual(len(faults), len(addresses.targets(ROOT)))
        self.assertGreater(len(faults), 15)
        (self.scratch / "docs").mkdir()
        (self.scratch / "docs/troubleshooting.html").write_text('<section id="fabricbenchregression">')
        faults = list(site_pages.check(ROOT, self.scratch))
        self.assertIn("docs/troubleshooting.html#fabricbenchrunfailed: the site has no such anchor", faults)
        self.assertNotIn("docs/troubleshooting.html#fabricbenchregression: the site has no such anchor", faults)

    def test_missing_examples_are_reported(self):
        index = ROOT / "examples/README.md"
        self.assert_faults(examples.check(ROOT, [pages.read(index)]))
        text = index.read_text()
        missing, twice = text.replace("(demo.yaml)", "(testbed.yaml)"), text + "[x](demo.yaml)"
        expected = "demo.yaml is named 0 times", "testbed.yaml is named 2 times"
        self.assert_faults(examples.check(ROOT, [pages.parsed(index, missing)]), *expected)
        self.assert_faults(examples.check(ROOT, [pages.parsed(index, twice)]), "demo.yaml is named 2 times")

    def test_unknown_fields_are_reported(self):
        right = "`spec.variants[].inject.maxBytes: 1Ki` `status.results[0].validRounds` `image.tag=TAG` `sampling.rounds`"
        self.assert_faults(fields.check(ROOT, [page(right)]))
        wrong = "`spec.variants[].injects` `status.result` `image.tags=x` `sampling.round`"
        self.assert_faults(fields.check(ROOT, [page(wrong)]), "no such", "no such", "neither", "neither")

    def test_undocumented_enum_values_are_reported(self):
        every = {path: pages.read(ROOT / "docs" / path) for path in ("troubleshooting.md", "verdicts.md")}
        self.assert_faults(enums.check(ROOT, every.values()))
        for removed, expected_fault in [
            ("| `InsufficientNodes` |", "reasons: InsufficientNodes is not documented"),
            ("| `FabricUnreachable` |", "failures: FabricUnreachable is not documented"),
            ("| `Throttled` |", "invalid cases: Throttled is not documented"),
            ("| `LibraryOutput` |", "warnings: LibraryOutput is not documented"),
            ("| `3` |", "exit statuses: 3 is not documented"),
            ("| `NameCollision` |", "categories: NameCollision is not documented"),
            ("### FabricbenchRegression", "alerts: FabricbenchRegression is not documented"),
        ]:
            text = (ROOT / "docs/troubleshooting.md").read_text().replace(removed, removed[0] + " Other")
            changed_page = pages.parsed(ROOT / "docs/troubleshooting.md", text)
            faults = list(enums.check(ROOT, [changed_page, every["verdicts.md"]]))
            self.assertIn(expected_fault, faults)

    def test_documented_value_without_code_is_reported(self):
        self.assert_faults(enums.compare_sets("reasons", {"A"}, {"A", "B"}), "B is documented, but the code does not have it")
        self.assert_faults(enums.compare_sets("reasons", set(), {"A"}), "none found in the code", "A is documented")

    def test_unknown_test_names_are_reported(self):
        self.assert_faults(tests.check(ROOT, [page("| tests |\n|---|\n| `main` |")]))
        self.assert_faults(tests.check(ROOT, [page("| rule | tests |\n|---|---|\n| `other` | `no_such_test` |")]), "no_such_test")

    def test_invalid_runs_are_reported(self):
        self.assert_faults(manifests.check_plans(ROOT, [fenced("yaml", RUN), fenced("yaml", POD)], self.scratch))
        wrong = RUN.replace("iterations", "iteration")
        self.assert_faults(manifests.check_plans(ROOT, [fenced("yaml", wrong)], self.scratch), "iteration")

    def test_valid_commands_are_accepted(self):
        valid = """
            fabricbench plan examples/nixl-t2-inject.yaml  # a comment
            fabricbench report default/nixl-t2-inject \\
                --format html
            make --jobs 1 demo
            docker build --file images/runner/Dockerfile --target doorbell .
            kubectl gett pods
        """
        self.assert_faults(commands.check(ROOT, [fenced("sh", valid)], self.scratch, commands.LOCAL))

    def test_invalid_commands_are_reported(self):
        for invalid, text in [
            ("fabricbench plan examples/none.yaml", "none.yaml"),
            ("fabricbench report default/none", "no file in examples/"),
            ("fabricbench report default/nixl-t2-inject --forma html", "--forma"),
            ("make no-such-target", "no-such-target"),
            ("docker build --file images/runner/Dockerfile --target none .", "no stage none"),
            ("mke demo", "no check knows"),
        ]:
            with self.subTest(invalid), tempfile.TemporaryDirectory() as directory:
                self.assert_faults(commands.check(ROOT, [fenced("sh", invalid)], Path(directory), commands.LOCAL), text)

    def test_manifests_with_a_file_name_are_saved(self):
        run = RUN.replace("name: nixl-t2-inject", "name: saved").partition("apiVersion")[2]
        text = f"```yaml\n# saved.yaml\napiVersion{run}```\n```sh\nfabricbench plan saved.yaml\nfabricbench report default/saved\n```\n"
        self.assert_faults(commands.check(ROOT, [page(text)], self.scratch, commands.LOCAL))

    def test_output_in_a_block_without_a_language_is_not_executed(self):
        page = fenced("", "demo-tcp   libfabric\nfabricbench plan none")
        self.assert_faults(commands.check(ROOT, [page], self.scratch, commands.LOCAL), "none")

    def test_unknown_commands_in_running_text_are_reported(self):
        valid = "`fabricbench run FILE [--output DIR]` `fabricbench-runner probe` `fabricbench plan|report`"
        self.assert_faults(commands.check_names(ROOT, [page(valid)]))
        invalid = "`fabricbench runn FILE` `fabricbench run --out DIR` `make no-such-target`"
        expected = "has no subcommand", "has no --out", "has no target"
        self.assert_faults(commands.check_names(ROOT, [page(invalid)]), *expected)


class Kubernetes(Faults):
    def test_invalid_manifests_are_reported(self):
        self.assert_faults(manifests.check_schemas(ROOT, [fenced("yaml", RUN), fenced("yaml", POD)], self.scratch))
        wrong = POD.replace("image", "images")
        self.assert_faults(manifests.check_schemas(ROOT, [fenced("yaml", wrong)], self.scratch), "images")

    def test_valid_commands_are_accepted(self):
        valid = """
            kubectl apply -f examples/nixl-t2-inject.yaml
            helm install a charts/fabricbench --set image.repository=REGISTRY/x,runner.image.repository=REGISTRY/y
            make no-such-target
        """
        self.assert_faults(commands.check(ROOT, [fenced("sh", valid)], self.scratch, commands.KUBERNETES))

    def test_invalid_commands_are_reported(self):
        for invalid, text in [
            ("kubectl apply -f examples/none.yaml", "no such file"),
            ("kubectl gett pods", "unknown command"),
            ("kubectl get pods --no-such", "unknown flag"),
            ("helm install a charts/fabricbench --set image.name=x", "name"),
        ]:
            with self.subTest(invalid), tempfile.TemporaryDirectory() as directory:
                self.assert_faults(commands.check(ROOT, [fenced("sh", invalid)], Path(directory), commands.KUBERNETES), text)


if __name__ == "__main__":
    unittest.main()
