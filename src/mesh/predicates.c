/* Based on: Shewchuk, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
 * Predicates, 1997.
 * We differ in: two stages only, a filter and the exact sum; the exact sum is built term by term,
 * which is short to read and only runs on the rare near-zero determinants. */
#include "mesh/predicates.h"

#include <math.h>

/* 2^-53, half the spacing of doubles at 1. */
static const double epsilon = 1.1102230246251565e-16;

/* A sum of doubles of increasing size whose bits do not overlap: exact. */
typedef struct expansion {
    int count;
    double term[192];
} expansion;

/* a + b = sum + *rest exactly. */
static double two_sum(double a, double b, double *rest) {
    double sum = a + b, b_part = sum - a, a_part = sum - b_part;
    *rest = (a - a_part) + (b - b_part);
    return sum;
}

/* a b = product + *rest exactly. */
static double two_product(double a, double b, double *rest) {
    double product = a * b;
    *rest = fma(a, b, -product);
    return product;
}

static void grow(expansion *sum, double value) {
    if (value == 0) return;
    int kept = 0;
    for (int i = 0; i < sum->count; i++) {
        double rest;
        value = two_sum(value, sum->term[i], &rest);
        if (rest != 0) sum->term[kept++] = rest;
    }
    if (value != 0) sum->term[kept++] = value;
    sum->count = kept;
}

static int sign_of(const expansion *sum) {
    if (sum->count == 0) return 0;
    return sum->term[sum->count - 1] > 0 ? 1 : -1;
}

/* A difference of two doubles, exactly: high + low. */
typedef struct difference {
    double part[2];
} difference;

static difference subtract(double a, double b) {
    difference d;
    d.part[0] = two_sum(a, -b, &d.part[1]);
    return d;
}

/* sum += sign x y */
static void add_product2(expansion *sum, double sign, difference x, difference y) {
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double rest, product = two_product(sign * x.part[i], y.part[j], &rest);
            grow(sum, rest);
            grow(sum, product);
        }
}

/* sum += sign x y z */
static void add_product3(expansion *sum, double sign, difference x, difference y, difference z) {
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double low, high = two_product(sign * x.part[i], y.part[j], &low);
            for (int k = 0; k < 2; k++) {
                double rest, product = two_product(low, z.part[k], &rest);
                grow(sum, rest);
                grow(sum, product);
                product = two_product(high, z.part[k], &rest);
                grow(sum, rest);
                grow(sum, product);
            }
        }
}

static int orient3d_exact(sn_vec3 a, sn_vec3 b, sn_vec3 c, sn_vec3 d) {
    difference bx = subtract(b.x, a.x), by = subtract(b.y, a.y), bz = subtract(b.z, a.z);
    difference cx = subtract(c.x, a.x), cy = subtract(c.y, a.y), cz = subtract(c.z, a.z);
    difference dx = subtract(d.x, a.x), dy = subtract(d.y, a.y), dz = subtract(d.z, a.z);
    expansion sum;
    sum.count = 0;
    add_product3(&sum, 1, by, cz, dx);
    add_product3(&sum, -1, bz, cy, dx);
    add_product3(&sum, 1, bz, cx, dy);
    add_product3(&sum, -1, bx, cz, dy);
    add_product3(&sum, 1, bx, cy, dz);
    add_product3(&sum, -1, by, cx, dz);
    return sign_of(&sum);
}

int sn_orient3d(sn_vec3 a, sn_vec3 b, sn_vec3 c, sn_vec3 d) {
    sn_vec3 u = sn_sub(b, a), v = sn_sub(c, a), w = sn_sub(d, a);
    double xy = u.y * v.z, yx = u.z * v.y;
    double yz = u.z * v.x, zy = u.x * v.z;
    double zx = u.x * v.y, xz = u.y * v.x;
    double determinant = w.x * (xy - yx) + w.y * (yz - zy) + w.z * (zx - xz);
    double size = fabs(w.x) * (fabs(xy) + fabs(yx)) + fabs(w.y) * (fabs(yz) + fabs(zy)) +
                  fabs(w.z) * (fabs(zx) + fabs(xz));
    double bound = (7 + 56 * epsilon) * epsilon * size;
    if (determinant > bound) return 1;
    if (determinant < -bound) return -1;
    return orient3d_exact(a, b, c, d);
}

int sn_orient2d(const double a[2], const double b[2], const double c[2]) {
    double left = (b[0] - a[0]) * (c[1] - a[1]), right = (b[1] - a[1]) * (c[0] - a[0]);
    double determinant = left - right;
    double bound = (3 + 16 * epsilon) * epsilon * (fabs(left) + fabs(right));
    if (determinant > bound) return 1;
    if (determinant < -bound) return -1;
    expansion sum;
    sum.count = 0;
    add_product2(&sum, 1, subtract(b[0], a[0]), subtract(c[1], a[1]));
    add_product2(&sum, -1, subtract(b[1], a[1]), subtract(c[0], a[0]));
    return sign_of(&sum);
}
