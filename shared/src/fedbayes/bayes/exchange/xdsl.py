"""Networks in XDSL, the format of GeNIe and SMILE.

The probabilities run through the parents in order, the child's states fastest: the C order of our tables.
Names that are no identifiers are written as identifiers, the original ones in a user property of the node.
"""

from __future__ import annotations

import json
from xml.etree import ElementTree

from ..network import BayesianNetwork
from ..network.graph import topological_order
from .bif import identifiers

PROPERTY = "fedbayes"
SPACING = 160  # pixels between nodes in GeNIe's window


def to_xdsl(network: BayesianNetwork, name: str = "fedbayes") -> str:
    """Return the network as XDSL text, nodes parents first and laid out by their depth."""
    ids = identifiers(network.nodes)
    order = topological_order({node: network.parents[node] for node in network.nodes})
    root = ElementTree.Element(
        "smile", version="1.0", id=identifiers([name])[name], numsamples="10000", discsamples="10000"
    )
    nodes = ElementTree.SubElement(root, "nodes")
    for node in order:
        nodes.append(_cpt(network, node, ids))
    extensions = ElementTree.SubElement(root, "extensions")
    genie = ElementTree.SubElement(extensions, "genie", version="1.0", app="fedbayes", name=name)
    depth: dict[str, int] = {}
    for node in order:
        depth[node] = 1 + max((depth[parent] for parent in network.parents[node]), default=-1)
        across = sum(value == depth[node] for value in depth.values())
        drawn = ElementTree.SubElement(genie, "node", id=ids[node])
        ElementTree.SubElement(drawn, "name").text = node
        left, top = across * SPACING, (1 + depth[node]) * SPACING
        ElementTree.SubElement(drawn, "position").text = f"{left} {top} {left + 120} {top + 60}"
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _cpt(network: BayesianNetwork, node: str, ids: dict[str, str]) -> ElementTree.Element:
    element = ElementTree.Element("cpt", id=ids[node])
    states = network.states[node]
    state_ids = identifiers(states)
    for state in states:
        ElementTree.SubElement(element, "state", id=state_ids[state])
    if network.parents[node]:
        ElementTree.SubElement(element, "parents").text = " ".join(ids[p] for p in network.parents[node])
    numbers = " ".join(map(repr, network.tables[node].ravel().tolist()))
    ElementTree.SubElement(element, "probabilities").text = numbers
    if ids[node] != node or any(state_ids[s] != s for s in states):
        label = ElementTree.SubElement(element, "property", id=PROPERTY)
        label.text = json.dumps({"name": node, "states": list(states)})
    return element
