"""The values of a result by name. Remembers which of them were compared."""


class Values:
    def __init__(self, stored):
        self.stored = stored.get("values") or {}
        self.compared = set()

    def get(self, name):
        self.compared.add(name)
        return self.stored.get(name)

    def group(self, prefix):
        """The values of a group, such as `flush`."""
        return Group(self, prefix)

    def others(self):
        """The names of the values that were not compared."""
        return sorted(self.stored.keys() - self.compared)


class Group:
    def __init__(self, values, prefix):
        self.values, self.prefix = values, prefix

    def get(self, field):
        return self.values.get(self.name(field))

    def name(self, field):
        return self.prefix + field[0].upper() + field[1:]
