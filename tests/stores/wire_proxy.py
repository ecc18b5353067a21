"""Between a store and a PostgreSQL server: counts round trips, and can lose an acknowledgement."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote


class WireProxy:
    """A Unix socket that passes everything on to a server's.

    `round_trips` counts how often the server said that it is ready for the next query. After `lose()` the next reply
    is not passed on: when the server has done the work, the connection is cut.
    """

    def __init__(self, server: Path, folder: Path) -> None:
        self.round_trips = self.lost = 0
        self._server, self._folder, self._left = server / ".s.PGSQL.5432", folder, 0
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / ".s.PGSQL.5432"))
        self._socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, schema: str) -> str:
        """The URL of a store behind the proxy."""
        return f"postgresql://postgres@/postgres?host={quote(str(self._folder), safe='/')}&schema={schema}"

    def lose(self, reply: int = 1) -> None:
        """Do not pass on the reply with this number from now."""
        self._left = reply

    def close(self) -> None:
        """Take no more connections."""
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._socket.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._replies, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), server:
            while data := client.recv(1 << 16):
                server.sendall(data)
            server.shutdown(socket.SHUT_RDWR)

    def _replies(self, client: socket.socket, server: socket.socket) -> None:
        """Whole messages: a byte for the kind, four for the length."""
        buffer = b""
        with suppress(OSError), client:
            while data := server.recv(1 << 16):
                buffer += data
                messages = b""
                while len(buffer) >= 5 and len(buffer) > (size := int.from_bytes(buffer[1:5], "big")):
                    messages += buffer[: size + 1]
                    self.round_trips += buffer[:1] == b"Z"
                    is_last = buffer[:1] == b"Z"
                    buffer = buffer[size + 1 :]
                    if is_last and self._is_lost():
                        client.shutdown(socket.SHUT_RDWR)
                        server.close()
                        return
                client.sendall(messages)
            client.shutdown(socket.SHUT_RDWR)

    def _is_lost(self) -> bool:
        """Whether the reply that ends now is the one to lose."""
        if self._left == 0:
            return False
        self._left -= 1
        self.lost += self._left == 0
        return self._left == 0
