/* Everything one panel shows as one list of triangles, with what shading needs per vertex. */
#ifndef SN_RENDER_SOUP_H
#define SN_RENDER_SOUP_H

#include "base/vec3.h"
#include "render/color.h"
#include "sinew/render.h"

typedef enum sn_material {
    SN_MATERIAL_SKIN,
    SN_MATERIAL_EYE,
    SN_MATERIAL_TEETH,
    SN_MATERIAL_TONGUE,
    SN_MATERIAL_HAIR,
    SN_MATERIAL_MARKER, /* balls on the skin: the vertex color alone */
    SN_MATERIAL_GREY,   /* obstacles */
    SN_MATERIAL_PAINT,  /* heat map: the vertex color alone */
    SN_MATERIAL_NONE    /* helper surfaces that are not shown */
} sn_material;

typedef struct sn_soup {
    int vertex_count;
    double *positions; /* 3 per vertex */
    double *normals;   /* 3 per vertex, unit, area-weighted */
    float *colors;     /* 3 per vertex: paint, or a tint for the material; NULL: none */
    float *gaze;       /* 3 per vertex: direction from the eyeball's center at rest; 0 elsewhere */
    float *ambient;    /* per vertex: fraction of the sky that is seen, [0, 1] */
    float *key;        /* per vertex: fraction of the key light that is seen, [0, 1] */
    int triangle_count;
    int *triangles;          /* 3 vertices each */
    unsigned char *material; /* sn_material per triangle */
    unsigned char
        *real_edge; /* per triangle: bit k set when the edge opposite corner k is a face's */
} sn_soup;

/* heat_low < heat_high: the range of the colors of panel->heat. up is 'y' or 'z'. */
sinew_status sn_soup_create(const sinew_panel *panel, double heat_low, double heat_high, char up,
                            sn_soup *soup, sinew_error *error);
void sn_soup_free(sn_soup *soup);

#endif
