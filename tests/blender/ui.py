"""Blender with its interface: opens the panel, simulates a grab, and takes the pictures of the docs.

Run under Xvfb by scripts/test-blender and scripts/blender-pictures with --enable-event-simulate:
    blender --python ui.py -- FOLDER [PICTURES]
"""
import os
import sys
import time
import traceback

import bpy
import numpy as np
from mathutils import Euler, Vector

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import activate, add_group, check, end, folder, install, make_object, shown  # noqa: E402

arguments = sys.argv[sys.argv.index("--") + 1:]
pictures = arguments[1] if len(arguments) > 1 else None


SKIN, METAL = (0.80, 0.52, 0.40, 1), (0.25, 0.30, 0.36, 1)


def view3d():
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    return window, area, region


def in_view():
    window, area, region = view3d()
    return bpy.context.temp_override(window=window, area=area, region=region)


def open_panel():
    """The sidebar with the tab Sinew, which a click opens: scripts cannot before 4.2."""
    window, area, _ = view3d()
    space = area.spaces[0]
    space.show_region_ui = space.show_region_toolbar = True
    with in_view():
        bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
    yield
    yield from press("ESC")  # closes the splash screen
    sidebar = next(r for r in area.regions if r.type == "UI")
    if hasattr(sidebar, "active_panel_category") and bpy.app.version >= (4, 2):
        sidebar.active_panel_category = "Sinew"
        return
    # The fourth tab, below Item, Tool and View.
    x, y = sidebar.x + sidebar.width - 12, sidebar.y + sidebar.height - 160
    for kind, value in (("MOUSEMOVE", "NOTHING"), ("LEFTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
        window.event_simulate(type=kind, value=value, x=x, y=y)
        yield
        yield


def look(center, angles, distance):
    """Points the view at a position, from a direction in degrees."""
    _, area, _ = view3d()
    space = area.spaces[0].region_3d
    space.view_location = center
    space.view_rotation = Euler(np.radians(angles)).to_quaternion()
    space.view_distance = distance
    space.view_perspective = "PERSP"
    area.spaces[0].clip_start = 0.001


def clear():
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)


def screenshot(name):
    path = os.path.join(pictures or folder, name)
    with in_view():
        bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=2)
        bpy.ops.screen.screenshot(filepath=path)
    image = bpy.data.images.load(path)
    pixels = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(pixels)
    size = tuple(image.size)
    bpy.data.images.remove(image)
    check(f"screenshot {name}", size[0] >= 1000 and pixels.reshape(-1, 4)[:, :3].std() > 0.05)


def stand_up(obj):
    """Samples have y up, Blender has z up."""
    obj.rotation_euler = (np.pi / 2, 0, 0)
    obj.color = SKIN
    for polygon in obj.data.polygons:
        polygon.use_smooth = True
    bpy.context.view_layer.update()


def label(body, location, size, parent=None):
    """Text in the picture, facing along y unless it has a parent."""
    text = bpy.data.objects.new("label", bpy.data.curves.new("label", "FONT"))
    bpy.context.scene.collection.objects.link(text)
    text.data.body, text.data.align_x = body, "CENTER"
    text.parent, text.location, text.scale = parent, location, (size, size, size)
    text.color = (0.95, 0.95, 0.95, 1)
    if parent is None:
        text.rotation_euler = (np.pi / 2, 0, 0)
    return text


def settle(obj):
    from sinew_blender import live
    for _ in range(3000):
        if live.tick() is None:
            return
        follower = live._followers.get(obj.name)
        if follower and follower.thread:
            follower.thread.join()


def bend(sinew):
    """Tutorial: a bend that keeps its volume. Linear in front, physical behind."""
    clear()
    rig = sinew.sample("arm", vertices=3000)
    plain, obj = (make_object(rig, name, ("elbow130",)) for name in ("linear", "physical"))
    for one in (plain, obj):
        stand_up(one)
        one.data.shape_keys.key_blocks["elbow130"].value = 0.5
    plain.location = (0, 0, -0.38)
    label("physical", (0.16, 0, -0.13), 0.05)
    label("linear", (0.16, 0, -0.51), 0.05)
    activate(obj)
    obj.active_shape_key_index = 1
    obj.sinew.model = "rotation"
    obj.sinew.live = True
    settle(obj)
    look((0.40, 0, -0.04), (90, 0, 0), 1.16)
    return obj


def rod(sinew):
    """Tutorial: a hand on a rod."""
    clear()
    obj = make_object(sinew.sample("hand", vertices=3000), "hand", ("fist",))
    stand_up(obj)
    obj.data.shape_keys.key_blocks["fist"].value = 0.7
    collection = bpy.data.collections.new("rod")
    bpy.context.scene.collection.children.link(collection)
    bpy.ops.mesh.primitive_cylinder_add(radius=0.017, depth=0.2, vertices=32,
                                        location=(0.09, -0.02, -0.026), rotation=(np.pi / 2, 0, 0))
    cylinder = bpy.context.object
    cylinder.color = METAL
    bpy.ops.object.shade_smooth()
    if hasattr(cylinder.data, "use_auto_smooth"):
        cylinder.data.use_auto_smooth = True
    for other in cylinder.users_collection:
        other.objects.unlink(cylinder)
    collection.objects.link(cylinder)
    activate(obj)
    obj.active_shape_key_index = 1
    wrist = np.array([v.co.x for v in obj.data.vertices])
    add_group(obj, "wrist", np.flatnonzero(wrist < 0.02))
    obj.sinew.model, obj.sinew.obstacles, obj.sinew.pin_group = "spring", collection, "wrist"
    obj.sinew.live = True
    settle(obj)
    look((0.1, 0, -0.02), (65, 0, 25), 0.27)
    return obj


def face(sinew):
    """Tutorial: a face with locks."""
    clear()
    rig = sinew.sample("face", vertices=4000)
    obj = make_object(rig, "face")
    stand_up(obj)
    keys, neutral = obj.data.shape_keys, rig.neutral.positions
    brows = np.linalg.norm(rig.shape("browInnerUp") - neutral, axis=1)
    add_group(obj, "brows", np.flatnonzero(brows > 0.3 * brows.max()))
    bpy.ops.sinew.lock_add(group="brows")
    for name, value in (("browInnerUp", 0.8), ("jawOpen", 0.4), ("mouthSmileLeft", 0.7),
                        ("mouthSmileRight", 0.7)):
        keys.key_blocks[name].value = value
    obj.active_shape_key_index = keys.key_blocks.find("jawOpen")
    obj.sinew.model = "rotation"
    obj.sinew.live = True
    settle(obj)
    bpy.ops.sinew.interference(limit=6)
    look((0.03, 0, -0.015), (85, 0, 20), 0.42)
    return obj


def markers(sinew):
    """The map of a take as empties."""
    clear()
    obj = make_object(sinew.sample("face", vertices=4000), "face")
    stand_up(obj)
    path = os.path.join(folder, "take.csv")
    sinew.sample_markers("face", vertices=4000)[0].write(path)
    obj.sinew.model, obj.sinew.take = "fit", path
    bpy.ops.sinew.find_map()
    obj.sinew.take = "//take.csv"
    activate(obj)
    look((0.03, 0, -0.015), (85, 0, 20), 0.42)
    return obj


def still(obj):
    """One rendered picture of the tutorial's hand, linear beside physical."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    camera.rotation_euler = np.radians((62, 0, 28))
    camera.location = Vector((0.058, -0.014, -0.022)) + camera.rotation_euler.to_matrix() @ Vector(
        (0, 0, 0.35))
    camera.data.clip_start = 0.01
    scene.camera = camera
    text = label("", (0.052, -0.056, -0.25), 0.009, camera)
    scene.world.color = (0.16, 0.17, 0.19)
    scene.render.engine = "BLENDER_WORKBENCH"
    shading = scene.display.shading
    shading.light, shading.color_type, shading.show_cavity = "STUDIO", "OBJECT", True
    shading.cavity_type = "BOTH"
    shading.show_shadows, shading.shadow_intensity = True, 0.35
    scene.display.render_aa = "16"
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x, scene.render.resolution_y = 560, 420
    found = []
    for name, value in (("linear", 0.0), ("physical", 1.0)):
        obj.data.shape_keys.key_blocks["Sinew"].value = value
        text.data.body = name
        scene.render.filepath = os.path.join(pictures or folder, f"blender-still-{name}.png")
        bpy.ops.render.render(write_still=True)
        image = bpy.data.images.load(scene.render.filepath)
        pixels = np.empty(len(image.pixels), np.float32)
        image.pixels.foreach_get(pixels)
        found.append(pixels)
    check("rendered stills of the linear and the physical hand differ",
          found[0].std() > 0.05 and np.abs(found[0] - found[1]).max() > 0.1)


def grab_with_mouse(obj):
    """A drag of the corner of the mouth with simulated events, and its undo."""
    from bpy_extras.view3d_utils import location_3d_to_region_2d
    window, area, region = view3d()
    obj.sinew.live = False
    for lock in list(obj.sinew.locks):
        bpy.ops.sinew.lock_remove()
    bpy.ops.sinew.remove()
    keys = obj.data.shape_keys
    for block in keys.key_blocks[1:]:
        block.value = 0
    yield
    points = shown(obj)
    target = np.empty(3 * len(points), np.float32)
    keys.key_blocks["mouthSmileLeft"].data.foreach_get("co", target)
    motion = target.reshape(-1, 3) - points
    skin = points[:, 2] > np.quantile(points[:, 2], 0.6)  # not the teeth behind the lips
    corner = int(np.argmax(np.where(skin, np.linalg.norm(motion, axis=1), 0)))

    def on_screen(point):
        at = location_3d_to_region_2d(region, area.spaces[0].region_3d,
                                      obj.matrix_world @ Vector(point.tolist()))
        return np.array([region.x + at.x, region.y + at.y])

    start = on_screen(points[corner])
    drag = on_screen(points[corner] + motion[corner]) - start
    x, y = (int(c) for c in start)
    with in_view():
        bpy.ops.wm.tool_set_by_id(name="sinew.grab_tool")
        bpy.ops.ed.undo_push(message="before")
    yield
    window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
    yield
    window.event_simulate(type="LEFTMOUSE", value="PRESS", x=x, y=y)
    yield
    for step in range(1, 6):
        at = {"x": int(x + step / 5 * drag[0]), "y": int(y + step / 5 * drag[1])}
        window.event_simulate(type="MOUSEMOVE", value="NOTHING", **at)
        yield
    window.event_simulate(type="LEFTMOUSE", value="RELEASE", **at)
    yield
    yield from finished()
    values = {b.name: b.value for b in obj.data.shape_keys.key_blocks}
    smile = values["mouthSmileLeft"]
    check(f"the grab tool pulls the mouth into a smile ({smile:.2f})", smile > 0.05)
    screenshot("blender-grab.png")
    yield
    with in_view():
        bpy.ops.ed.undo()
    yield
    obj = bpy.data.objects["face"]
    check("undo takes the grab back",
          max(abs(b.value) for b in obj.data.shape_keys.key_blocks[1:]) < 1e-6)
    with in_view():
        activate(obj)
        bpy.ops.wm.tool_set_by_id(name="builtin.select_box")
        bpy.ops.ed.undo_push(message="before solve")
        obj.data.shape_keys.key_blocks["jawOpen"].value = 0.5
        bpy.ops.ed.undo_push(message="value")
        bpy.ops.sinew.solve("EXEC_DEFAULT", True)
    yield
    made = "Sinew" in bpy.data.objects["face"].data.shape_keys.key_blocks
    with in_view():
        bpy.ops.ed.undo()
    yield
    gone = "Sinew" not in bpy.data.objects["face"].data.shape_keys.key_blocks
    check("undo takes a solve back", made and gone)


def finished():
    """Waits until no operator works in the background."""
    from sinew_blender import job
    yield
    for _ in range(600):
        if not job.running:
            break
        yield
    yield
    check("an operator in the background ends", not job.running)


def press(key):
    window, _, region = view3d()
    for value in ("PRESS", "RELEASE"):
        window.event_simulate(type=key, value=value, x=region.x + 50, y=region.y + 50)
        yield


def in_background():
    """Buttons start operators that work in a thread and change the object at their end; one at a
    time; Esc cancels."""
    from sinew_blender import operators

    def invoke(name, **arguments):
        with in_view():
            return getattr(bpy.ops.sinew, name)("INVOKE_DEFAULT", **arguments)

    def face_now():  # undo steps may have replaced it
        return bpy.data.objects["face"]

    obj = face_now()
    activate(obj)
    obj.sinew.model = "rotation"
    obj.sinew.pairs.clear()
    started = invoke("interference", limit=4)
    check("Find Interference works in the background",
          started == {"RUNNING_MODAL"} and len(face_now().sinew.pairs) == 0)
    yield from finished()
    check("and lists its pairs at the end", len(face_now().sinew.pairs) == 4)

    real = operators.Solve.solve

    def held(self):  # a solve that only a cancel ends
        while not self.cancelled:
            time.sleep(0.01)

    operators.Solve.solve = held
    try:
        invoke("solve")
        for _ in range(3):
            yield
        try:
            second = str(invoke("solve"))
        except RuntimeError as error:
            second = str(error)
        check("a second operation on the object is reported", "RUNNING_MODAL" not in second)
        yield from press("ESC")
        yield from finished()
        check("Esc cancels a solve and nothing is written",
              "Sinew" not in face_now().data.shape_keys.key_blocks)
    finally:
        operators.Solve.solve = real
    invoke("solve")
    yield from finished()
    check("Solve Once writes its key from the background",
          "Sinew" in face_now().data.shape_keys.key_blocks)
    bpy.ops.sinew.remove()


def bake_with_escape(obj):
    """A bake in the interface: progress, then Esc."""
    window, area, region = view3d()
    scene = bpy.context.scene
    keys = obj.data.shape_keys
    for frame, value in ((1, 0.0), (4000, 1.0)):
        keys.key_blocks["jawOpen"].value = value
        keys.key_blocks["jawOpen"].keyframe_insert("value", frame=frame)
    scene.frame_start, scene.frame_end = 1, 4000  # more than any machine bakes before Esc
    obj.sinew.model = "spring"
    names = [b.name for b in keys.key_blocks]
    path = os.path.join(folder, "escape.pc2")
    with in_view():
        bpy.ops.sinew.bake_frames("INVOKE_DEFAULT", filepath=path)
    for _ in range(5):
        yield
    yield from press("ESC")
    yield from finished()
    check("Esc cancels a bake and nothing is written",
          not os.path.exists(path) and [b.name for b in keys.key_blocks] == names)


def story():
    install()
    from sinew_blender import shapes
    sinew = shapes.library()
    window, area, region = view3d()
    space = area.spaces[0]
    space.shading.show_cavity, space.shading.color_type = True, "OBJECT"
    space.overlay.show_floor = space.overlay.show_axis_x = space.overlay.show_axis_y = False
    space.overlay.show_cursor = space.overlay.show_relationship_lines = False
    yield
    clear()
    obj = bend(sinew)
    yield from open_panel()
    yield
    for build, name in ((bend, "blender-bend.png"), (rod, "blender-rod.png"),
                        (face, "blender-face.png"), (markers, "blender-markers.png")):
        obj = build(sinew)
        yield
        yield
        screenshot(name)
        yield
        if build is rod:
            still(obj)
            yield
    obj = face(sinew)
    yield
    yield from grab_with_mouse(obj)
    yield from in_background()
    yield from bake_with_escape(bpy.data.objects["face"])


steps = story()


def tick():
    try:
        next(steps)
        return 0.1
    except StopIteration:
        code = end()
    except BaseException:
        traceback.print_exc()
        check("the interface test ran to its end", False)
        code = end()
    sys.stdout.flush()
    os._exit(code)


bpy.app.timers.register(tick, first_interval=0.5)
