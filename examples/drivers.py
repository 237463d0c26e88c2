"""Evaluate a driver table that `sinew bake --drivers` wrote: slider weights to target weights.

    python3 drivers.py drivers.json jawOpen=0.5 mouthSmileLeft=1

prints the weight of every target that is not zero. Needs nothing but Python.
"""
import json
import sys


def along(rest, knots, w):
    """Weights of the knots of one slider: linear from knot to knot, the rest being a knot itself.
    Beyond the outermost knots the outermost segments go on."""
    points = sorted([(rest, None)] + [(k["at"], k["target"]) for k in knots], key=lambda p: p[0])
    i = 0
    while i + 2 < len(points) and w >= points[i + 1][0]:
        i += 1
    (low, a), (high, b) = points[i], points[i + 1]
    t = (w - low) / (high - low)
    return {name: value for name, value in ((a, 1 - t), (b, t)) if name is not None}


def polynomial(terms, u):
    """Sum of coefficient * u[driver]**power * ...; the drivers stay within [0, 1]."""
    total = 0.0
    for coefficient, *factors in terms:
        for driver, power in factors:
            coefficient *= min(u[driver], 1.0) ** power
        total += coefficient
    return total


def combined(rule, terms, u):
    if rule == "polynomial":
        return polynomial(terms, u)
    if rule == "hinge":
        return max(polynomial(terms, u) - 1.0, 0.0)
    if rule == "multiply":
        product = 1.0
        for value in u:
            product *= value
        return product
    if rule == "lowest" or min(u) <= 0:
        return min(u)
    return (sum(value**-4.0 for value in u) / len(u)) ** -0.25  # smooth_lowest


def evaluate(table, weights):
    """Weights of all targets, by name; sliders that are not given are at rest."""
    result = dict.fromkeys(table["targets"], 0.0)
    value = {s["name"]: weights.get(s["name"], s["rest"]) for s in table["sliders"]}
    rest = {s["name"]: s["rest"] for s in table["sliders"]}
    for s in table["sliders"]:
        if s["knots"]:
            result.update(along(s["rest"], s["knots"], value[s["name"]]))
    for c in table["combinations"]:
        u = [max((value[d] - rest[d]) / ((1 - rest[d]) or 1), 0.0) for d in c["drivers"]]
        result[c["target"]] = combined(c["rule"], c.get("terms"), u)
    return result


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        drivers = json.load(file)
    given = {name: float(w) for name, w in (a.split("=") for a in sys.argv[2:])}
    for name, weight in evaluate(drivers, given).items():
        if weight != 0:
            print(f"{name} {weight:.9g}")
