"""What each role receives: declared rounds only, noisy statistics only, and nothing whose size depends on the data."""

import numpy as np
import pandas as pd

from fedbayes.bayes.schema import Schema
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.messages.codec import encode
from v6_smooth_naive_bayes.messages import Settings, Statistics
from v6_smooth_naive_bayes.model import perturb, summarise
from v6_smooth_naive_bayes.queries import Release


def sent(parties, domain) -> list[dict]:
    with EmbeddedFederation(parties, helpers=["helper"], record=True) as federation:
        federation.run("smooth_naive_bayes", "fit", {"label": "class", "domain": domain, "epsilon": 1.0})
        return list(federation.transcript)


def test_only_declared_rounds_are_sent_and_replies_have_one_size(parties, domain, tables):
    first = sent(parties, domain)
    for name, files in parties.items():
        pd.DataFrame(tables[name]).assign(age=3.0, smoker="no").to_csv(files["default"], index=False)
    second = sent(parties, domain)
    for transcript in (first, second):
        functions = [entry["function"] for entry in transcript if entry["function"].startswith("partial")]
        assert sorted(set(functions)) == ["partial_open_channel", "partial_release"]
        assert functions.count("partial_release") == 3
    sizes = [
        [len(entry["result"]["sealed"]) for entry in transcript if entry["function"] == "partial_release"]
        for transcript in (first, second)
    ]
    assert sizes[0] == sizes[1]
    assert len(set(sizes[0])) == 1


def test_the_request_is_sealed_and_as_long_for_everyone(parties, domain):
    asked = [
        entry["input"]["kwargs"]["message"] for entry in sent(parties, domain) if entry["function"] == "partial_release"
    ]
    assert asked
    assert all(message["body"] is None for message in asked)
    assert not any(name in str(asked) for name in ("smoker", "pressure", "categories"))


def test_a_reply_holds_noisy_statistics_and_no_scales(tables, domain):
    schema, settings = Schema.from_domain(domain), Settings(1.0)
    summary = summarise(Release(schema, "class", settings), schema.encode(tables["east"]))
    reply = perturb(summary, Release(schema, "class", settings))
    assert set(encode(reply)) == {"counts", "missing", "first", "second"}
    assert not np.array_equal(reply.counts, summary.counts)
    assert not np.isin(reply.first, summary.first).any()
    for scale in (summary.first_scale, summary.second_scale):
        assert not np.isin(reply.first, scale).any()
        assert not np.isin(reply.second, scale).any()
    for released, largest in ((reply.first, 1.0), (reply.second, 0.25)):
        assert np.array_equal(np.rint(released * 2**24) / 2**24, released)
        assert ((released >= 0) & (released <= largest)).all()


def test_two_draws_differ(tables, domain):
    schema = Schema.from_domain(domain)

    def draw(epsilon: float) -> Statistics:
        settings = Settings(epsilon)
        return perturb(
            summarise(Release(schema, "class", settings), schema.encode(tables["east"])),
            Release(schema, "class", settings),
        )

    one, two = draw(30.0), draw(30.0)
    assert isinstance(one, Statistics)
    assert (one.first != two.first).all()
    assert (one.second != two.second).sum() >= 3  # the others may both have been clipped
    assert not np.array_equal(draw(0.1).counts, draw(0.1).counts)
