/* Modal motion beside what it replaces: modal_baselines REST POSE NAME. One line of a table.
 *
 * All three move by the same weights z(t) of the same modes, meet the pose by the same straight
 * blend of what the modes leave, and are measured by the same edges:
 *
 *   x = X(z(t)) + (1 - t) (rest - X(z(0))) + t (pose - X(z(1)))
 *
 * Linear modes: X(z) = rest + u, u = sum z_i y_i. Modal warping (Choi and Ko 2005): each vertex's
 * displacement is turned by the rotation that it has picked up itself, X(z) = rest + G(w) u, w half
 * the curl of u, G the integral of exp(s w) for s from 0 to 1. Rotation and strain: sinew modal.
 *
 * On a straight path linear modes are linear blending. Errors: mean over the edges of the relative
 * distance from the blended length; half-way on the straight path, and the worst frame of the
 * default swing. The program fails when rotation and strain is not best of the three. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "sinew/sinew.h"

enum { FRAMES = 24 };

static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

typedef struct fields {
    const sinew_mesh *mesh;
    int modes;
    double *shapes; /* 3 per vertex and mode, one mode after the other */
    double *u, *w;  /* 3 per vertex */
    double *weight; /* per vertex: area around it */
} fields;

static double *room(int vertices) {
    return calloc(3 * (size_t)vertices, sizeof(double));
}

/* Displacement per unit of weight, by central differences. Differences to the mesh would not do:
 * the body rests where its own vertices are, which for a cage or a repaired surface is not the
 * mesh, and a gap of 0.1% over an amount of 0.01% makes modes of ten diagonals. */
static fields read_modes(const sinew_modal *modal, const sinew_mesh *mesh, int columns) {
    const double amount = 1e-4;
    sinew_modal_info info = {.size = sizeof info};
    need(sinew_modal_get_info(modal, &info));
    int n = mesh->vertex_count;
    size_t size = 3 * (size_t)n;
    fields f = {mesh,    info.modes, malloc(sizeof(double) * size * (size_t)info.modes),
                room(n), room(n),    room(n)};
    double *x[2] = {room(n), room(n)}, *weights[2];
    for (int s = 0; s < 2; s++) weights[s] = calloc((size_t)columns, sizeof *weights[s]);
    for (int k = 0; k < f.modes; k++) {
        for (int s = 0; s < 2; s++) {
            need(sinew_modal_shape(modal, k, s ? amount : -amount, x[s], &error));
            need(sinew_modal_project(modal, x[s], weights[s], &error));
        }
        double by = weights[1][k] - weights[0][k];
        for (size_t i = 0; i < size; i++) f.shapes[size * (size_t)k + i] = (x[1][i] - x[0][i]) / by;
    }
    for (int s = 0; s < 2; s++) free(x[s]), free(weights[s]);
    return f;
}

static void subtract(const double *a, const double *b, double *c) {
    for (int k = 0; k < 3; k++) c[k] = a[k] - b[k];
}

static void cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* f->u of the weights. */
static void displace(const fields *f, const double *z) {
    size_t size = 3 * (size_t)f->mesh->vertex_count;
    for (size_t i = 0; i < size; i++) f->u[i] = 0;
    for (int k = 0; k < f->modes; k++)
        for (size_t i = 0; i < size; i++) f->u[i] += z[k] * f->shapes[size * (size_t)k + i];
}

/* f->w: the mean over the triangles around a vertex of n x dn + n (curl in the plane), where
 * dn is the change of the normal n. With gradients g of the hat functions, the turn about the
 * normal is half of sum n . (g x u), and the normal goes to n - sum (u . n) g. */
static void turn(const fields *f) {
    const sinew_mesh *m = f->mesh;
    for (int i = 0; i < 3 * m->vertex_count; i++) f->w[i] = 0, f->weight[i] = 0;
    for (int t = 0; t < m->triangle_count; t++) {
        const int *v = m->triangles + 3 * t;
        double e1[3], e2[3], normal[3], own[3] = {0, 0, 0}, about = 0;
        subtract(m->positions + 3 * v[1], m->positions + 3 * v[0], e1);
        subtract(m->positions + 3 * v[2], m->positions + 3 * v[0], e2);
        cross(e1, e2, normal);
        double area2 = sqrt(dot(normal, normal));
        if (!(area2 > 0)) continue;
        for (int k = 0; k < 3; k++) normal[k] /= area2;
        for (int c = 0; c < 3; c++) {
            double edge[3], g[3], side[3];
            subtract(m->positions + 3 * v[(c + 2) % 3], m->positions + 3 * v[(c + 1) % 3], edge);
            cross(normal, edge, g); /* towards the corner, over twice the area */
            const double *u = f->u + 3 * v[c];
            for (int k = 0; k < 3; k++) g[k] /= area2;
            cross(g, u, side);
            about += 0.5 * dot(side, normal);
            double tilt = dot(u, normal), axis[3];
            cross(normal, g, axis);
            for (int k = 0; k < 3; k++) own[k] -= tilt * axis[k];
        }
        for (int c = 0; c < 3; c++) {
            f->weight[v[c]] += area2;
            for (int k = 0; k < 3; k++) f->w[3 * v[c] + k] += area2 * (own[k] + about * normal[k]);
        }
    }
    for (int i = 0; i < m->vertex_count; i++)
        for (int k = 0; k < 3 && f->weight[i] > 0; k++) f->w[3 * i + k] /= f->weight[i];
}

static void linear_modes(const fields *f, const double *z, double *x) {
    displace(f, z);
    for (int i = 0; i < 3 * f->mesh->vertex_count; i++) x[i] = f->mesh->positions[i] + f->u[i];
}

/* G(w) u = u + (1 - cos a)/a^2 w x u + (a - sin a)/a^3 w x (w x u), a = |w|. */
static void warped_modes(const fields *f, const double *z, double *x) {
    displace(f, z);
    turn(f);
    for (int i = 0; i < f->mesh->vertex_count; i++) {
        const double *w = f->w + 3 * i, *u = f->u + 3 * i;
        double a = sqrt(dot(w, w)), once[3], twice[3];
        double first = a > 1e-6 ? (1 - cos(a)) / (a * a) : 0.5;
        double second = a > 1e-6 ? (a - sin(a)) / (a * a * a) : 1.0 / 6;
        cross(w, u, once), cross(w, once, twice);
        for (int k = 0; k < 3; k++)
            x[3 * i + k] =
                f->mesh->positions[3 * i + k] + u[k] + first * once[k] + second * twice[k];
    }
}

static double length(const double *x, int a, int b) {
    double d[3];
    subtract(x + 3 * a, x + 3 * b, d);
    return sqrt(dot(d, d));
}

static double edge_error(const sinew_mesh *m, const double *pose, const double *x, double share) {
    double sum = 0;
    int count = 0;
    for (int c = 0; c < 3 * m->triangle_count; c++) {
        int a = m->triangles[c], b = m->triangles[c % 3 == 2 ? c - 2 : c + 1];
        double wanted = (1 - share) * length(m->positions, a, b) + share * length(pose, a, b);
        if (!(wanted > 0)) continue;
        sum += fabs(length(x, a, b) - wanted) / wanted, count++;
    }
    return count ? sum / count : 0;
}

typedef enum method { LINEAR, WARPED, OURS, METHODS } method;

int main(int count, char **words) {
    if (count != 4) return 2;
    const char *paths[2] = {words[1], words[2]};
    sinew_rig *rig;
    need(sinew_rig_read(2, paths, &rig, &error));
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count;
    double *pose = room(n), *x = room(n), *first[2] = {room(n), room(n)};
    double *last[2] = {room(n), room(n)};
    for (int i = 0; i < 3 * n; i++) pose[i] = mesh->positions[i];
    for (int i = 0; i < rig->targets[0].count; i++)
        for (int k = 0; k < 3; k++)
            pose[3 * rig->targets[0].vertices[i] + k] += rig->targets[0].deltas[3 * i + k];
    const double *poses[1] = {pose}, *keys[2] = {mesh->positions, pose}, times[2] = {0, 1};
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.pose_count = 1, options.poses = poses;
    sinew_modal *modal;
    sinew_modal_state *state;
    need(sinew_modal_create(mesh, &options, NULL, &modal, &error));
    need(sinew_modal_state_create(modal, &state, &error));
    double half[METHODS], swing[METHODS] = {0};
    fields f = {0};
    for (int straight = 1; straight >= 0; straight--) {
        const double none = 0;
        sinew_modal_parameters parameters;
        sinew_modal_parameters_init(&parameters);
        if (straight) parameters.count = 1, parameters.amplitude = &none;
        sinew_modal_keys given = {
            .size = sizeof given, .count = 2, .times = times, .positions = keys};
        sinew_modal_motion *motion;
        need(sinew_modal_motion_create(modal, &given, &parameters, NULL, &motion, &error));
        sinew_modal_motion_info info = {.size = sizeof info};
        need(sinew_modal_motion_get_info(motion, &info));
        if (straight) f = read_modes(modal, mesh, info.columns);
        double *z = calloc((size_t)info.columns, sizeof *z);
        sinew_modal_motion_weights(motion, 0,
                                   z); /* the body's rest may be smoother than the mesh */
        linear_modes(&f, z, first[LINEAR]), warped_modes(&f, z, first[WARPED]);
        sinew_modal_motion_weights(motion, 1, z);
        linear_modes(&f, z, last[LINEAR]), warped_modes(&f, z, last[WARPED]);
        for (int k = 0; k <= FRAMES; k++) {
            double t = (double)k / FRAMES;
            if (straight && k != FRAMES / 2) continue;
            for (int m = 0; m < METHODS; m++) {
                sinew_modal_motion_weights(motion, t, z);
                if (m == LINEAR) linear_modes(&f, z, x);
                if (m == WARPED) warped_modes(&f, z, x);
                if (m == OURS) sinew_modal_frame(motion, state, t, x);
                for (int i = 0; m != OURS && i < 3 * n; i++)
                    x[i] +=
                        (1 - t) * (mesh->positions[i] - first[m][i]) + t * (pose[i] - last[m][i]);
                double off = edge_error(mesh, pose, x, t);
                if (straight) half[m] = off;
                if (!straight) swing[m] = fmax(swing[m], off);
            }
        }
        free(z);
        sinew_modal_motion_destroy(motion);
    }
    printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", words[3], 100 * half[LINEAR],
           100 * half[WARPED], 100 * half[OURS], 100 * swing[LINEAR], 100 * swing[WARPED],
           100 * swing[OURS]);
    free(f.shapes), free(f.u), free(f.w), free(f.weight);
    free(pose), free(x), free(first[0]), free(first[1]), free(last[0]), free(last[1]);
    sinew_modal_state_destroy(state);
    sinew_modal_destroy(modal);
    sinew_rig_destroy(rig);
    return half[OURS] > fmin(half[LINEAR], half[WARPED]) ||
           swing[OURS] > fmin(swing[LINEAR], swing[WARPED]);
}
