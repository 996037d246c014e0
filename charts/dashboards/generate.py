"""Writes the dashboards as JSON into a directory.

Usage: generate.py DIRECTORY, with the Grafana Foundation SDK on PYTHONPATH.
"""

import json
import pathlib
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder

import campaign
import fleet
import operator_health


def main(directory):
    for module in (campaign, fleet, operator_health):
        board = module.build().build()
        for number, panel in enumerate(board.panels, start=1):
            panel.id_val = number
        text = json.dumps(board, cls=JSONEncoder, indent=2, ensure_ascii=False)
        name = board.uid.removeprefix("fabricbench-")
        pathlib.Path(directory, f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
