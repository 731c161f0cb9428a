"""Long messages between central and the station of its own organization stay in the job's folder at that node."""

import dataclasses
import json

import pytest

from fedbayes.federation import errors
from fedbayes.federation.messages.codec import encode
from fedbayes.federation.node.memory import Memory, left_name
from fedbayes.federation.node.platform import Origin, Run
from fedbayes.federation.perimeter.envelope import PROTOCOL, Request, filed, open_reply, seal_reply, whole
from fedbayes.mpc.relay import KeyPair, SigningPair

LONG = bytes(range(256)) * 300


@pytest.fixture
def memory(tmp_path):
    return Memory(Run(1, 1, tmp_path, True), Origin(1, 1, "image", 1, "now"))


@pytest.fixture
def keys():
    """Return central's."""
    return KeyPair.generate()


def request(keys, **changes):
    plain = Request(
        PROTOCOL, "00", "1:f", "f", 1, (1,), False, "", None, keys.public_bytes, bytes(32), False, None, LONG
    )
    return dataclasses.replace(plain, **{"near": True, **changes})


def test_a_long_message_is_left_and_found_again(memory, keys):
    asked = request(keys)
    sent = filed(asked, memory)
    assert sent.sealed == b""
    assert len(json.dumps(encode(sent))) < 2_000
    assert whole(sent, memory) == asked
    [file] = memory.path.glob(f"*{left_name(sent.filed)}")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in memory.path.iterdir() if "left" in path.name or path == file] == [file.name]
    memory.wipe()
    with pytest.raises(errors.MessageError, match="start the job again"):
        whole(sent, memory)


def test_a_short_message_travels(memory, keys):
    short = request(keys, sealed=LONG[:100])
    assert filed(short, memory) is short


def test_a_changed_file_is_refused(memory, keys):
    sent = filed(request(keys), memory)
    [file] = memory.path.glob(f"*{left_name(sent.filed)}")
    file.write_bytes(LONG[:-1] + b"x")
    with pytest.raises(errors.MessageError, match="missing in the job's folder"):
        whole(sent, memory)


def test_a_reply_stays_only_beside_central(memory, keys):
    own = KeyPair.generate()
    content = {"reply": {"words": LONG}, "spent": {}, "token": ""}
    near = seal_reply(request(keys), "asked", 1, content, own, memory)
    assert near["sealed"] == ""
    assert len(json.dumps(near)) < 500
    assert open_reply(request(keys), "asked", near, keys, memory)[1] == content
    for asked, station in ((request(keys), 2), (request(keys, near=False), 1), (request(keys, last=True), 1)):
        reply = seal_reply(asked, "asked", station, content, own, memory)
        assert len(reply["sealed"]) > len(LONG)
        assert reply["filed"] == ""
    for changes in ({"near": False}, {"last": True}):
        with pytest.raises(errors.MessageError, match="at another node"):
            open_reply(request(keys, **changes), "asked", near, keys, memory)


def test_a_reply_that_stays_is_found_when_the_job_is_over(memory, keys):
    """The platform may run central again then, which asks for all replies once more."""
    content = {"reply": {"words": LONG}, "spent": {}, "token": ""}
    near = seal_reply(request(keys), "asked", 1, content, KeyPair.generate(), memory)
    memory.wipe()
    assert open_reply(request(keys), "asked", near, keys, memory)[1] == content


def test_whether_a_message_is_near_is_signed(keys):
    """Not in which of both ways its content comes: the signature covers the content itself."""
    pair = SigningPair.from_bytes(bytes(range(32)))
    asked = request(keys, signer=pair.public_bytes).sign(pair)
    asked.check("f")
    dataclasses.replace(asked, filed=bytes(32)).check("f")
    for changes in ({"near": False}, {"sealed": LONG[1:]}, {"sealed": b"", "filed": bytes(32)}):
        with pytest.raises(errors.MessageError, match="changed on its way"):
            dataclasses.replace(asked, **changes).check("f")
