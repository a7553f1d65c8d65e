"""Editing the example surfaces of a Sinew server: a Blender add-on, and a module for other tools.

Outside Blender import what you need: `from sinew_edit import endpoint, surface, stream`. Those use
the standard library alone.
"""
bl_info = {
    "name": "Sinew: example surfaces",
    "author": "Sinew",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > Sinew",
    "description": "Check out, sculpt and publish example surfaces of a streamed character",
    "category": "Animation",
}

try:
    import bpy  # noqa: F401
except ImportError:
    bpy = None

if bpy is not None:
    from . import panel

    def register():
        panel.register()

    def unregister():
        panel.unregister()
