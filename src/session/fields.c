#include "session/fields.h"

#define END                                                                                        \
    { NULL, SN_FIELD_TEXT, NULL, false, 0, 0, NULL, NULL, SINEW_COST_NOTHING }
#define UNITS "m|dm|cm|mm|in|ft"

static const sn_field rig_fields[] = {
    {"files", SN_FIELD_TEXTS,
     "A rig file, or a neutral followed by target files, folders of targets and pose "
     "meshes.",
     false, 0, 0, NULL, NULL, SINEW_COST_RIG},
    {"sample", SN_FIELD_TEXT, "Name of a built-in rig to use instead of files.", false, 0, 0, NULL,
     NULL, SINEW_COST_RIG},
    {"vertices", SN_FIELD_INTEGER, "Approximate number of vertices of the built-in rig.", false, 1,
     1e7, NULL, NULL, SINEW_COST_RIG},
    {"unit", SN_FIELD_CHOICE, "Unit of length of the rig (default m).", false, 0, 0, UNITS, NULL,
     SINEW_COST_STRUCTURE},
    {"regions", SN_FIELD_PATH, "JSON file {name: [vertices]} with additional regions.", false, 0, 0,
     NULL, NULL, SINEW_COST_RIG},
    END,
};

static const sn_field curves_fields[] = {
    {"file", SN_FIELD_PATH, "Slider weights over time, CSV.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"times", SN_FIELD_NUMBERS, "Times in seconds, increasing; used with `values`.", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    {"values", SN_FIELD_NUMBERS_MAP, "For each slider, one value per time.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"head", SN_FIELD_FLAG,
     "Rotate and move the whole head by the channels headYaw, headPitch, headRoll "
     "(radians), headX, headY and headZ (default true).",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field time_fields[] = {
    {"fps", SN_FIELD_NUMBER, "Frames per second (default: the rate of the markers, otherwise 30).",
     false, 1e-3, 1e5, NULL, NULL, SINEW_COST_STRUCTURE},
    {"from", SN_FIELD_NUMBER, "Start of the clip in seconds (default: start of the curves).", false,
     0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"to", SN_FIELD_NUMBER, "End of the clip in seconds (default: end of the curves).", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field key_fields[] = {
    {"time", SN_FIELD_NUMBER, "Time in seconds.", true, 0, 0, NULL, NULL, SINEW_COST_STATE},
    {"pose", SN_FIELD_TEXT, "Name of a target, used at full weight, or of the neutral.", false, 0,
     0, NULL, NULL, SINEW_COST_STATE},
    {"weights", SN_FIELD_NUMBER_MAP, "Slider weights of the pose.", false, 0, 0, NULL, NULL,
     SINEW_COST_STATE},
    {"velocity", SN_FIELD_NUMBER_MAP,
     "Velocity at the key, as changes of slider weights per second; {} stops the "
     "motion at the key.",
     false, 0, 0, NULL, NULL, SINEW_COST_STATE},
    {"inner", SN_FIELD_FLAG,
     "Treat the pose as a correction that the motion passes through without changing "
     "its modes.",
     false, 0, 0, NULL, NULL, SINEW_COST_STATE},
    END,
};

static const sn_field motion_fields[] = {
    {"time", SN_FIELD_NUMBER, "Time in seconds.", true, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"move", SN_FIELD_POINT, "Displacement from the initial position.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"turn", SN_FIELD_POINT, "Rotation about the center of the shape: axis times degrees.", false,
     0, 0, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field obstacle_fields[] = {
    {"shape", SN_FIELD_CHOICE, "Shape of the obstacle.", true, 0, 0,
     "sphere|plane|capsule|cylinder|box|mesh|part", NULL, SINEW_COST_STRUCTURE},
    {"name", SN_FIELD_TEXT,
     "Name of the obstacle; for a part, the name of the part in the rig file.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"center", SN_FIELD_POINT, "Center of a sphere or box.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"radius", SN_FIELD_NUMBER, "Radius of a sphere, capsule or cylinder.", false, 1e-300,
     SN_HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    {"point", SN_FIELD_POINT, "A point on the plane.", false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"normal", SN_FIELD_POINT, "Normal of the plane, pointing to the free side.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"from", SN_FIELD_POINT, "One end of the axis of a capsule or cylinder.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"to", SN_FIELD_POINT, "The other end of the axis of a capsule or cylinder.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"half", SN_FIELD_POINT, "Half the size of a box along x, y and z.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"file", SN_FIELD_PATH, "File of a mesh obstacle; its surface must be closed.", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    {"frames", SN_FIELD_PATH, "Point cache with the motion of a mesh obstacle.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"motion", SN_FIELD_OBJECTS,
     "Motion of the obstacle: linear between keys, constant before the first and "
     "after the last.",
     false, 0, 0, NULL, motion_fields, SINEW_COST_NOTHING},
    {"enabled", SN_FIELD_FLAG, "Whether this entry is used (default true).", false, 0, 0, NULL,
     NULL, SINEW_COST_STRUCTURE},
    END,
};

static const sn_field pin_fields[] = {
    {"select", SN_FIELD_TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0,
     0, NULL, NULL, SINEW_COST_STRUCTURE},
    {"frames", SN_FIELD_PATH,
     "Point cache with the positions to follow (default: the linear blend; modal: the "
     "first key).",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"motion", SN_FIELD_OBJECTS,
     "modal: motion of the vertices, relative to their positions in the first key.", false, 0, 0,
     NULL, motion_fields, SINEW_COST_NOTHING},
    {"stiffness", SN_FIELD_NUMBER,
     "modal: stiffness of springs that pull the vertices, relative to the body "
     "(default: held exactly).",
     false, 0, SN_HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field orientation_fields[] = {
    {"select", SN_FIELD_TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0,
     0, NULL, NULL, SINEW_COST_NOTHING},
    {"turn", SN_FIELD_POINT, "Rotation from the rest shape: axis times degrees (default: none).",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"motion", SN_FIELD_OBJECTS, "The rotation over time, given by `turn` of each entry.", false, 0,
     0, NULL, motion_fields, SINEW_COST_NOTHING},
    {"weight", SN_FIELD_NUMBER,
     "Weight of the orientation: 0 has no effect, 1 reaches it fully (default 1).", false, 0, 1,
     NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field pull_fields[] = {
    {"vertex", SN_FIELD_INTEGER, "Index of the pulled vertex.", true, 0, 2e9, NULL, NULL,
     SINEW_COST_NOTHING},
    {"to", SN_FIELD_POINT, "Target position.", false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"frames", SN_FIELD_PATH,
     "Point cache from which the target position is read in each frame, instead of "
     "`to`.",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"stiffness", SN_FIELD_NUMBER,
     "Stiffness of the pull, relative to the mean spring (default: the vertex is held "
     "at the target).",
     false, 0, SN_HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field fiber_fields[] = {
    {"select", SN_FIELD_TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0,
     0, NULL, NULL, SINEW_COST_STRUCTURE},
    {"direction", SN_FIELD_POINT, "Direction of the fibers in the neutral.", true, 0, 0, NULL, NULL,
     SINEW_COST_STRUCTURE},
    {"ratio", SN_FIELD_NUMBER,
     "Ratio of the stiffness along the fibers to the stiffness across them.", true, 1e-3, 1e6, NULL,
     NULL, SINEW_COST_STRUCTURE},
    END,
};

static const sn_field lock_fields[] = {
    {"name", SN_FIELD_TEXT, "Name of the lock.", true, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"select", SN_FIELD_TEXT, "Selection of vertices: v:1,5-9 | region:NAME | mask:FILE.", true, 0,
     0, NULL, NULL, SINEW_COST_NOTHING},
    {"axes", SN_FIELD_TEXT, "Locked axes: any of x, y and z (default: all).", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"enabled", SN_FIELD_FLAG, "Whether this entry is used (default true).", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"weights", SN_FIELD_NUMBER_MAP,
     "Slider weights of the pose that the lock holds (default: the common pose of all "
     "locks).",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"at", SN_FIELD_NUMBER, "Time of the take, in seconds, whose pose the lock holds.", false, 0, 0,
     NULL, NULL, SINEW_COST_NOTHING},
    {"from", SN_FIELD_NUMBER, "Time in seconds at which the lock begins to hold in a take.", false,
     0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"to", SN_FIELD_NUMBER, "Time in seconds at which the lock has released.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"fade", SN_FIELD_NUMBER, "Duration in seconds of the fade in and out (default 0).", false, 0,
     SN_HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field attenuation_fields[] = {
    {"alpha", SN_FIELD_NUMBER,
     "Strength of the locks (default: the ratio of unlocked to locked coordinates).", false, 0,
     SN_HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    {"strength", SN_FIELD_NUMBER, "Alpha as a multiple of its default (default 1).", false, 0,
     SN_HUGE_NUMBER, NULL, NULL, SINEW_COST_NOTHING},
    {"ridge", SN_FIELD_NUMBER, "Penalty on slider changes.", false, 0, SN_HUGE_NUMBER, NULL, NULL,
     SINEW_COST_NOTHING},
    {"dead_zone", SN_FIELD_NUMBER,
     "Ignore motion below this fraction of the bounding-box diagonal.", false, 0, 1, NULL, NULL,
     SINEW_COST_NOTHING},
    {"trade", SN_FIELD_FLAG, "Allow the edited sliders to change too.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"keep", SN_FIELD_TEXTS, "Sliders of a take that do not change.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"few", SN_FIELD_NUMBER,
     "Preference for few responding sliders, from 0 (no preference) to 1 (none "
     "respond).",
     false, 0, 1, NULL, NULL, SINEW_COST_NOTHING},
    {"unbounded", SN_FIELD_FLAG, "Ignore the limits of sliders.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"published", SN_FIELD_FLAG, "Use the published method: no ridge, dead zone or limits.", false,
     0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"corrective", SN_FIELD_FLAG,
     "Cancel the remaining locked motion by moving vertices of the frames.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"at", SN_FIELD_NUMBER,
     "Time in seconds of the pose that is locked (default: the first frame).", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    {"from", SN_FIELD_NUMBER_MAP, "Slider weights of the pose that is locked.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    END,
};

static const sn_field markers_fields[] = {
    {"file", SN_FIELD_PATH, "Marker trajectories.", true, 0, 0, NULL, NULL, SINEW_COST_STRUCTURE},
    {"map", SN_FIELD_PATH, "CSV file with the positions of the markers on the surface.", false, 0,
     0, NULL, NULL, SINEW_COST_STRUCTURE},
    {"unit", SN_FIELD_CHOICE,
     "Unit of length of the markers (default: the unit in the file, otherwise that of "
     "the rig).",
     false, 0, 0, UNITS, NULL, SINEW_COST_STRUCTURE},
    {"truth", SN_FIELD_PATH, "Point cache to compare the result with.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    END,
};

static const sn_field output_fields[] = {
    {"frames", SN_FIELD_TEXTS, "Files for the frames; the extension selects the format.", false, 0,
     0, NULL, NULL, SINEW_COST_NOTHING},
    {"report", SN_FIELD_PATH, "Report of the run, JSON.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"curves", SN_FIELD_PATH, "Slider weights of the frames, after locks, CSV.", false, 0, 0, NULL,
     NULL, SINEW_COST_NOTHING},
    END,
};

const sn_field sn_scene_fields[] = {
    {"sinew", SN_FIELD_INTEGER, "Version of the scene format.", true, 1, 1e6, NULL, NULL,
     SINEW_COST_RIG},
    {"strict", SN_FIELD_FLAG,
     "Fail if a missing or failing program would change the result (default: continue "
     "without it and report it).",
     false, 0, 0, NULL, NULL, SINEW_COST_STRUCTURE},
    {"rig", SN_FIELD_OBJECT, "The rig.", false, 0, 0, NULL, rig_fields, SINEW_COST_RIG},
    {"model", SN_FIELD_TEXT, "Name of the model (default linear).", false, 0, 0, NULL, NULL,
     SINEW_COST_STRUCTURE},
    {"parameters", SN_FIELD_PARAMETERS, "Parameters of the model.", false, 0, 0, NULL, NULL,
     SINEW_COST_STRUCTURE},
    {"weights", SN_FIELD_NUMBER_MAP, "Slider weights of a single shape, or of the last step.",
     false, 0, 0, NULL, NULL, SINEW_COST_NOTHING},
    {"steps", SN_FIELD_INTEGER,
     "Number of steps from the first pose to the second, or to `weights`.", false, 1, 1e7, NULL,
     NULL, SINEW_COST_NOTHING},
    {"curves", SN_FIELD_OBJECT, "Slider weights over time.", false, 0, 0, NULL, curves_fields,
     SINEW_COST_NOTHING},
    {"keys", SN_FIELD_OBJECTS, "Key poses over time.", false, 0, 0, NULL, key_fields,
     SINEW_COST_STATE},
    {"markers", SN_FIELD_OBJECT, "Captured markers.", false, 0, 0, NULL, markers_fields,
     SINEW_COST_STRUCTURE},
    {"time", SN_FIELD_OBJECT, "Frame rate and range of the clip.", false, 0, 0, NULL, time_fields,
     SINEW_COST_STRUCTURE},
    {"obstacles", SN_FIELD_OBJECTS, "Obstacles.", false, 0, 0, NULL, obstacle_fields,
     SINEW_COST_STRUCTURE},
    {"pins", SN_FIELD_OBJECTS, "Pinned vertices.", false, 0, 0, NULL, pin_fields,
     SINEW_COST_STRUCTURE},
    {"orientations", SN_FIELD_OBJECTS, "Regions guided to an orientation.", false, 0, 0, NULL,
     orientation_fields, SINEW_COST_NOTHING},
    {"pulls", SN_FIELD_OBJECTS, "Vertices pulled to a position.", false, 0, 0, NULL, pull_fields,
     SINEW_COST_STRUCTURE},
    {"fibers", SN_FIELD_OBJECTS, "Regions that are stiffer in one direction.", false, 0, 0, NULL,
     fiber_fields, SINEW_COST_STRUCTURE},
    {"locks", SN_FIELD_OBJECTS, "Vertices that sliders must not move.", false, 0, 0, NULL,
     lock_fields, SINEW_COST_NOTHING},
    {"attenuation", SN_FIELD_OBJECT, "Settings of the locks.", false, 0, 0, NULL,
     attenuation_fields, SINEW_COST_NOTHING},
    {"outputs", SN_FIELD_OUTPUTS, "Output files.", false, 0, 0, NULL, output_fields,
     SINEW_COST_NOTHING},
    {"notes", SN_FIELD_TEXT, "Free text for readers of the file.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    {"studio", SN_FIELD_ANYTHING, "Camera and layout of the studio.", false, 0, 0, NULL, NULL,
     SINEW_COST_NOTHING},
    END,
};
