"""A proxy between a WebSocket client and `sinewd serve` that loses, doubles and reorders whole INPUT
messages of the client, as a datagram link would. HTTP and what the server says pass as they are."""
import random
import socket
import struct
import sys
import threading

INPUT = range(0x40, 0x46)


class LossyProxy:
    def __init__(self, target, share=0.3, seed=7):
        self.target, self.share, self.random = target, share, random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.passed = self.lost = self.doubled = self.swapped = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            for s in (client, server):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass, args=(server, client), daemon=True).start()
            threading.Thread(target=self._spoil, args=(client, server), daemon=True).start()

    @staticmethod
    def _pass(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _spoil(self, client, server):
        buffer, web, held = b"", False, None
        try:
            while data := client.recv(65536):
                buffer += data
                while not web and b"\r\n\r\n" in buffer:
                    head, _, buffer = buffer.partition(b"\r\n\r\n")
                    web = b"upgrade: websocket" in head.lower()
                    host = f"127.0.0.1:{self.target}".encode()
                    lines = [b"Host: " + host if line.lower().startswith(b"host:")
                             else b"Origin: http://" + host if line.lower().startswith(b"origin:")
                             else line for line in head.split(b"\r\n")]
                    server.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
                while web:
                    frame, buffer = take_frame(buffer)
                    if frame is None:
                        break
                    held = self._forward(frame, server, held)
        except OSError:
            pass
        self._pass(client, server)  # shuts both

    def _forward(self, frame, server, held):
        opcode, payload = frame
        if opcode != 2:
            server.sendall(frame_bytes(opcode, payload))
            return held
        for message in envelopes(payload):
            if message[0] not in INPUT:
                server.sendall(frame_bytes(2, message))
                continue
            chance = self.random.random()
            if chance < self.share / 3:
                self.lost += 1
            elif chance < 2 * self.share / 3:
                self.doubled += 1
                server.sendall(frame_bytes(2, message) * 2)
            elif chance < self.share and held is None:
                held = message  # comes after the next one
                continue
            else:
                self.passed += 1
                server.sendall(frame_bytes(2, message))
            if held is not None:
                self.swapped += 1
                server.sendall(frame_bytes(2, held))
                held = None
        return held


def take_frame(buffer):
    if len(buffer) < 2:
        return None, buffer
    size, at = buffer[1] & 127, 2
    for code, form in ((126, ">H"), (127, ">Q")):
        if size == code:
            at = 2 + struct.calcsize(form)
            if len(buffer) < at:
                return None, buffer
            size = struct.unpack(form, buffer[2:at])[0]
            break
    if len(buffer) < at + 4 + size:
        return None, buffer
    mask, body = buffer[at:at + 4], buffer[at + 4:at + 4 + size]
    payload = bytes(b ^ mask[i % 4] for i, b in enumerate(body))
    return (buffer[0] & 15, payload), buffer[at + 4 + size:]


def frame_bytes(opcode, payload):
    size = len(payload)
    head = bytes([0x80 | opcode])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65536:
        head += struct.pack(">BH", 0x80 | 126, size)
    else:
        head += struct.pack(">BQ", 0x80 | 127, size)
    return head + bytes(4) + payload


def envelopes(payload):
    while payload:
        size = struct.unpack_from("<I", payload, 4)[0]
        whole = 8 + (size + 3) // 4 * 4
        yield payload[:whole]
        payload = payload[whole:]


if __name__ == "__main__":
    spoiled = LossyProxy(int(sys.argv[1]))
    print(spoiled.port, flush=True)
    threading.Event().wait()
