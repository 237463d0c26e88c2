# SPDX-License-Identifier: GPL-3.0-or-later
"""F-curves of Blender 3.4 to the current series: actions have slots since 4.4."""
import bpy
import numpy as np

from . import shapes


def curves_of(block):
    """The F-curves of a data-block's action; [] when it has none."""
    data = block.animation_data
    action = data.action if data else None
    if action is None:
        return []
    if hasattr(action, "fcurves"):
        return action.fcurves
    from bpy_extras import anim_utils
    bag = anim_utils.action_get_channelbag_for_slot(action, data.action_slot)
    return bag.fcurves if bag else []


def remove_curve(block, path):
    curves = curves_of(block)
    for curve in [c for c in curves if c.data_path == path]:
        curves.remove(curve)


def sampled(obj, keys, frames, context):
    """Key values in each frame, (frames, keys), as animation and drivers make them.

    F-curves are evaluated without moving the scene to each frame, which takes Blender as long as
    a solve. Drivers and the NLA need it."""
    blocks = shapes.artist_keys(keys)
    paths = {block.path_from_id("value"): i for i, block in enumerate(blocks)}
    data = keys.animation_data
    simple = data is None or (not data.nla_tracks and not any(
        driver.data_path.startswith("key_blocks") for driver in data.drivers))
    if simple:
        rows = np.tile(shapes.weights_of(keys), (len(frames), 1))
        for curve in curves_of(keys):
            i = paths.get(curve.data_path)
            if curve.data_path.endswith("].mute"):
                simple = False
            if i is None or curve.mute or blocks[i].mute or (curve.group and curve.group.mute):
                continue
            low, high = blocks[i].slider_min, blocks[i].slider_max
            values = np.array([curve.evaluate(frame) for frame in frames])
            rows[:, i] = np.clip(values, low, high).astype(np.float32)
        if simple:
            return rows
    rows, scene, present = [], context.scene, context.scene.frame_current
    try:
        for frame in frames:
            scene.frame_set(frame)
            rows.append(shapes.weights_of(keys))
    finally:
        scene.frame_set(present)
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
    if hasattr(action, "slots") and not hasattr(action, "fcurves"):
        from bpy_extras import anim_utils
        slot = action.slots.new(id_type="KEY", name=keys.name)
        curves = anim_utils.action_ensure_channelbag_for_slot(action, slot).fcurves
        data.action, data.action_slot = action, slot
    else:
        data.action = action
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
