"""A TCP proxy that does to connections what bad networks and dying servers do: stdlib only."""
import socket
import threading


def busy(problem):
    """What a server says that wants to be asked again in a second."""
    body = b'{"type": "/problems/%s", "title": "Not now", "status": 503}' % problem.encode()
    return (b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)) + body


class Proxy:
    """Forwards to `port`. `rule(number)` of each connection, from 0: a dict of
    `up`: bytes let through to the server before both sides are cut,
    `reply`: False: the server's answer is swallowed and the connection cut,
    `say`: bytes answered in the server's place, which hears nothing,
    `slow_s`: pause between single bytes of the answer's first 200."""

    def __init__(self, port, rule):
        self.port, self.rule, self.count, self.sent = port, rule, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.here = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            rule, self.count = self.rule(self.count) or {}, self.count + 1
            threading.Thread(target=self._serve, args=(client, rule), daemon=True).start()

    def _serve(self, client, rule):
        if "say" in rule:
            self._say(client, rule["say"])
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            client.close()
            return
        record = bytearray()
        self.sent.append(record)
        threading.Thread(target=self._down, args=(server, client, rule), daemon=True).start()
        left = rule.get("up", 1 << 60)
        try:
            while left > 0:
                data = client.recv(min(65536, left))
                if not data:
                    break
                record += data
                left -= len(data)
                server.sendall(data)
            if left <= 0:
                self._cut(client, server)
        except OSError:
            self._cut(client, server)

    def _say(self, client, answer):
        record = bytearray()
        self.sent.append(record)
        try:
            record += client.recv(65536)
            client.sendall(answer)
        except OSError:
            pass
        self._cut(client)

    def _down(self, server, client, rule):
        slow = 200 if rule.get("slow_s") else 0
        try:
            while True:
                data = server.recv(1 if slow > 0 else 65536)
                if not data:
                    break
                if rule.get("reply") is False:
                    break
                if slow > 0:
                    slow -= 1
                    threading.Event().wait(rule["slow_s"])
                client.sendall(data)
        except OSError:
            pass
        self._cut(client, server)

    @staticmethod
    def _cut(*sockets):
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
