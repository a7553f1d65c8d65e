"""The modeller's endpoint of a Sinew server: /v1 over HTTP, for any tool with a Python.

    from sinew_edit import endpoint
    server = endpoint.Endpoint("https://server:7443", token, ca="server.crt")
    work = server.checkout("mira", "elbow_l:bend_95")
    surface = work.skinned()            # positions in source order, triangles, joints, weights
    surface.positions[2] += 0.01        # array('f'): x, y, z of vertex after vertex
    draft = work.submit(surface.positions)
    work.publish("fuller")
    work.release()

Standard library only, Python 3.7 and later, blocking: call it on a thread. What a server refuses
is a `Refused` (its subclasses say what to do), what does not answer an `Unreachable`.
"""
import array
import calendar
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import sys
import time
import urllib.parse

from . import surface as surfaces

INLINE_BYTES = 1 << 20
PATIENCE_S = 20.0
SCHEMES = {"http": 7480, "ws": 7480, "https": 7443, "wss": 7443, "sinew": 7443}


class Problem(Exception):
    """In plain words: str() of it is a line for a panel."""


class Unreachable(Problem):
    """Nobody answered, or the connection broke off."""


class Refused(Problem):
    """The server said no. `name`: the problem's type, `status`, `members`: the rest of its JSON."""

    def __init__(self, status, name, text, members):
        Problem.__init__(self, text)
        self.status, self.name, self.members = status, name, members


class Unauthorised(Refused):
    """The token is unknown, expired or revoked: sign in anew."""


class Forbidden(Refused):
    """The token does not allow this."""


class NotFound(Refused):
    pass


class Held(Refused):
    """Somebody else edits it: `holder`, `expires`."""

    holder = property(lambda self: self.members.get("held_by", {}).get("name", ""))
    expires = property(lambda self: self.members.get("held_by", {}).get("expires", ""))


class Stale(Refused):
    """It has changed since it was read: `etag` is the present state."""

    etag = property(lambda self: self.members.get("etag"))


class GrantGone(Refused):
    """The right to edit ran out and was taken, was let go, or taken anew elsewhere."""


class Conflict(Refused):
    """The item itself was changed and published by somebody else."""


class DiskFull(Refused):
    pass


_KINDS = {"unauthorised": Unauthorised, "forbidden": Forbidden, "no-such-model": NotFound,
          "no-such-item": NotFound, "no-such-version": NotFound, "held": Held, "stale": Stale,
          "grant-gone": GrantGone, "fence-stale": GrantGone, "grant-required": GrantGone,
          "conflict": Conflict, "disk-full": DiskFull}
_WORDS = {
    "unauthorised": "The server does not know this token: it is wrong, has expired, or was revoked.",
    "forbidden": "This token does not allow that: ask for one with the scope modeller and this model.",
    "grant-gone": "Your right to edit this has run out or was taken: check it out again.",
    "fence-stale": "You have checked this out anew elsewhere: go on there, or check it out again here.",
    "conflict": "Somebody else has published a change of this in the meantime: release it and check it out again.",
    "no-draft": "There is nothing to publish yet: submit first.",
}


def _problem(status, body):
    try:
        members = json.loads(body.decode("utf-8"))
        if not isinstance(members, dict):
            raise ValueError
    except ValueError:
        return Refused(status, "", "The server answered %d: is this a Sinew server?" % status, {})
    name = str(members.get("type", "")).rsplit("/", 1)[-1]
    text = " ".join(str(members[k]) for k in ("title", "detail") if members.get(k))
    if name == "held":
        held = members.get("held_by", {})
        text = "%s is editing this until %s." % (held.get("name", "Somebody"), local_time(held.get("expires", "")))
    return _KINDS.get(name, Refused)(status, name, _WORDS.get(name, text), members)


def seconds_until(text):
    """From now to an RFC 3339 time in UTC; 0: it is none."""
    try:
        return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.time()
    except ValueError:
        return 0.0


def local_time(text):
    left = seconds_until(text)
    return time.strftime("%H:%M:%S", time.localtime(time.time() + left)) if text else "?"


def secure_context(url, ca=None, pin=None, insecure=False):
    """An SSL context as the other clients trust: a CA file, one certificate, anyone, the system."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if pin or insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif ca:
        context.load_verify_locations(ca)
    else:
        context.load_default_certs()
    return context


def check_pin(secured, pin):
    have = hashlib.sha256(secured.getpeercert(True)).hexdigest()
    if have != re.sub("[^0-9a-f]", "", pin.lower()):
        raise Unreachable("The server's certificate is not the one with this fingerprint: it has %s" % have)


class Address(object):
    """Where a server is and whom to trust there."""

    def __init__(self, url, ca=None, pin=None, insecure=False):
        parts = urllib.parse.urlsplit(url.strip())
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in SCHEMES or not parts.hostname or port == -1:
            raise Problem("\"%s\" is no address: write http://127.0.0.1:7480 or https://server:7443" % url.strip()[:80])
        self.host, self.port = parts.hostname, port or SCHEMES[parts.scheme]
        self.is_secure = SCHEMES[parts.scheme] == 7443
        self.ca, self.pin, self.insecure = ca or None, pin or None, insecure

    def context(self):
        return secure_context(self.host, self.ca, self.pin, self.insecure)

    def words(self, error):
        where = "%s:%d" % (self.host, self.port)
        if isinstance(error, ssl.SSLError):
            return ("%s could not be trusted (%s): give the server's certificate as CA file, or its fingerprint"
                    % (where, getattr(error, "verify_message", "") or error.reason or error))
        if isinstance(error, (socket.timeout, TimeoutError)):
            return "%s does not answer in time" % where
        if isinstance(error, FileNotFoundError):
            return "The CA file is not there: %s" % self.ca
        return "%s does not answer (%s): is the server running there?" % (where, getattr(error, "strerror", None) or error)


class Reply(object):
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body.decode("utf-8"))

    etag = property(lambda self: self.headers.get("etag"))


class Endpoint(object):
    def __init__(self, url, token, ca=None, pin=None, insecure=False, timeout_s=60):
        self.address = Address(url, ca, pin, insecure)
        if not re.match(r"^[\x21-\x7e]+$", token or ""):
            raise Problem("A token is needed: 'sinewd token add' on the server prints one")
        self.token, self.timeout_s = token, timeout_s
        self.reached = False  # it has answered once: from then on it is waited for
        self.lost = False     # of the last request: an answer went missing, so it may be done already

    # --- requests -------------------------------------------------------------------------------

    def _once(self, method, path, body, headers):
        a = self.address
        if a.is_secure:
            connection = http.client.HTTPSConnection(a.host, a.port, timeout=self.timeout_s, context=a.context())
        else:
            connection = http.client.HTTPConnection(a.host, a.port, timeout=self.timeout_s)
        try:
            connection.connect()
            if a.is_secure and a.pin:
                check_pin(connection.sock, a.pin)
            try:
                connection.request(method, path, body, headers)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it may have said why before it hung up
            r = connection.getresponse()
            return Reply(r.status, {k.lower(): v for k, v in r.getheaders()}, r.read())
        finally:
            connection.close()

    def ask(self, method, path, body=None, **headers):
        """A request, again for some time when the answer is lost or the server busy: what is sent
        must be safe to send twice. Header names with '_' for '-'; None: not sent."""
        head = {k.replace("_", "-"): v for k, v in headers.items() if v is not None}
        head["Authorization"] = "Bearer " + self.token
        head["Connection"] = "close"
        if isinstance(body, dict):
            body = json.dumps(body).encode("utf-8")
            head.setdefault("Content-Type", "application/json")
        until, pause, self.lost = time.monotonic() + PATIENCE_S, 0.25, False
        while True:
            wait = pause
            try:
                reply = self._once(method, path, body, head)
                self.reached = True
                if reply.status < 400:
                    return reply
                problem = _problem(reply.status, reply.body)
                busy = reply.status in (429, 503) or problem.name == "in-progress"
                wait = float(reply.headers.get("retry-after", pause)) if busy else None
            except (OSError, http.client.HTTPException) as e:
                problem, self.lost = Unreachable(self.address.words(e)), True
                if not self.reached or isinstance(e, (ssl.SSLError, FileNotFoundError)):
                    wait = None
            if wait is None or time.monotonic() + wait > until:
                raise problem
            time.sleep(wait)
            pause = min(4.0, pause * 2)

    def upload(self, data, progress=None):
        """The id of an upload that holds `data`; goes on where a connection breaks off."""
        where, offset, tries = None, 0, 0
        while True:
            if where is None:
                r = self.ask("POST", "/v1/uploads", Upload_Length=str(len(data)), Tus_Resumable="1.0.0")
                where, offset = r.headers["location"], 0
            try:
                while offset < len(data):
                    piece = data[offset:offset + INLINE_BYTES]
                    self.ask("PATCH", where, piece, Upload_Offset=str(offset), Tus_Resumable="1.0.0",
                             Content_Type="application/offset+octet-stream")
                    offset += len(piece)
                    if progress:
                        progress(offset / float(len(data)))
                return where.rsplit("/", 1)[1]
            except Refused as e:
                tries += 1
                if tries > 8 or e.name not in ("upload-offset", "no-such-upload"):
                    raise
            try:
                offset = int(self.ask("HEAD", where, Tus_Resumable="1.0.0").headers["upload-offset"])
            except Refused:
                where = None  # it has run out

    # --- what there is --------------------------------------------------------------------------

    def models(self):
        return self.ask("GET", "/v1/models").json()["models"]

    def model(self, name):
        return self.ask("GET", model_path(name)).json()

    def examples(self, model):
        return self.ask("GET", model_path(model, "/examples")).json()["examples"]

    def roots(self, model):
        """Those whose weights can be edited, as "roots/NAME"."""
        return self.ask("GET", model_path(model, "/roots")).json()["roots"]

    def corrections(self, model):
        """A face's correction meshes, as "corrections/NAME"."""
        return self.ask("GET", model_path(model, "/corrections")).json()["corrections"]

    def history(self, model, limit=200):
        return self.ask("GET", model_path(model, "/versions?limit=%d" % limit)).json()["versions"]

    def grants(self, model):
        return self.ask("GET", model_path(model, "/grants")).json()["grants"]

    def _version(self, model, path, message, **headers):
        """A new version, on whatever is the newest now."""
        for _ in range(20):
            head = self.ask("GET", model_path(model)).etag
            try:
                return self.ask("POST", path, {"message": message}, If_Match=head, Idempotency_Key=key(),
                                **headers).json()
            except Stale as e:
                last = e
        raise last

    def restore(self, model, version, message=""):
        return self._version(model, model_path(model, "/versions/%d/restore" % version), message)

    # --- the right to edit ----------------------------------------------------------------------

    def checkout(self, model, item, ttl_s=600, force=False):
        """`item`: an example's name, DRIVER:EXAMPLE, #N, "base": the surface itself, "roots/NAME" or
        "corrections/NAME"."""
        work = Checkout(self, model, item)
        work.take(ttl_s, force)
        return work

    def new_example(self, model, driver, name, pose, ttl_s=600):
        r = self.ask("POST", model_path(model, "/examples"),
                     {"driver": driver, "name": name, "pose": pose, "ttl_s": ttl_s}, Idempotency_Key=key())
        work = Checkout(self, model, driver + ":" + name)
        work.take_reply(r)
        return work


class Checkout(object):
    """The right to edit one thing of a model, and what that knows: grant, fence, state."""

    FIELDS = ("model", "item", "grant", "fence", "expires", "etag", "base_version", "has_draft")

    def __init__(self, server, model, item):
        self.server, self.model, self.item = server, model, item
        self.grant = self.fence = self.expires = self.etag = None
        self.base_version, self.has_draft = 0, False

    def state(self):
        """For keeping in a file: what `resume` wants. No secret is in it."""
        return {k: getattr(self, k) for k in self.FIELDS}

    @classmethod
    def resume(cls, server, state):
        work = cls(server, state["model"], state["item"])
        for k in cls.FIELDS:
            setattr(work, k, state[k])
        return work

    is_base = property(lambda self: self.item == "base")
    is_root = property(lambda self: self.item.startswith("roots/"))
    is_correction = property(lambda self: self.item.startswith("corrections/"))

    def path(self, tail=""):
        if self.is_base:
            return model_path(self.model, "/base" + tail)
        if self.is_root:
            return model_path(self.model, "/roots/" + urllib.parse.quote(self.item[6:], safe="") + tail)
        if self.is_correction:
            return model_path(self.model, "/corrections/" + urllib.parse.quote(self.item[12:], safe="") + tail)
        item = self.item
        if "/" in item or "\\" in item:  # what a path cannot carry goes by its number
            for x in self.server.examples(self.model):
                if item in (x["name"], x["driver"] + ":" + x["name"]):
                    item = "#%d" % x["index"]
        return model_path(self.model, "/examples/" + urllib.parse.quote(item, safe="") + tail)

    def held(self):
        return {"Sinew_Grant": self.grant, "Sinew_Fence": self.fence}

    def take_reply(self, r):
        g = r.json()
        self.grant, self.fence, self.expires = g["grant"], str(g["fence"]), g["expires"]
        folder = {"root": "roots/", "correction": "corrections/"}.get(g["kind"], "")
        self.item, self.base_version = folder + g["item"], g["base_version"]
        self.etag, self.has_draft = r.etag, "draft" in g

    def take(self, ttl_s=600, force=False):
        body = {"ttl_s": ttl_s}
        if force:
            body["force"] = True
        self.take_reply(self.server.ask("POST", self.path("/edit"), body, Idempotency_Key=key()))

    def renew(self, ttl_s=600):
        """The same right for longer, or again after it ran out. GrantGone: somebody was there."""
        grant, etag = self.grant, self.etag
        self.take(ttl_s)
        if self.grant != grant and self.etag != etag:
            raise GrantGone(409, "grant-gone", "This has been changed since you checked it out: check it out again.", {})
        if self.grant == grant:
            self.etag = etag

    # --- reading --------------------------------------------------------------------------------

    def details(self):
        return self.server.ask("GET", self.path(), Sinew_Grant=self.grant).json()

    def positions(self):
        """array('f') in source order; world space at the pose, the base surface in its own."""
        r = self.server.ask("GET", self.path("/surface?format=f32"), Sinew_Grant=self.grant)
        return surfaces.floats(r.body)

    def weights(self):
        """Of a root: array('f'), each vertex's share in it."""
        return surfaces.floats(self.server.ask("GET", self.path("/weights"), Sinew_Grant=self.grant).body)

    def skinned(self):
        """The whole surface.Surface: positions, triangles, joints in the pose, weights."""
        r = self.server.ask("GET", self.path("/surface?format=glb"), Sinew_Grant=self.grant)
        return surfaces.read_glb(r.body)

    # --- changing -------------------------------------------------------------------------------

    def _change(self, method, tail, body, **headers):
        """Sends a whole change; the right is asked for again where it ran out on the way, and a
        state that a lost answer left behind is taken up: the fence shows that it is one's own."""
        for last in (False, False, True):
            try:
                more = {"Idempotency_Key": key()} if method == "POST" else {}
                r = self.server.ask(method, self.path(tail), body, If_Match=self.etag,
                                    **dict(headers, **dict(more, **self.held())))
                self.etag, self.has_draft = r.etag, True
                return r.json()
            except GrantGone as e:
                if last or e.name != "grant-gone":
                    raise
                self.renew()
            except Stale as e:
                if last or not self.server.lost:
                    raise
                self.etag = e.etag

    def submit(self, positions, force=False, keep=None, progress=None):
        """A draft of this surface, or of a root's weights: array('f') or bytes of float32, in source
        order. `keep`, of the base surface: "deltas" or "sculpts", what the examples keep."""
        data = positions if isinstance(positions, bytes) else little_endian(positions)
        tail = ("/weights" if self.is_root else "/surface") + "?force=%d" % force + ("&keep=" + keep if keep else "")
        if len(data) <= INLINE_BYTES:
            return self._change("PUT", tail, data, Content_Type="application/vnd.sinew.f32")
        upload = self.server.upload(data, progress)
        draft = self._change("PUT", tail, {"upload": upload, "format": "f32"})
        self.server.ask("DELETE", "/v1/uploads/" + upload, Tus_Resumable="1.0.0")
        return draft

    def set_pose(self, pose, keep):
        """`keep`: "surface" (as it stands in the world) or "delta" (the correction)."""
        return self._change("PUT", "/pose", {"pose": pose, "keep": keep})

    def mirror(self, driver=None):
        return self._change("POST", "/mirror", {"driver": driver} if driver else {})

    def remove(self):
        """A draft of the model without this example."""
        return self._change("DELETE", "", None)

    def publish(self, message=""):
        """A version that every stream shows from the next tick on."""
        if seconds_until(self.expires) < 30:
            self.renew()
        version = self.server._version(self.model, self.path("/publish"), message, **self.held())
        self.base_version, self.has_draft = version["version"], False
        try:
            self.take()  # its state now
        except NotFound:
            pass  # it was removed
        return version

    def release(self):
        """Lets go, and with it what was not published. Gone already is fine."""
        try:
            self.server.ask("DELETE", self.path("/edit"), **self.held())
        except (GrantGone, NotFound):
            pass
        self.grant = None


def model_path(model, tail=""):
    return "/v1/models/" + urllib.parse.quote(model, safe="") + tail


def key():
    return os.urandom(16).hex()


def little_endian(positions):
    if sys.byteorder != "little":
        positions = array.array("f", positions)
        positions.byteswap()
    return positions.tobytes()
