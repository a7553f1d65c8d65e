"""Blocking calls off the main thread; what they bring comes back on it.

    jobs = work.Jobs()
    jobs.start("signing in", lambda: server.models(), on_done)   # on_done(result) or on_done(error)
    jobs.drain()                                                  # on the main thread, now and then
"""
import queue
import threading

from . import endpoint, surface


class Jobs(object):
    """One job after the other: the calls of a checkout must not overtake each other."""

    def __init__(self):
        self._asked, self._done = queue.Queue(), queue.Queue()
        self.waiting = 0   # jobs whose result has not been taken
        self.doing = ""    # what is at work, in words
        self._thread = None

    def start(self, what, run, on_done):
        """`on_done(result, error)`: error is a line in plain words, or ""."""
        self.waiting += 1
        self.doing = self.doing or what
        self._asked.put((what, run, on_done))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sinew-work", daemon=True)
            self._thread.start()

    def _run(self):
        while True:
            job = self._asked.get()
            if job is None:
                return
            what, run, on_done = job
            self.doing = what
            result, error = None, ""
            try:
                result = run()
            except (endpoint.Problem, surface.BadSurface) as e:
                error = str(e)
            except Exception as e:  # a defect must not end the thread: it is shown like the rest
                error = "%s failed: %s: %s" % (what, type(e).__name__, e)
            self._done.put((on_done, result, error))

    def drain(self):
        """Calls what is owed for finished jobs; True: something was."""
        any_done = False
        while True:
            try:
                on_done, result, error = self._done.get_nowait()
            except queue.Empty:
                return any_done
            self.waiting -= 1
            if self.waiting == 0:
                self.doing = ""
            on_done(result, error)
            any_done = True

    def stop(self):
        if self._thread is not None:
            self._asked.put(None)
            self._thread = None
