/* Named regions of the face: used to specify locks, pins and markers. Centimetres. */
#include "samples/face.h"

#include <math.h>

#include "samples/builders.h"

static bool is_skin(const sn_site *s) {
    return s->part == SN_PART_SKIN && s->values[SN_FACE_INSIDE] < 0.5;
}

static bool in_ellipse(const sn_site *s, double x, double y, double rx, double ry) {
    double a = (fabs(s->p.x) - x) / rx, b = (s->p.y - y) / ry;
    return is_skin(s) && s->p.z > 2 && a * a + b * b < 1;
}

static bool lips(const sn_site *s) {
    return s->part == SN_PART_SKIN && s->values[SN_FACE_LIP] > 0.6;
}
static bool upper_lip(const sn_site *s) {
    return lips(s) && s->values[SN_FACE_SIDE] > 0;
}
static bool lower_lip(const sn_site *s) {
    return lips(s) && s->values[SN_FACE_SIDE] < 0;
}
static bool mouth(const sn_site *s) {
    return lips(s) || in_ellipse(s, 0, -6.4, 3.6, 2.0);
}
static bool mouth_corners(const sn_site *s) {
    return in_ellipse(s, 2.65, -6.3, 0.75, 0.8);
}
static bool lids(const sn_site *s) {
    double ring = s->values[SN_FACE_LID_RING];
    return s->part == SN_PART_SKIN && ring > 1.5 && ring < 6.5;
}
static bool lids_left(const sn_site *s) {
    return lids(s) && s->p.x > 0;
}
static bool lids_right(const sn_site *s) {
    return lids(s) && s->p.x < 0;
}
static bool brows(const sn_site *s) {
    return s->part == SN_PART_BROW_LEFT || s->part == SN_PART_BROW_RIGHT ||
           in_ellipse(s, 3.1, 3.7, 2.9, 1.1);
}
static bool forehead(const sn_site *s) {
    return is_skin(s) && s->p.z > 2 && s->p.y > 4.8 && s->p.y < 9.5;
}
static bool nose(const sn_site *s) {
    return in_ellipse(s, 0, -2.6, 2.2, 2.6) && s->p.z > 8;
}
static bool cheeks(const sn_site *s) {
    return in_ellipse(s, 4.6, -3.8, 2.2, 2.2);
}
static bool chin(const sn_site *s) {
    return in_ellipse(s, 0, -9.6, 2.2, 1.6);
}
static bool jaw(const sn_site *s) {
    return is_skin(s) && s->values[SN_FACE_JAW] > 0.5;
}
static bool ears(const sn_site *s) {
    return is_skin(s) && fabs(s->p.x) > 7.6 && s->p.z < 1;
}
static bool neck_rim(const sn_site *s) {
    return is_skin(s) && s->p.y < -15.3;
}

/* The teeth are one surface down to their roots; at the back, where they have sunk, most of it is
 * gum. */
static bool gums(const sn_site *s) {
    return (s->part == SN_PART_TEETH_UPPER && s->p.y > -5.7) ||
           (s->part == SN_PART_TEETH_LOWER && s->p.y < -7.35);
}

static const struct {
    const char *name;
    bool (*holds)(const sn_site *site);
} regions[] = {
    {"lips", lips},
    {"upperLip", upper_lip},
    {"lowerLip", lower_lip},
    {"mouth", mouth},
    {"mouthCorners", mouth_corners},
    {"lids", lids},
    {"lidsLeft", lids_left},
    {"lidsRight", lids_right},
    {"brows", brows},
    {"forehead", forehead},
    {"nose", nose},
    {"cheeks", cheeks},
    {"chin", chin},
    {"jaw", jaw},
    {"ears", ears},
    {"neckRim", neck_rim},
    {"gums", gums},
};

typedef struct question {
    const sn_face *face;
    bool (*holds)(const sn_site *site);
} question;

static bool ask(int vertex, const double *position, const void *user) {
    (void)position;
    const question *q = user;
    sn_site site = sn_face_site(q->face, vertex);
    return q->holds(&site);
}

sinew_status sn_face_regions(const sn_face *face, sinew_rig *rig, sinew_error *error) {
    for (size_t r = 0; r < sizeof regions / sizeof *regions; r++) {
        question q = {face, regions[r].holds};
        SN_TRY(sn_add_region(rig, regions[r].name, ask, &q, error));
    }
    return SINEW_OK;
}
