# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of an object: what the panel shows and what files keep."""
import bpy
from bpy.props import (BoolProperty, BoolVectorProperty, CollectionProperty, EnumProperty,
                       FloatProperty, FloatVectorProperty, IntProperty, PointerProperty,
                       StringProperty)

from . import live


def rebuild(self, context):
    live.forget(self.id_data)


def follow(self, context):
    live.request(self.id_data)


def choose_pin_target(self, context):
    """Remember where the target is: pins follow its motion from here."""
    obj = self.id_data
    if self.pin_target is not None:
        rest = obj.matrix_world.inverted() @ self.pin_target.matrix_world
        self.pin_rest = [x for row in rest for x in row]
    live.forget(obj)


class SinewLock(bpy.types.PropertyGroup):
    group: StringProperty(name="Group", description="Vertex group that stays still",
                          update=rebuild)
    enabled: BoolProperty(name="Enabled", description="Hold the group; can be animated",
                          default=True, update=follow)
    axes: BoolVectorProperty(name="Axes", description="Coordinates of the mesh that are held",
                             size=3, default=(True, True, True), subtype="XYZ", update=rebuild)
    pose: StringProperty(description="Key values at the moment of locking", update=rebuild)


class SinewPair(bpy.types.PropertyGroup):
    disturbed: StringProperty()
    disturber: StringProperty()
    disturbance: FloatProperty()
    cosine: FloatProperty()
    lock: StringProperty(description="Vertices that a lock should hold")
    reduction: FloatProperty()


class SinewSettings(bpy.types.PropertyGroup):
    model: EnumProperty(
        name="Model", description="How shape keys are blended",
        items=[("rotation", "Rotation", "Blend rotations and stretches: fast, bends keep their "
                                        "volume"),
               ("spring", "Spring", "Find the equilibrium of springs in the mesh: collides with "
                                    "obstacles and can be pinned"),
               ("modal", "Swing", "Swing from keyframe to keyframe and settle (modal "
                                  "interpolation). Baked"),
               ("force", "Jiggle", "Skin with inertia that follows the animation (blendforces). "
                                   "Baked"),
               ("fit", "Markers", "Fit key values to captured markers or to empties")],
        default="rotation", update=rebuild)
    live: BoolProperty(
        name="Live", description="Update the result while shape keys, pins or obstacles move",
        default=False, update=follow)
    show: EnumProperty(
        name="Show On", description="Where live results appear",
        items=[("KEY", "Shape Key", "The shape key 'Sinew' on top of the linear blend"),
               ("PREVIEW", "Preview Object", "A copy of the mesh beside the original")],
        default="KEY", update=rebuild)
    preview: PointerProperty(type=bpy.types.Object)

    pin_group: StringProperty(
        name="Pins", description="Vertex group that stays on the linear blend (Jiggle: does not "
                                 "move)", update=rebuild)
    pin_target: PointerProperty(
        name="Follow", type=bpy.types.Object, update=choose_pin_target,
        description="Object that the pinned vertices follow")
    pin_rest: FloatVectorProperty(size=16)
    obstacles: PointerProperty(
        name="Obstacles", type=bpy.types.Collection, update=rebuild,
        description="Mesh objects that the surface must not enter")
    self_contact: BoolProperty(
        name="Self-Contact", description="Keep the surface from intersecting itself (Spring), or the "
                                          "parts of a face from passing through each other "
                                          "(Rotation); slow",
        default=False, update=rebuild)
    stiffness_group: StringProperty(
        name="Stiffness", description="Vertex group that scales the stiffness: weight 0 is 1/4, "
                                      "0.5 is unchanged, 1 is 4 times as stiff", update=rebuild)
    mass_group: StringProperty(
        name="Mass", description="Vertex group that scales the mass: weight 0 is 1/4, 0.5 is "
                                 "unchanged, 1 is 4 times as heavy", update=rebuild)
    gravity: FloatVectorProperty(
        name="Gravity", description="Force on a vertex of mean area, in mesh coordinates; 1 "
                                    "stretches a mean spring by a mean edge", size=3,
        subtype="XYZ", update=rebuild)

    locks: CollectionProperty(type=SinewLock)
    lock_index: IntProperty()
    lock_strength: FloatProperty(
        name="Strength", description="How strongly locks hold against the rest of the edit; 0 "
                                     "turns them off. Can be animated", default=1.0, min=0.0,
        soft_max=10.0, update=follow)

    swings: FloatProperty(
        name="Swings", description="Oscillations of the slowest mode between two keyframes",
        default=1.5, min=0.01, soft_max=10.0)
    damping: FloatProperty(
        name="Damping", description="Damping ratio; 1 does not overshoot", default=0.1, min=0.0,
        soft_max=1.0)
    stiffness: FloatProperty(
        name="Stiffness Factor", description="Stiffness of the whole body", default=1.0,
        min=0.01, soft_max=10.0)
    ease: BoolProperty(
        name="Ease", description="Start and stop gently between two keyframes", default=False)
    lag: FloatProperty(
        name="Lag", description="Time that the skin takes to follow its forces", default=0.03,
        min=1e-3, soft_max=0.5, unit="TIME_ABSOLUTE", precision=3)
    bounce: FloatProperty(
        name="Bounce", description="Fraction of the velocity that is kept: 0 is overdamped, 1 "
                                   "undamped", default=0.5, min=0.0, max=1.0)

    take: StringProperty(
        name="Take", description="Captured markers: CSV, C3D or TRC", subtype="FILE_PATH",
        update=rebuild)
    marker_objects: PointerProperty(
        name="Empties", type=bpy.types.Collection, update=rebuild,
        description="Objects that act as markers, used instead of a take")
    marker_map: PointerProperty(
        name="Map", type=bpy.types.Collection, update=rebuild,
        description="Empties on the rest shape, one per marker; move them to correct the map")
    layer: BoolProperty(
        name="Marker Layer", description="Spread the remaining distance to the markers over the "
                                         "skin", default=False, update=rebuild)
    head_motion: BoolProperty(
        name="Head Motion", description="Keep the head motion of the take in the baked frames",
        default=False)

    pairs: CollectionProperty(type=SinewPair)
    pair_index: IntProperty()
    grab_radius: FloatProperty(
        name="Grab Radius", description="Radius of the grabbed region, as a fraction of the "
                                        "object's size; 0 grabs one vertex", default=0.03,
        min=0.0, soft_max=0.3)
    max_targets: IntProperty(
        name="Correctives", description="Maximum number of shape keys that baking adds",
        default=20, min=1, max=500)


classes = (SinewLock, SinewPair, SinewSettings)
