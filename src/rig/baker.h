/* What the steps of a bake share. In order:
 *
 *   bake_plan.c     asks the model for samples and lists the functions that may explain them
 *   bake_meet.c     finds the pairs of sliders that meet, for models with self-contact
 *   bake_site.c     joins them to sites, each with a hinge function that is zero without contact
 *   bake_gap.c      finds better hinges where contact is known
 *   bake_choose.c   picks the functions that remove most of the error
 *   bake_fit.c      finds the displacements, for polynomials also the few shapes that span them
 *   bake_contact.c  takes contact out of the samples, and adds a shape per site
 *   bake_apart.c    finds these shapes where contact is known
 *   bake.c          turns the result into targets of a rig */
#ifndef SN_RIG_BAKER_H
#define SN_RIG_BAKER_H

#include "rig/bake_samples.h"
#include "sinew/bake.h"

enum {
    SN_BAKE_FACTORS = SINEW_TERM_FACTORS,
    SN_BAKE_CONTACT = 4, /* at most one in this many targets belongs to contact */
    SN_BAKE_FINEST = 32, /* knots and samples of a slider are at least 1/32 apart */
};
#define SN_BAKE_INVISIBLE 0.1 /* of the error to mend: displacements below are dropped */

/* A candidate: the hat of an in-between on one slider, u^p - u of one slider (which leaves its full
 * shape alone), or a product of powers. Or the hinge of a site, which is no candidate. */
typedef struct sn_bake_function {
    enum { SN_BAKE_HAT, SN_BAKE_CURVE, SN_BAKE_PRODUCT, SN_BAKE_HINGE } kind;
    int slider[SN_BAKE_FACTORS];
    int power[SN_BAKE_FACTORS]; /* 0: no such factor; unused by hats */
    double low, knot, high;     /* of hats, in units from rest 0 to full 1 */
    const double *slopes;       /* of hinges, those of the site */
    double *values;             /* per sample, made orthogonal to what is chosen */
    double gain, norm;          /* p^T G p, p^T p */
    double own;                 /* p^T p before anything was chosen */
    double expected;            /* size of its displacements as far as samples show it, any unit */
    bool chosen;
} sn_bake_function;

/* Two sliders that meet: their linear blend intersects itself, though neither alone does. */
typedef struct sn_bake_meeting {
    int slider[2];
    int pair;        /* its index among the pairs of sliders */
    int crossed;     /* pairs of triangles that intersect with both at full */
    double onset[2]; /* of each slider, with the other at full: where the intersection begins */
    int site;
} sn_bake_meeting;

/* Sliders that bring the same two surfaces together. The gap between them is linear in the weights,
 * so contact grows with max(0, slopes . u - 1), slopes <= 1. */
typedef struct sn_bake_site {
    double *slopes; /* per slider, 0: not of this site; from where the blend begins to intersect */
    double *fitted; /* the same, from the samples */
    float *shape;   /* 3 V: what contact adds where the hinge is 1, taken out of the samples */
    double size;    /* largest displacement of a sample */
} sn_bake_site;

typedef struct sn_baker {
    const sinew_rig *rig;
    const sinew_bake_options *options;
    sinew_bake_model *model;
    void *user;
    const sinew_monitor *monitor;
    sinew_error *error;
    sinew_linear *linear;
    double diagonal;
    size_t numbers; /* 3 V */

    int sample_count, sample_limit;
    double *weights;  /* a row of slider weights per sample */
    float *residuals; /* a column of 3 V per sample, times its scale */
    /* Per sample: what contact adds, 3 V, where the model was asked with and without it; else NULL,
     * and the residual is without contact if the model can be asked so. */
    float **contact;
    int contact_left; /* samples that may still ask for contact */
    double *scale;    /* per sample */
    double *positions, *blend;
    double *gram;   /* residuals^T residuals */
    int *triangles; /* that can meet: without pieces that are embedded in larger ones */
    int triangle_count;
    const bool *watched; /* per vertex: where intersections count; NULL: everywhere */
    bool *alone;         /* per slider and vertex: of a triangle that it makes intersect alone */
    double *alone_onset; /* per slider: the part of its way from where it does so; 2: it does not */
    int64_t *known;      /* pairs of triangles that intersect in the neutral or in a pose, sorted */
    size_t known_count;
    int64_t *rest_known; /* of them, those of the neutral */
    size_t rest_known_count;
    sn_bake_meeting *meetings;
    int meeting_count;
    size_t meeting_capacity;
    sn_bake_site *sites; /* largest first once contact is taken out */
    int site_count;
    size_t site_capacity;

    sn_bake_function *functions;
    int function_count;
    size_t function_capacity;
    int *chosen; /* functions in the order of choice */
    int chosen_count;
    double *basis; /* the orthonormal set, a column per chosen function */

    int shape_count;      /* targets to add */
    int hinge_count;      /* the last of them, and of the chosen functions, are hinges */
    double *coefficients; /* chosen_count x shape_count; NULL: shape j belongs to function j */
    float *displacements; /* a column of 3 V per shape */
} sn_baker;

/* bake_plan.c */
sinew_status sn_bake_take_samples(sn_baker *b);
sinew_status sn_bake_add_function(sn_baker *b, const sn_bake_function *f);
double sn_bake_evaluate(const sn_baker *b, const sn_bake_function *f, const double *weights);

/* bake_meet.c: lists the pairs that meet in b->meetings, and adds to `pairs` those of them that do
 * not move the same vertices; meetings that share a triangle have the same site. Then whether
 * positions, or the blend of a pose, intersect where neither the neutral nor a slider alone does.
 */
sinew_status sn_bake_find_meeting(sn_baker *b, sn_slider_pair **pairs, int *count);
sinew_status sn_bake_crosses(sn_baker *b, const double *positions, bool *crosses);
sinew_status sn_bake_meets(sn_baker *b, const double *weights, bool *meets);
/* How many pairs of triangles intersect in `positions`, but neither in the neutral nor in `others`.
 */
sinew_status sn_bake_count_new(sn_baker *b, const double *positions, const double *others,
                               int *count);
/* Whether the blend of a pose intersects where the neutral does not. */
sinew_status sn_bake_touches(sn_baker *b, const double *weights, bool *touches);
/* Per slider: whether it moves what intersects in a slider or a meeting. row: rest weights. */
sinew_status sn_bake_find_touching(sn_baker *b, double *row, bool *touching);
/* marks: adds the vertices of the triangles that intersect in a meeting, but in neither of its
 * sliders alone. row: rest weights. */
sinew_status sn_bake_mark(sn_baker *b, const sn_bake_meeting *meeting, double *row, bool *marks);
/* The largest part of a slider, from `low` to `high`, up to which the pose of `row` does not
 * intersect; the slider returns to its rest. */
sinew_status sn_bake_onset(sn_baker *b, double *row, int slider, double low, double high,
                           double *onset);

/* bake_site.c: the sites of the meetings, at most about `limit`, without those that hardly cross;
 * and the value of a hinge. */
sinew_status sn_bake_find_sites(sn_baker *b, int limit);
double sn_bake_hinge(const sn_baker *b, const double *slopes, const double *weights);
void sn_bake_site_free(sn_bake_site *site);

/* bake_choose.c: the Gram matrix of the samples, once; then at most `limit` functions, or all. */
sinew_status sn_bake_weigh(sn_baker *b);
sinew_status sn_bake_choose(sn_baker *b, int limit);
sinew_status sn_bake_choose_all(sn_baker *b);

/* bake_ridge.c: b->coefficients, the polynomials of the `count` activations that explain most,
 * largest first. X: values of the chosen functions, sample_count x chosen_count. */
sinew_status sn_bake_reduce(sn_baker *b, const double *X, int count);

/* bake_gap.c: replaces the sites by at most `limit` hinges that explain the contact of the samples
 * that are known with and without it. */
sinew_status sn_bake_find_gaps(sn_baker *b, int limit);

/* bake_contact.c: takes contact at the `limit` sites where it moves most out of the samples, before
 * they are weighed, and drops the others; adds a shape for each site to the fit of the rest. */
sinew_status sn_bake_part_contact(sn_baker *b, int limit);
sinew_status sn_bake_add_contact(sn_baker *b);

/* bake_apart.c: the shapes of the hinges, where contact is known, so that nothing crosses; and from
 * where on they act. */
sinew_status sn_bake_press_apart(sn_baker *b);

/* bake_fit.c: the fewest shapes that meet the tolerance, and the error that they leave on the
 * samples, over the diagonal. */
sinew_status sn_bake_fit(sn_baker *b, double *worst, double *rms);

static inline double sn_bake_dot(int n, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

#endif
