#include "session/fields.h"

/* A row: the cost of a change, the kind, the name and the help, then what else the field has. */
#define FIELD(change, type, title, ...)                                                            \
    { .name = title, .kind = SN_FIELD_##type, .cost = SINEW_COST_##change, .help = __VA_ARGS__ }
#define RANGE(low, high) .minimum = low, .maximum = high
#define END                                                                                        \
    { .name = NULL }

#define UNITS     "m|dm|cm|mm|in|ft"
#define SELECTION "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE."

static const sn_field rig_fields[] = {
    FIELD(RIG, TEXTS, "files",
          "A rig file, or a neutral followed by target files, folders of targets and pose meshes."),
    FIELD(RIG, TEXT, "sample", "Name of a built-in rig to use instead of files."),
    FIELD(RIG, INTEGER, "vertices", "Approximate number of vertices of the built-in rig.",
          RANGE(1, 1e7)),
    FIELD(STRUCTURE, CHOICE, "unit", "Unit of length of the rig (default m).", .choices = UNITS),
    FIELD(RIG, PATH, "regions", "JSON file {name: [vertices]} with additional regions."),
    END,
};

static const sn_field curves_fields[] = {
    FIELD(NOTHING, PATH, "file", "Slider weights over time, CSV."),
    FIELD(NOTHING, NUMBERS, "times", "Times in seconds, increasing; used with `values`."),
    FIELD(NOTHING, NUMBERS_MAP, "values", "For each slider, one value per time."),
    FIELD(NOTHING, FLAG, "head",
          "Rotate and move the whole head by the channels headYaw, headPitch, headRoll (radians), "
          "headX, headY and headZ (default true)."),
    END,
};

static const sn_field time_fields[] = {
    FIELD(STRUCTURE, NUMBER, "fps",
          "Frames per second (default: the rate of the markers, otherwise 30).", RANGE(1e-3, 1e5)),
    FIELD(NOTHING, NUMBER, "from", "Start of the clip in seconds (default: start of the curves)."),
    FIELD(NOTHING, NUMBER, "to", "End of the clip in seconds (default: end of the curves)."),
    END,
};

static const sn_field key_fields[] = {
    FIELD(STATE, NUMBER, "time", "Time in seconds.", .required = true),
    FIELD(STATE, TEXT, "pose", "Name of a target, used at full weight, or of the neutral."),
    FIELD(STATE, NUMBER_MAP, "weights", "Slider weights of the pose."),
    FIELD(STATE, NUMBER_MAP, "velocity",
          "Velocity at the key, as changes of slider weights per second; {} stops the motion at "
          "the key."),
    FIELD(STATE, FLAG, "inner",
          "Treat the pose as a correction that the motion passes through without changing its "
          "modes."),
    END,
};

static const sn_field motion_fields[] = {
    FIELD(NOTHING, NUMBER, "time", "Time in seconds.", .required = true),
    FIELD(NOTHING, POINT, "move", "Displacement from the initial position."),
    FIELD(NOTHING, POINT, "turn", "Rotation about the center of the shape: axis times degrees."),
    END,
};

static const sn_field obstacle_fields[] = {
    FIELD(STRUCTURE, CHOICE, "shape", "Shape of the obstacle.",
          .choices = "sphere|plane|capsule|cylinder|box|mesh|part", .required = true),
    FIELD(NOTHING, TEXT, "name",
          "Name of the obstacle; for a part, the name of the part in the rig file."),
    FIELD(NOTHING, POINT, "center", "Center of a sphere or box."),
    FIELD(NOTHING, NUMBER, "radius", "Radius of a sphere, capsule or cylinder.",
          RANGE(1e-300, SN_HUGE_NUMBER)),
    FIELD(NOTHING, POINT, "point", "A point on the plane."),
    FIELD(NOTHING, POINT, "normal", "Normal of the plane, pointing to the free side."),
    FIELD(NOTHING, POINT, "from", "One end of the axis of a capsule or cylinder."),
    FIELD(NOTHING, POINT, "to", "The other end of the axis of a capsule or cylinder."),
    FIELD(NOTHING, POINT, "half", "Half the size of a box along x, y and z."),
    FIELD(NOTHING, PATH, "file", "File of a mesh obstacle; its surface must be closed."),
    FIELD(NOTHING, PATH, "frames", "Point cache with the motion of a mesh obstacle."),
    FIELD(NOTHING, OBJECTS, "motion",
          "Motion of the obstacle: linear between keys, constant before the first and after the "
          "last.",
          .fields = motion_fields),
    FIELD(STRUCTURE, FLAG, "enabled", "Whether this entry is used (default true)."),
    END,
};

static const sn_field pin_fields[] = {
    FIELD(STRUCTURE, TEXT, "select", SELECTION, .required = true),
    FIELD(NOTHING, PATH, "frames",
          "Point cache with the positions to follow (default: the linear blend; modal: the first "
          "key)."),
    FIELD(NOTHING, OBJECTS, "motion",
          "modal: motion of the vertices, relative to their positions in the first key.",
          .fields = motion_fields),
    FIELD(NOTHING, NUMBER, "stiffness",
          "modal: stiffness of springs that pull the vertices, relative to the body (default: held "
          "exactly).",
          RANGE(0, SN_HUGE_NUMBER)),
    END,
};

static const sn_field orientation_fields[] = {
    FIELD(NOTHING, TEXT, "select", SELECTION, .required = true),
    FIELD(NOTHING, POINT, "turn",
          "Rotation from the rest shape: axis times degrees (default: none)."),
    FIELD(NOTHING, OBJECTS, "motion", "The rotation over time, given by `turn` of each entry.",
          .fields = motion_fields),
    FIELD(NOTHING, NUMBER, "weight",
          "Weight of the orientation: 0 has no effect, 1 reaches it fully (default 1).",
          RANGE(0, 1)),
    END,
};

static const sn_field pull_fields[] = {
    FIELD(NOTHING, INTEGER, "vertex", "Index of the pulled vertex.", RANGE(0, 2e9),
          .required = true),
    FIELD(NOTHING, POINT, "to", "Target position."),
    FIELD(NOTHING, PATH, "frames",
          "Point cache from which the target position is read in each frame, instead of `to`."),
    FIELD(NOTHING, NUMBER, "stiffness",
          "Stiffness of the pull, relative to the mean spring (default: the vertex is held at the "
          "target).",
          RANGE(0, SN_HUGE_NUMBER)),
    END,
};

static const sn_field fiber_fields[] = {
    FIELD(STRUCTURE, TEXT, "select", SELECTION, .required = true),
    FIELD(STRUCTURE, POINT, "direction", "Direction of the fibers in the neutral.",
          .required = true),
    FIELD(STRUCTURE, NUMBER, "ratio",
          "Ratio of the stiffness along the fibers to the stiffness across them.", RANGE(1e-3, 1e6),
          .required = true),
    END,
};

static const sn_field lock_fields[] = {
    FIELD(NOTHING, TEXT, "name", "Name of the lock.", .required = true),
    FIELD(NOTHING, TEXT, "select", SELECTION, .required = true),
    FIELD(NOTHING, TEXT, "axes", "Locked axes: any of x, y and z (default: all)."),
    FIELD(NOTHING, FLAG, "enabled", "Whether this entry is used (default true)."),
    FIELD(
        NOTHING, NUMBER_MAP, "weights",
        "Slider weights of the pose that the lock holds (default: the common pose of all locks)."),
    FIELD(NOTHING, NUMBER, "at", "Time of the take, in seconds, whose pose the lock holds."),
    FIELD(NOTHING, NUMBER, "from", "Time in seconds at which the lock begins to hold in a take."),
    FIELD(NOTHING, NUMBER, "to", "Time in seconds at which the lock has released."),
    FIELD(NOTHING, NUMBER, "fade", "Duration in seconds of the fade in and out (default 0).",
          RANGE(0, SN_HUGE_NUMBER)),
    END,
};

static const sn_field attenuation_fields[] = {
    FIELD(NOTHING, NUMBER, "alpha",
          "Strength of the locks (default: the ratio of unlocked to locked coordinates).",
          RANGE(0, SN_HUGE_NUMBER)),
    FIELD(NOTHING, NUMBER, "strength", "Alpha as a multiple of its default (default 1).",
          RANGE(0, SN_HUGE_NUMBER)),
    FIELD(NOTHING, NUMBER, "ridge", "Penalty on slider changes.", RANGE(0, SN_HUGE_NUMBER)),
    FIELD(NOTHING, NUMBER, "dead_zone",
          "Ignore motion below this fraction of the bounding-box diagonal.", RANGE(0, 1)),
    FIELD(NOTHING, FLAG, "trade", "Allow the edited sliders to change too."),
    FIELD(NOTHING, TEXTS, "keep", "Sliders of a take that do not change."),
    FIELD(NOTHING, NUMBER, "few",
          "Preference for few responding sliders, from 0 (no preference) to 1 (none respond).",
          RANGE(0, 1)),
    FIELD(NOTHING, FLAG, "unbounded", "Ignore the limits of sliders."),
    FIELD(NOTHING, FLAG, "published", "Use the published method: no ridge, dead zone or limits."),
    FIELD(NOTHING, FLAG, "corrective",
          "Cancel the remaining locked motion by moving vertices of the frames."),
    FIELD(NOTHING, NUMBER, "at",
          "Time in seconds of the pose that is locked (default: the first frame)."),
    FIELD(NOTHING, NUMBER_MAP, "from", "Slider weights of the pose that is locked."),
    END,
};

static const sn_field markers_fields[] = {
    FIELD(STRUCTURE, PATH, "file", "Marker trajectories.", .required = true),
    FIELD(STRUCTURE, PATH, "map", "CSV file with the positions of the markers on the surface."),
    FIELD(
        STRUCTURE, CHOICE, "unit",
        "Unit of length of the markers (default: the unit in the file, otherwise that of the rig).",
        .choices = UNITS),
    FIELD(NOTHING, PATH, "truth", "Point cache to compare the result with."),
    END,
};

static const sn_field output_fields[] = {
    FIELD(NOTHING, TEXTS, "frames", "Files for the frames; the extension selects the format."),
    FIELD(NOTHING, PATH, "report", "Report of the run, JSON."),
    FIELD(NOTHING, PATH, "curves", "Slider weights of the frames, after locks, CSV."),
    END,
};

const sn_field sn_scene_fields[] = {
    FIELD(RIG, INTEGER, "sinew", "Version of the scene format.", RANGE(1, 1e6), .required = true),
    FIELD(STRUCTURE, FLAG, "strict",
          "Fail if a missing or failing program would change the result (default: continue without "
          "it and report it)."),
    FIELD(RIG, OBJECT, "rig", "The rig.", .fields = rig_fields),
    FIELD(STRUCTURE, TEXT, "model", "Name of the model (default linear)."),
    FIELD(STRUCTURE, PARAMETERS, "parameters", "Parameters of the model."),
    FIELD(NOTHING, NUMBER_MAP, "weights", "Slider weights of a single shape, or of the last step."),
    FIELD(NOTHING, INTEGER, "steps",
          "Number of steps from the first pose to the second, or to `weights`.", RANGE(1, 1e7)),
    FIELD(NOTHING, OBJECT, "curves", "Slider weights over time.", .fields = curves_fields),
    FIELD(STATE, OBJECTS, "keys", "Key poses over time.", .fields = key_fields),
    FIELD(STRUCTURE, OBJECT, "markers", "Captured markers.", .fields = markers_fields),
    FIELD(STRUCTURE, OBJECT, "time", "Frame rate and range of the clip.", .fields = time_fields),
    FIELD(STRUCTURE, OBJECTS, "obstacles", "Obstacles.", .fields = obstacle_fields),
    FIELD(STRUCTURE, OBJECTS, "pins", "Pinned vertices.", .fields = pin_fields),
    FIELD(NOTHING, OBJECTS, "orientations", "Regions guided to an orientation.",
          .fields = orientation_fields),
    FIELD(STRUCTURE, OBJECTS, "pulls", "Vertices pulled to a position.", .fields = pull_fields),
    FIELD(STRUCTURE, OBJECTS, "fibers", "Regions that are stiffer in one direction.",
          .fields = fiber_fields),
    FIELD(NOTHING, OBJECTS, "locks", "Vertices that sliders must not move.", .fields = lock_fields),
    FIELD(NOTHING, OBJECT, "attenuation", "Settings of the locks.", .fields = attenuation_fields),
    FIELD(NOTHING, OUTPUTS, "outputs", "Output files.", .fields = output_fields),
    FIELD(NOTHING, TEXT, "notes", "Free text for readers of the file."),
    FIELD(NOTHING, ANYTHING, "studio", "Camera and layout of the studio."),
    END,
};
