"""A small modeller's client for the end-to-end tests: stdlib only."""
import http.client
import json
import re
import struct
import time
import urllib.parse

import e2e
import serve


def add_token(folder, scope, name="tester", models=(), expires=None):
    args = ["token", "add", "--data", folder, "--name", name, "--scope", scope]
    for model in models:
        args += ["--model", model]
    if expires:
        args += ["--expires", expires]
    done = e2e.run(e2e.SINEWD, *args)
    assert done.status == 0, done.err
    token = done.out.strip().splitlines()[-1]
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token), done.out
    return token


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    @property
    def etag(self):
        return self.headers.get("ETag")

    @property
    def problem(self):
        return self.json()["type"].rsplit("/", 1)[1] if self.body else None


class Modeller:
    """One keep-alive connection with a token."""

    def __init__(self, port, token=None, timeout_s=60):
        self.port, self.token, self.timeout_s = port, token, timeout_s
        self.connection = None
        self.grant = self.fence = None

    def __del__(self):
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, method, path, body=None, **headers):
        while True:  # as a patient client: what is too fast waits
            r = self.ask_once(method, path, body, **headers)
            if r.status != 429 or r.problem != "rate-limited":
                return r
            time.sleep(float(r.headers["Retry-After"]) / 4)

    def ask_once(self, method, path, body=None, **headers):
        head = {k.replace("_", "-"): v for k, v in headers.items() if v is not None}
        if self.token:
            head.setdefault("Authorization", "Bearer " + self.token)
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            head.setdefault("Content-Type", "application/json")
        for attempt in range(2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout_s)
            try:
                self.connection.request(method, path, body, head)
                r = self.connection.getresponse()
                return Reply(r.status, dict(r.getheaders()), r.read())
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.connection.close()
                self.connection = None
                if attempt or method != "GET":
                    raise

    def item(self, model, item, tail=""):
        if item == "base":
            return f"/v1/models/{model}/base{tail}"
        return f"/v1/models/{model}/examples/{urllib.parse.quote(item, safe='')}{tail}"

    def checkout(self, model, item, **body):
        r = self.ask("POST", self.item(model, item, "/edit"), body)
        if r.status == 201:
            self.grant, self.fence = r.json()["grant"], str(r.json()["fence"])
        return r

    def held(self):
        return {"Sinew_Grant": self.grant, "Sinew_Fence": self.fence}

    def surface(self, model, item, form="f32", **headers):
        return self.ask("GET", self.item(model, item, "/surface?format=" + form), **headers)

    def put(self, model, item, floats, etag, tail="", **headers):
        return self.ask("PUT", self.item(model, item, "/surface" + tail), pack(floats),
                        Content_Type="application/octet-stream", If_Match=etag, **{**self.held(), **headers})

    def patch(self, model, item, deltas, etag, **headers):
        body = b"".join(struct.pack("<Ifff", v, *d) for v, d in sorted(deltas.items()))
        return self.ask("PATCH", self.item(model, item, "/surface"), body,
                        Content_Type="application/vnd.sinew.deltas", If_Match=etag, **{**self.held(), **headers})

    def upload(self, body):
        r = self.ask("POST", "/v1/uploads", Upload_Length=str(len(body)), Tus_Resumable="1.0.0")
        assert r.status == 201, r.body
        where = r.headers["Location"]
        for at in range(0, len(body), 1 << 20):
            r = self.ask("PATCH", where, body[at:at + (1 << 20)], Upload_Offset=str(at), Tus_Resumable="1.0.0",
                         Content_Type="application/offset+octet-stream")
            assert r.status == 204, r.body
        return where.rsplit("/", 1)[1]

    def head(self, model):
        return self.ask("GET", f"/v1/models/{model}").etag

    def publish(self, model, item, etag=None, message="", **headers):
        return self.ask("POST", self.item(model, item, "/publish"), {"message": message},
                        If_Match=etag or self.head(model), **{**self.held(), **headers})


def pack(floats):
    return struct.pack(f"<{len(floats)}f", *floats)


def unpack(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))
