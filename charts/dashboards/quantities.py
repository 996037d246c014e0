"""The catalogue of quantities: their metrics, labels and units, from quantities.json, which `.ci/generate` writes."""

import json
import pathlib
import re

# Units in which Grafana shows the metrics, whose base units are seconds, bytes and ratios.
UNITS = {"ns": "s", "bytes": "bytes", "ns/GiB": "suffix:s/GiB", "%": "percentunit", "millionths": "short", "": "short"}


class Quantity:
    """A quantity of the catalogue."""

    def __init__(self, entry):
        self.name = entry["quantity"]
        self.help = entry["help"]
        self.metric = entry["metric"]
        label = entry["label"]
        self.label = f'{label["name"]}="{label["value"]}"' if label else ""
        self.unit = UNITS.get(entry["unit"]) or ("Bps" if self.name.lower().endswith("bytespersecond") else "ops")

    @property
    def title(self):
        """The words of the name, without the unit."""
        name = re.sub("(?i)bytesPerSecond$", "Throughput", self.name)
        name = re.sub("NanosPerGib$", "PerGib", re.sub("(Nanos|Ppm|PerSecond)$", "", name))
        words = re.findall("[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*", name[0].upper() + name[1:])
        words = [re.sub(r"^p99(\d+)$", r"p99.\1", word.lower()) for word in words]
        names = {"cpu": "CPU", "gib": "GiB", "rss": "RSS", "vram": "VRAM"}
        return " ".join(names.get(word, word) for word in words)


def read():
    """All quantities by name, in the order of the catalogue."""
    text = pathlib.Path(__file__).with_name("quantities.json").read_text(encoding="utf-8")
    return {entry["quantity"]: Quantity(entry) for entry in json.loads(text)}


ALL = read()
