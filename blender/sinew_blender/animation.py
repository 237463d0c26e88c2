# SPDX-License-Identifier: GPL-3.0-or-later
"""F-curves of Blender 3.4 to the current series: actions have slots since 4.4."""
import bpy
import numpy as np

from . import shapes


def channels(action, slot, create=False):
    """The channel bag of a slot of a layered action, or None. Actions have layers since 4.4; what
    they call `fcurves` until 5.0, where it is removed, belongs to their first slot only."""
    for layer in action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(slot, ensure=create)
            if bag is not None:
                return bag
    if not create:
        return None
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


def curves_of(block):
    """The F-curves of a data-block's action; [] when it has none."""
    data = block.animation_data
    action = data.action if data else None
    if action is None:
        return []
    if not hasattr(action, "layers"):
        return action.fcurves
    slot = data.action_slot
    bag = channels(action, slot) if slot is not None else None
    return bag.fcurves if bag else []


def remove_curve(block, path):
    curves = curves_of(block)
    for curve in [c for c in curves if c.data_path == path]:
        curves.remove(curve)


def sampled(keys, frames, scene):
    """Key values in each frame, (frames, keys), as animation and drivers make them: a generator
    that returns them, and may leave the scene at another frame.

    F-curves are evaluated without moving the scene to each frame, which takes Blender as long as
    a solve. Drivers and the NLA need it."""
    blocks = shapes.artist_keys(keys)
    paths = {block.path_from_id("value"): i for i, block in enumerate(blocks)}
    data, curves = keys.animation_data, curves_of(keys)
    if data is None or not (data.nla_tracks or any(c.data_path.endswith("].mute") for c in curves)
                            or any(d.data_path.startswith("key_blocks") for d in data.drivers)):
        rows = np.tile(shapes.weights_of(keys), (len(frames), 1))
        for curve in curves:
            i = paths.get(curve.data_path)
            if i is None or curve.mute or blocks[i].mute or (curve.group and curve.group.mute):
                continue
            low, high = blocks[i].slider_min, blocks[i].slider_max
            values = np.array([curve.evaluate(frame) for frame in frames])
            rows[:, i] = np.clip(values, low, high).astype(np.float32)
            yield
        return rows
    rows = []
    for frame in frames:
        scene.frame_set(frame)
        rows.append(shapes.weights_of(keys))
        yield
    return np.array(rows)


def key_frames(keys, frames):
    """Frames of the range at which the artist set keyframes, and the ends of the range."""
    found = {frames[0], frames[-1]}
    paths = {block.path_from_id("value") for block in shapes.artist_keys(keys)}
    for curve in curves_of(keys):
        if curve.data_path in paths:
            found.update(int(round(point.co.x)) for point in curve.keyframe_points)
    return sorted(f for f in found if frames[0] <= f <= frames[-1])


def write_action(keys, name, frames, rows):
    """A new action that animates all artist keys, one keyframe per frame. It becomes the keys'
    action; the one they had is kept in the file."""
    blocks = shapes.artist_keys(keys)
    action = bpy.data.actions.new(name)
    data = keys.animation_data or keys.animation_data_create()
    if data.action:
        data.action.use_fake_user = True
    data.action = action
    if hasattr(action, "layers"):
        slot = action.slots.new(id_type="KEY", name=keys.name)
        data.action_slot = slot
        curves = channels(action, slot, create=True).fcurves
    else:
        curves = action.fcurves
    driven = {driver.data_path for driver in data.drivers}
    for i, block in enumerate(blocks):
        path = block.path_from_id("value")
        if path in driven:
            continue
        curve = curves.new(path)
        curve.keyframe_points.add(len(frames))
        points = np.column_stack([frames, rows[:, i]]).astype(np.float32)
        curve.keyframe_points.foreach_set("co", points.ravel())
        curve.keyframe_points.foreach_set("interpolation", [1] * len(frames))  # linear
        curve.update()
    return action


def value_at(obj, path, index, fallback, frames):
    """A setting of the object in each frame, by its F-curve if it has one."""
    for curve in curves_of(obj):
        if curve.data_path == path and curve.array_index == index and not curve.mute:
            return [curve.evaluate(frame) for frame in frames]
    return [fallback] * len(frames)
