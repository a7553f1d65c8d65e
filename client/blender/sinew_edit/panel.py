"""The panel in the 3D view's sidebar. What talks to the server runs on a thread (work.Jobs); the
scene changes in `tick`, which a timer calls."""
import json
import textwrap

import bpy

from . import endpoint, scene, stream, work

RENEW_S, TTL_S = 180, 600


class Session(object):
    """What this Blender knows of a server. One at a time; nothing of it is saved but addresses."""

    def __init__(self):
        self.jobs, self.server = work.Jobs(), None
        self.models, self.examples = [], []
        self.error, self.said, self.report = "", "", []
        self.live, self.view = None, None
        self.work = {}      # by scene.key_of its mesh object: endpoint.Checkout
        self.details = {}   # by the same: ITEM as it stands on the server
        self.renewing = False


session = Session()


def settings():
    return bpy.context.window_manager.sinew


def run(what, job, on_done):
    """Queues a job; its error stands in the panel."""
    session.error = ""

    def done(result, error):
        session.error = error
        if not error:
            on_done(result)

    session.jobs.start(what, job, done)


def tick():
    """On the main thread, now and then: results, the live frame, grants. Seconds to the next."""
    windows = bpy.context.window_manager.windows
    if bpy.context.window is None and len(windows):  # a timer has none, and operators want one
        with bpy.context.temp_override(window=windows[0]):
            return _tick()
    return _tick()


def _tick():
    changed = session.jobs.drain()
    changed = show_live() or changed
    renew_soon()
    if changed or session.jobs.waiting:
        redraw()
    return 0.04 if session.live or session.jobs.waiting else 0.25


def redraw():
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


# --- Signing in, lists --------------------------------------------------------------------------

def read_token(s):
    if s.token:
        return s.token.strip()
    if not s.token_file:
        return ""
    try:
        with open(bpy.path.abspath(s.token_file), encoding="utf-8") as f:
            return f.read(4096).strip()
    except (OSError, UnicodeDecodeError) as e:
        raise endpoint.Problem("The token file cannot be read: %s" % e)


def sign_in():
    s = settings()
    if not getattr(bpy.app, "online_access", True):
        raise endpoint.Problem("Blender is set to stay offline: allow online access in Preferences > System")
    stop_live()
    server = endpoint.Endpoint(s.address, read_token(s), ca=bpy.path.abspath(s.ca) if s.ca else None,
                               pin=s.pin or None, insecure=s.insecure)

    def done(models):
        session.server, session.models = server, models
        session.said = "Signed in: %d model%s" % (len(models), "" if len(models) == 1 else "s")
        names = [m["name"] for m in models]
        if names and s.model not in names:
            s.model = names[0]
        resume()
        list_examples()

    run("Signing in", server.models, done)


def resume():
    """Takes up what the file holds; grants that are gone show when they are used."""
    for thing in bpy.context.scene.objects:
        if scene.STATE in thing:
            try:
                w = endpoint.Checkout.resume(session.server, json.loads(thing[scene.STATE]))
                session.work[scene.key_of(thing)] = w
            except (ValueError, KeyError):
                session.said = "%s is marked as checked out, but its mark cannot be read" % thing.name


def list_examples():
    s = settings()
    if not session.server or not s.model:
        return
    server, model = session.server, s.model

    def done(examples):
        session.examples = examples
        s.items.clear()
        base = s.items.add()
        base.name, base.label = "base", "The surface itself"
        for x in examples:
            row = s.items.add()
            row.name = row.label = x["driver"] + ":" + x["name"]
            row.moved = int(x["moved"])
            row.holder = x.get("held_by", {}).get("name", "")

    run("Listing", lambda: server.examples(model), done)


# --- Checking out -------------------------------------------------------------------------------

def forget(key):
    session.work.pop(key, None)
    session.details.pop(key, None)


def take(item, new=None, force=False):
    """Checks out and builds the scene's objects. `new`: (driver, name, POSE) of a new example."""
    server, model = session.server, settings().model
    if not server:
        raise endpoint.Problem("Sign in first")

    def job():
        w = (server.new_example(model, *new, ttl_s=TTL_S) if new
             else server.checkout(model, item, TTL_S, force))
        return w, w.skinned(), w.details()

    def done(result):
        w, shape, details = result
        for thing in list(bpy.context.scene.objects):  # the same, from before
            if scene.key_of(thing) == (w.model, w.item):
                scene.remove(thing)
        skin = scene.build(bpy.context, shape, w)
        session.work[scene.key_of(skin)], session.details[scene.key_of(skin)] = w, details
        session.said, session.report = "%s is yours until %s" % (w.item, endpoint.local_time(w.expires)), []
        pose_live(details)
        list_examples()

    run("Checking out", job, done)


def current(context=None):
    """(mesh object, its key, checkout) of what is meant."""
    skin = scene.checked_out(context or bpy.context)
    if skin is None:
        raise endpoint.Problem("Nothing is checked out")
    w = session.work.get(scene.key_of(skin))
    if w is None:
        raise endpoint.Problem("Sign in first: %s was checked out in an earlier session" % skin.name)
    return skin, scene.key_of(skin), w


def renew_soon():
    if session.renewing:
        return
    for key, w in session.work.items():
        if w.grant and scene.find(key) and 0 < endpoint.seconds_until(w.expires) < RENEW_S:
            session.renewing = True

            def done(_, error, key=key, w=w):
                session.renewing = False
                if error:
                    session.error = error
                    w.expires = ""  # not again and again; submitting asks once more
                elif scene.find(key):
                    scene.remember(scene.find(key), w)

            session.jobs.start("Keeping the right to edit", lambda w=w: w.renew(TTL_S), done)
            return


# --- Submitting, publishing ---------------------------------------------------------------------

def submit(force=False):
    """The sculpt, and the pose when bones were moved, as a draft."""
    skin, key, w = current()
    s = settings()
    details = session.details.get(key)
    expected = details["vertices"] if details else len(skin.data.vertices)
    positions = scene.read_positions(bpy.context, skin, expected)
    keep, base_keep = s.keep, s.base_keep
    pose = None if w.is_base else scene.read_pose(skin, details or {})

    def job():
        draft = w.submit(positions, force=force, keep=base_keep if w.is_base else None)
        if pose:
            draft = w.set_pose(pose, keep)
        return draft, w.skinned() if pose else None, w.details()

    def done(result):
        draft, shape, details = result
        session.report = report_lines(draft)
        session.said = "Submitted: your own streams show it; publish shows it to all"
        session.details[key] = details
        skin = scene.find(key)
        if skin:
            scene.remember(skin, w)
            if shape:
                scene.replace_rig(bpy.context, skin, shape)
                scene.replace_surface(skin, shape)
        if pose:
            pose_live(details)

    run("Submitting", job, done)


def simple(what, job, said):
    """A call on the current checkout that changes nothing in the scene."""
    _, key, w = current()

    def done(result):
        session.said = said(result, w)
        if scene.find(key):
            scene.remember(scene.find(key), w)
        list_examples()

    run(what, lambda: job(w), done)


def publish():
    message = settings().message
    simple("Publishing", lambda w: w.publish(message),
           lambda v, w: "Version %d of %s: every stream shows it" % (v["version"], w.model))


def mirror():
    def said(draft, _):
        session.report = report_lines(draft)
        return "The draft holds the mirror image too"

    simple("Mirroring", lambda w: w.mirror(), said)


def release():
    _, key, w = current()

    def done(_):
        session.said = "%s is released" % w.item
        session.report = []
        forget(key)
        if scene.find(key):
            scene.remove(scene.find(key))
        pose_live({})
        list_examples()

    run("Releasing", w.release, done)


def report_lines(draft):
    """A bake's report in the words of someone who sculpts."""
    r = draft.get("report", {})
    lines = ["%d vertices differ from plain skinning" % draft.get("moved", 0),
             "this edit moved them by at most %.4g" % draft.get("largest_move", 0),
             "solved in %.0f ms: %s" % (r.get("bake_ms", 0), ", ".join(r.get("solved", [])) or "nothing")]
    for d in r.get("drivers", []):
        for x in d["examples"]:
            if d["name"] + ":" + x["name"] == draft.get("item"):
                lines.append("comes back to within %.1g; a move there is amplified %.1f times at worst"
                             % (x["residual"], x["inverse_gain"]))
        for solve in d.get("solves", [])[:1] if d["name"] in r.get("solved", []) else []:
            lines.append("%s: weights %.2f to %.2f, condition %.3g" % (d["name"], solve["weight_min"],
                                                                     solve["weight_max"], solve["condition"]))
    return lines + ["note: " + n for n in r.get("notes", [])]


# --- Live preview -------------------------------------------------------------------------------

def start_live():
    s = settings()
    if not session.server or not s.model:
        raise endpoint.Problem("Sign in first")
    stop_live()
    session.live, session.view = stream.Live(session.server, s.model, s.live_rate), scene.LiveView(s.model)
    skin = scene.checked_out(bpy.context)
    if skin:
        pose_live(session.details.get(scene.key_of(skin), {}))


def pose_live(details):
    """In the example's pose while one is checked out, if wanted; without one the stream's own."""
    if session.live and settings().live_pose:
        session.live.pose(details.get("pose", {}).get("joints") or None)


def show_live():
    if not session.live:
        return False
    frame = session.live.take()
    if frame:
        session.view.show(bpy.context, frame, settings().live_beside)
    return frame is not None


def stop_live():
    if session.live:
        session.live.stop()
        session.view.hide()
    session.live = session.view = None


# --- Blender's side -----------------------------------------------------------------------------

class Action(bpy.types.Operator):
    """One button. What goes wrong stands in the panel; scripts see CANCELLED."""
    bl_idname, bl_label, bl_options = "sinew.action", "Sinew", {"REGISTER"}
    act: bpy.props.StringProperty(options={"SKIP_SAVE"})
    item: bpy.props.StringProperty(options={"SKIP_SAVE"})
    force: bpy.props.BoolProperty(options={"SKIP_SAVE"})

    WORDS = {"sign_in": "Signs in and lists the models", "list": "Lists the examples anew",
             "check_out": "Takes the right to edit, and builds mesh and armature in the example's pose",
             "submit": "Sends the sculpt, and the pose where bones were moved, as a draft",
             "publish": "Makes a version of the draft: every running stream shows it",
             "mirror": "Adds the mirror image to the draft", "release": "Lets go; an unpublished draft goes too",
             "live": "Shows the streamed character in the viewport",
             "new": "A new example at the pose in which the bones stand now"}

    @classmethod
    def description(cls, context, properties):
        return cls.WORDS.get(properties.act, "")

    def execute(self, context):
        s = settings()
        acts = {"sign_in": sign_in, "list": list_examples, "publish": publish, "mirror": mirror, "release": release,
                "submit": lambda: submit(self.force),
                "check_out": lambda: take(self.item or chosen_item(s), force=self.force),
                "live": lambda: stop_live() if session.live else start_live(), "new": new_from_bones}
        try:
            acts[self.act]()
        except (endpoint.Problem, scene.Wrong) as e:
            session.error = str(e)
            return {"CANCELLED"}
        return {"FINISHED"}


def chosen_item(s):
    if not 0 <= s.item_index < len(s.items):
        raise endpoint.Problem("Choose an example first")
    return s.items[s.item_index].name


def new_from_bones():
    skin, key, w = current()
    s = settings()
    if w.is_base or not s.new_name.strip():
        raise endpoint.Problem("Name the new example; it belongs to the driver of the one that is checked out")
    pose = scene.read_pose(skin, session.details.get(key, {}))
    if pose is None:
        raise endpoint.Problem("Pose the bones first: the new example stands where they are")
    take(None, new=(w.item.split(":", 1)[0], s.new_name.strip(), pose))


class Item(bpy.types.PropertyGroup):
    label: bpy.props.StringProperty()
    moved: bpy.props.IntProperty()
    holder: bpy.props.StringProperty()


_model_items = []  # Blender keeps no reference to what a callback returns


def model_items(self, context):
    _model_items[:] = [(m["name"], m["name"], "") for m in session.models] or [("", "none", "")]
    return _model_items


class Settings(bpy.types.PropertyGroup):
    """Of the window manager: never saved in a file, least of all the token."""
    address: bpy.props.StringProperty(name="Server", default="http://127.0.0.1:7480")
    token: bpy.props.StringProperty(name="Token", subtype="PASSWORD", options={"SKIP_SAVE"})
    token_file: bpy.props.StringProperty(name="Token file", subtype="FILE_PATH")
    ca: bpy.props.StringProperty(name="CA file", subtype="FILE_PATH")
    pin: bpy.props.StringProperty(name="Fingerprint")
    insecure: bpy.props.BoolProperty(name="Trust anyone", description="For trials on one machine")
    model: bpy.props.StringProperty(name="Model")
    model_choice: bpy.props.EnumProperty(name="Model", items=model_items, get=lambda s: s.model_index(),
                                         set=lambda s, v: s.choose_model(v))
    items: bpy.props.CollectionProperty(type=Item)
    item_index: bpy.props.IntProperty()
    keep: bpy.props.EnumProperty(name="Bones keep", items=[
        ("delta", "the correction", "The sculpted difference follows the bones"),
        ("surface", "the surface", "The surface stays where it stands in the world")])
    base_keep: bpy.props.EnumProperty(name="Examples keep", items=[
        ("deltas", "their corrections", ""), ("sculpts", "their surfaces", "")])
    message: bpy.props.StringProperty(name="Message")
    new_name: bpy.props.StringProperty(name="New example")
    live_rate: bpy.props.IntProperty(name="Frames a second", default=15, min=1, max=60)
    live_beside: bpy.props.FloatProperty(name="Beside", default=1.0, description="Widths of the body to the right")
    live_pose: bpy.props.BoolProperty(name="In the example's pose", default=True)

    def model_index(self):
        names = [m["name"] for m in session.models]
        return names.index(self.model) if self.model in names else 0

    def choose_model(self, index):
        if index < len(session.models):
            self.model = session.models[index]["name"]
            list_examples()


class SINEW_UL_items(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0, flt_flag=0):
        row = layout.split(factor=0.78)
        row.label(text=item.label, icon="LOCKED" if item.holder else "MESH_DATA")
        row.label(text=item.holder or (str(item.moved) if item.moved else ""))


class SINEW_PT_panel(bpy.types.Panel):
    bl_label, bl_space_type, bl_region_type, bl_category = "Sinew", "VIEW_3D", "UI", "Sinew"

    def draw(self, context):
        s, layout = context.window_manager.sinew, self.layout
        width = max(20, int(context.region.width / (7 * context.preferences.system.ui_scale)))
        self.draw_news(layout, width)
        box = layout.box()
        box.prop(s, "address")
        if s.address.strip().split(":", 1)[0] in ("https", "wss", "sinew"):
            box.prop(s, "ca")
            box.prop(s, "pin")
            box.prop(s, "insecure")
        box.prop(s, "token")
        if not s.token:
            box.prop(s, "token_file")
        button(box, "sign_in", "Sign in", "URL")
        if not session.server:
            return
        row = layout.row(align=True)
        row.prop(s, "model_choice", text="")
        button(row, "list", "", "FILE_REFRESH")
        layout.template_list("SINEW_UL_items", "", s, "items", s, "item_index", rows=6)
        button(layout, "check_out", "Check out", "IMPORT")
        self.draw_checkout(context, layout, s, width)
        row = layout.row(align=True)
        button(row, "live", "Stop the live view" if session.live else "Live view", "HIDE_OFF")
        row.prop(s, "live_rate", text="Hz")
        row = layout.row(align=True)
        row.prop(s, "live_pose", text="in its pose")
        row.prop(s, "live_beside")
        if session.live:
            wrapped(layout, session.live.error or "live: %d frames" % session.live.frames, width)

    @staticmethod
    def draw_news(layout, width):
        if session.jobs.doing:
            layout.label(text=session.jobs.doing + " …", icon="TIME")
        if session.error:
            box = layout.box()
            box.alert = True
            wrapped(box, session.error, width, "ERROR")
        elif session.said:
            wrapped(layout, session.said, width)

    @staticmethod
    def draw_checkout(context, layout, s, width):
        skin = scene.checked_out(context)
        w = session.work.get(scene.key_of(skin)) if skin else None
        if not w:
            return
        box = layout.box()
        box.label(text=w.item, icon="OUTLINER_OB_MESH")
        left = endpoint.seconds_until(w.expires)
        box.label(text="yours until " + endpoint.local_time(w.expires) if left > 0 else "your right to edit has run out")
        box.prop(s, "base_keep" if w.is_base else "keep")
        button(box, "submit", "Submit", "EXPORT")
        if session.report:
            for line in session.report:
                wrapped(box, line, width - 4)
        if not w.is_base:
            button(box, "mirror", "Add the mirror image", "MOD_MIRROR")
        box.prop(s, "message")
        button(box, "publish", "Publish", "WORLD")
        button(box, "release", "Release", "X")
        if not w.is_base:
            row = box.row(align=True)
            row.prop(s, "new_name", text="")
            button(row, "new", "New from bones", "ADD")


def wrapped(layout, text, width, icon="NONE"):
    column = layout.column(align=True)
    column.scale_y = 0.8
    for i, line in enumerate(textwrap.wrap(text, width) or [""]):
        column.label(text=line, icon=icon if i == 0 else "BLANK1" if icon != "NONE" else "NONE")


def button(layout, act, text, icon):
    layout.operator("sinew.action", text=text, icon=icon).act = act


CLASSES = (Item, Settings, Action, SINEW_UL_items, SINEW_PT_panel)


def register():
    for c in CLASSES:
        bpy.utils.register_class(c)
    bpy.types.WindowManager.sinew = bpy.props.PointerProperty(type=Settings)
    if not bpy.app.background:
        bpy.app.timers.register(tick, first_interval=0.1, persistent=True)


def unregister():
    stop_live()
    session.jobs.stop()
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)
    del bpy.types.WindowManager.sinew
    for c in reversed(CLASSES):
        bpy.utils.unregister_class(c)
    session.__init__()
