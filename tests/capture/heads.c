#include "heads.h"

#include "sinew/io.h"
#include "sinew/samples.h"
#include "support.h"

/* By place on the neutral; the two faces share their vertices. */
static const int of_face[LAYOUT_POINTS] = {
    3533, 639,  3382, 7151, 575,  3203, 7053, 3192, 1172, 1173, 5093, 1186, 58,   5190,
    1375, 133,  1542, 3609, 7495, 7491, 7487, 7483, 5522, 5526, 5530, 5534, 1634, 1566,
    1536, 1491, 126,  624,  3775, 1349, 1814, 116,  3879, 4080, 4088, 7706, 4056, 4064,
    5747, 2119, 2111, 1912, 2095, 2087, 4229, 8132, 4271, 2314, 2310, 6172, 2264, 6157,
    2284, 2287, 4247, 8117, 8124, 8199, 2381, 6238, 6164, 6218, 6213, 8179};
/* As its makers give them. */
static const int of_ict[LAYOUT_POINTS] = {
    1225, 1888, 1052, 367,  1719, 1722, 2199, 1447, 966,  3661, 4390, 3927, 3924, 2608,
    3272, 4088, 3443, 268,  493,  1914, 2044, 1401, 3615, 4240, 4114, 2734, 2509, 978,
    4527, 4942, 4857, 1140, 2075, 1147, 4269, 3360, 1507, 1542, 1537, 1528, 1518, 1511,
    3742, 3751, 3756, 3721, 3725, 3732, 5708, 5695, 2081, 0,    4275, 6200, 6213, 6346,
    6461, 5518, 5957, 5841, 5702, 5711, 5533, 6216, 6207, 6470, 5517, 5966};
/* On the borders of the mesh around its eyes and mouth. */
static const int of_face_cap[LAYOUT_POINTS] = {
    -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,
    -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,
    -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,   1206, 1194, 1191, 1253, 1245, 1218,
    1758, 1726, 1732, 1744, 1775, 1762, -1,   -1,   -1,   -1,   -1,   -1,   -1,   -1,
    -1,   -1,   -1,   -1,   -1,   1448, 1453, 1464, -1,   1098, 1095, 1414};

static void add(head *h, const char *name, sinew_rig *rig, const int *points) {
    sinew_error error;
    *h = (head){.name = name, .rig = rig, .points = points};
    assert_ok(sinew_anatomy_create(rig, NULL, &h->anatomy, &error));
    h->eyes = sinew_anatomy_eye_distance(h->anatomy);
}

int make_heads(void **state) {
    sinew_error error;
    sinew_rig *rig;
    heads *h = calloc(1, sizeof *h);
    assert_ok(sinew_sample_rig("face", NULL, &rig, &error));
    add(&h->all[0], "face", rig, of_face);
    assert_ok(sinew_sample_rig("face2", NULL, &rig, &error));
    add(&h->all[1], "face2", rig, of_face);
    const char *ict[] = {test_data("free/ict-facekit/generic_neutral_mesh.obj"),
                         test_data("free/ict-facekit/targets")};
    const char *cap[] = {test_data("free/facecap/head.obj"), test_data("free/facecap/targets")};
    if (ict[0] && ict[1]) {
        assert_ok(sinew_rig_read(2, ict, &rig, &error));
        add(&h->all[2], "ICT", rig, of_ict);
    }
    if (cap[0] && cap[1]) {
        assert_ok(sinew_rig_read(2, cap, &rig, &error));
        add(&h->all[3], "Face Cap", rig, of_face_cap);
    }
    *state = h;
    return 0;
}

int drop_heads(void **state) {
    heads *h = *state;
    for (int i = 0; i < HEADS; i++) {
        sinew_anatomy_destroy(h->all[i].anatomy);
        sinew_rig_destroy(h->all[i].rig);
    }
    free(h);
    return 0;
}

sinew_markers *layout_take(const head *from, const char *prefix, int first, const bool *kept) {
    enum { SAMPLES = 5 };
    sinew_error error;
    sinew_markers *take;
    int count = 0, chosen[LAYOUT_POINTS];
    for (int i = 0; i < LAYOUT_POINTS; i++)
        if (from->points[i] >= 0 && (!kept || kept[i])) chosen[count++] = i;
    assert_ok(sinew_markers_create(count, SAMPLES, &take, &error));
    double c = cos(0.6), s = sin(0.6), scale = 62 / from->eyes;
    for (int k = 0; k < count; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s%d", prefix, first + chosen[k]);
        assert_ok(sinew_markers_set_name(take, k, name, &error));
        const double *p = from->rig->neutral->positions + 3 * from->points[chosen[k]];
        for (int t = 0; t < SAMPLES; t++) {
            double *q = take->positions + 3 * (t * count + k);
            q[0] = scale * (c * p[0] + s * p[2]) + 100;
            q[1] = scale * (s * p[0] - c * p[2]) + 200;
            q[2] = scale * p[1] + 1500;
            take->times[t] = t / 60.0;
        }
    }
    return take;
}

void point_of(const sinew_rig *rig, const sinew_marker_map *map, int marker, double point[3]) {
    const sinew_mesh *mesh = rig->neutral;
    for (int a = 0; a < 3; a++) {
        point[a] = 0;
        if (map->vertices[marker] >= 0) point[a] = mesh->positions[3 * map->vertices[marker] + a];
        for (int k = 0; map->vertices[marker] < 0 && k < 3; k++)
            point[a] += map->barycentric[3 * marker + k] *
                        mesh->positions[3 * mesh->triangles[3 * map->triangles[marker] + k] + a];
    }
}
