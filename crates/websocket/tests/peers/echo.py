"""The other end of tests/it/others.rs, by Python's `websockets`.

    echo.py serve                    echoes; prints its port
    echo.py drive URL COUNT SEED     sends so many random messages and wants each back
"""

import random
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve

LETTERS = "aé€𝄞 z"
LIMIT = 1 << 24


def message(draw):
    """A message, and the parts in which it is sent."""
    length = draw.choice([0, 1, 125, 126, 300, 3000, 66000])
    length = draw.randrange(length + 1)
    is_text = draw.random() < 0.5
    whole = "".join(draw.choices(LETTERS, k=length)) if is_text else draw.randbytes(length)
    if draw.random() < 0.5 or not whole:
        return whole, whole
    most = max(1, len(whole) // draw.randrange(1, 12))
    return whole, [whole[at : at + most] for at in range(0, len(whole), most)]


def drive(url, count, seed):
    draw = random.Random(seed)
    for compression in (None, "deflate"):
        with connect(url, compression=compression, max_size=LIMIT) as socket:
            for left in range(count, 0, -8):
                sent = [message(draw) for _ in range(min(8, left))]
                for _, parts in sent:
                    socket.send(parts)
                pong = socket.ping(draw.randbytes(draw.randrange(126)))
                for whole, _ in sent:
                    assert socket.recv(timeout=20) == whole
                assert pong.wait(20)
            socket.close(4000, "done, 好")
        assert (socket.close_code, socket.close_reason) == (4000, "")


def echo(socket):
    try:
        while True:
            socket.send(socket.recv())
    except ConnectionClosed:
        pass


if sys.argv[1] == "drive":
    drive(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    with serve(echo, "127.0.0.1", 0, max_size=LIMIT) as server:
        print(server.socket.getsockname()[1], flush=True)
        server.serve_forever()
