/* A frame of the modal model (modal/frame.c):
 *
 *   displace    u = sum_i z_i y_i                       per vertex     read: the shapes
 *   items       H = grad u -> (w, S), and the residuals, composed to F = exp(w) exp(q) (Y + S)
 *   rebuild     as a rotation-aware blend, every component by its own motion
 *   carriers    exp(w) exp(q) of the elements that carry the artist's vertices in a cage
 *
 * Arrays per element have one number of all elements after the other, so that neighboring threads
 * read neighboring numbers. */
#ifndef SN_GPU_KERNELS_MODAL_H
#define SN_GPU_KERNELS_MODAL_H

#include "gpu/kernels/rotation.h"

/* Poses whose residuals make up one frame, at most. */
enum { SN_MODAL_POSES = 5 };

typedef struct sn_modal_device {
    sn_rotation_device rotation; /* its target_motion is the frame's, of one target */
    int column_count, corners;   /* 3: triangles, 4: tetrahedra */
    const double *shapes;        /* 3 * vertex_count per column */
    const int *element;          /* corners x elements */
    const double *gradient;      /* 3 * corners x elements */
    const double *normal;        /* 3 x elements, or NULL */
    const int *ring_start;       /* per half of a link, and the end of the last: */
    const int *ring;             /* elements around it, and their shares */
    const double *ring_share;
    int carrier_count;
    const int *carriers; /* elements */
} sn_modal_device;

typedef struct sn_modal_work {
    sn_rotation_work rotation;
    double *displacement; /* 3 per vertex */
    double *carried;      /* 9 per carrier */
} sn_modal_work;

typedef struct sn_modal_asked {
    int residual_count;
    const double *residuals[SN_MODAL_POSES]; /* SN_ITEM_SIZE x items each */
    double residual_weights[SN_MODAL_POSES];
    const double *weights; /* of the columns */
    const double *one;     /* 1: the activation of the only target */
    int refinements;
} sn_modal_asked;

SN_PHASE_FN void sn_modal_displace(sn_grid *g, const sn_modal_device *d, const sn_modal_work *w,
                                   const sn_modal_asked *a) {
    int count = 3 * d->rotation.vertex_count;
    for (int k = sn_first(g); k < count; k += sn_stride(g)) {
        double sum = 0;
        for (int c = 0; c < d->column_count; c++)
            sum += a->weights[c] * d->shapes[(size_t)c * (size_t)count + (size_t)k];
        w->displacement[k] = sum;
    }
}

/* c += share * coordinates of the displacement: modal/field.c. */
SN_FN void sn_modal_field(const sn_modal_device *d, const double *u, int e, double share,
                          double *c) {
    size_t elements = (size_t)d->rotation.element_count, at = (size_t)e;
    double h[9] = {0};
    for (int k = 0; k < d->corners; k++) {
        const double *from = u + 3 * (size_t)d->element[(size_t)k * elements + at];
        for (int j = 0; j < 3; j++) {
            double g = share * d->gradient[(size_t)(3 * k + j) * elements + at];
            for (int i = 0; i < 3; i++) h[3 * i + j] += from[i] * g;
        }
    }
    if (d->normal) {
        double n[3], dn[3];
        for (int i = 0; i < 3; i++) n[i] = d->normal[(size_t)i * elements + at];
        for (int i = 0; i < 3; i++) dn[i] = -(h[i] * n[0] + h[3 + i] * n[1] + h[6 + i] * n[2]);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) h[3 * i + j] += dn[i] * n[j];
    }
    c[0] += 0.5 * (h[7] - h[5]), c[1] += 0.5 * (h[2] - h[6]), c[2] += 0.5 * (h[3] - h[1]);
    c[6] += h[0], c[7] += h[4], c[8] += h[8];
    c[9] += 0.5 * (h[1] + h[3]), c[10] += 0.5 * (h[2] + h[6]), c[11] += 0.5 * (h[5] + h[7]);
}

SN_FN void sn_modal_coordinates(const sn_modal_device *d, const sn_modal_work *w,
                                const sn_modal_asked *a, int e, double *c) {
    size_t items = (size_t)d->rotation.item_count;
    for (int i = 0; i < SN_ITEM_SIZE; i++) c[i] = 0;
    for (int k = 0; k < a->residual_count; k++)
        for (int i = 0; i < SN_ITEM_SIZE; i++)
            c[i] += a->residual_weights[k] * a->residuals[k][(size_t)i * items + (size_t)e];
    if (e < d->rotation.element_count) {
        sn_modal_field(d, w->displacement, e, 1, c);
        return;
    }
    /* a half of a link turns with the elements around it and does not stretch */
    double mean[SN_ITEM_SIZE] = {0};
    int half = e - d->rotation.element_count;
    for (int k = d->ring_start[half]; k < d->ring_start[half + 1]; k++)
        sn_modal_field(d, w->displacement, d->ring[k], d->ring_share[k], mean);
    for (int i = 0; i < 3; i++) c[i] += mean[i];
}

SN_PHASE_FN void sn_modal_items(sn_grid *g, const sn_modal_device *d, const sn_modal_work *w,
                                const sn_modal_asked *a) {
    double c[SN_ITEM_SIZE], f[9], own[9], rest[9];
    for (int e = sn_first(g); e < d->rotation.item_count; e += sn_stride(g)) {
        sn_modal_coordinates(d, w, a, e, c);
        sn_rotation_compose(&d->rotation, e, c, f);
        double *to = w->rotation.gradient + 9 * (size_t)e;
        for (int i = 0; i < (e < d->rotation.element_count ? 9 : 3); i++) to[i] = f[i];
    }
    for (int k = sn_first(g); k < d->carrier_count; k += sn_stride(g)) {
        sn_modal_coordinates(d, w, a, d->carriers[k], c);
        sn_exp9(c[0], c[1], c[2], own), sn_exp9(c[3], c[4], c[5], rest);
        sn_multiply9(own, rest, w->carried + 9 * (size_t)k);
    }
}

/* positions: 3 per vertex; those in no component are left as they are. */
SN_FN void sn_modal_run(sn_grid *g, const sn_modal_device *d, const sn_modal_work *w,
                        const sn_modal_asked *a, double *positions) {
    SN_PHASE(g, sn_modal_displace(g, d, w, a));
    SN_PHASE(g, sn_modal_items(g, d, w, a));
    sn_rotation_rebuild(g, &d->rotation, &w->rotation, a->one, a->refinements, NULL, NULL,
                        positions);
}

#endif
