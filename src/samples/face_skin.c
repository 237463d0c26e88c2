/* The skin of the face as a quad cage: a grid of columns around the head and rows up it, with holes
 * for eyes, mouth and ears, each filled by rings of points that run around it like the muscles do.
 *
 *   columns 0 (front) .. 12 (back) of the left half; rows 0 (neck rim) .. 17 (crown)
 *   eye   hole over columns 2-6, rows 11-13: rings to the lid rim, over it, and behind the eyeball
 *   mouth hole over columns 0-3, rows 5-7:   rings over the lips, inside, to the back of the mouth
 *   ear   hole over columns 8-10, rows 8-12
 *
 * Numbers are centimetres; +x is the face's left, y up, z to the front. */
#include "samples/face.h"

#include <math.h>

#include "samples/builders.h"

enum { COLUMNS = 13, ROWS = 18, EYE = 12, MOUTH = 9, EAR = 12 };

/* Cross-sections of the head without its features: heights at front, cheek, side and back, half
 * width, z at front, back and widest place. */
static const struct {
    double front, cheek, side, back, width, z_front, z_back, z_wide;
} rows[ROWS] = {
    {-16.2, -16.0, -15.7, -15.2, 4.7, 1.0, -7.6, -3.2},
    {-13.2, -12.4, -11.6, -11.0, 4.35, 0.9, -7.2, -3.2},
    {-11.4, -9.9, -8.2, -8.0, 5.0, 4.8, -7.4, -2.8},
    {-11.0, -9.1, -6.8, -6.0, 6.2, 8.8, -8.2, -2.2},
    {-9.6, -7.9, -5.6, -4.4, 6.6, 9.7, -8.9, -2.0},
    {-8.0, -6.8, -4.6, -3.0, 6.9, 8.9, -9.5, -1.9},
    {-6.4, -5.9, -3.9, -1.9, 7.1, 9.2, -9.9, -1.8},
    {-4.95, -5.1, -3.2, -0.9, 7.2, 9.5, -10.2, -1.8},
    {-4.4, -4.45, -2.6, -0.1, 7.25, 9.5, -10.3, -1.8},
    {-4.1, -3.75, -1.9, 0.7, 7.3, 9.5, -10.4, -1.8},
    {-3.3, -3.0, -1.1, 1.5, 7.35, 9.5, -10.5, -1.8},
    {-1.3, -1.9, -0.1, 2.3, 7.4, 9.4, -10.5, -1.8},
    {0.3, 0.5, 1.1, 3.1, 7.45, 9.3, -10.5, -1.8},
    {1.8, 2.4, 2.3, 4.0, 7.5, 9.2, -10.5, -1.8},
    {3.1, 3.8, 3.7, 5.0, 7.55, 9.3, -10.4, -1.8},
    {6.0, 6.1, 6.1, 6.6, 7.55, 9.4, -9.8, -1.6},
    {8.9, 8.9, 8.9, 8.9, 6.65, 8.1, -9.0, -1.2},
    {11.0, 10.95, 10.9, 10.8, 4.3, 4.8, -6.0, -0.9},
};

/* Share of the half width at each column; columns 10 and up lie behind the widest place. */
static const double upper_share[COLUMNS] = {0,   0.11,  0.21, 0.33, 0.46, 0.61, 0.76,
                                            0.9, 0.985, 1.0,  0.97, 0.64, 0};
static const double mouth_share[COLUMNS] = {0,   0.14,  0.28, 0.42, 0.55, 0.67, 0.79,
                                            0.9, 0.985, 1.0,  0.97, 0.64, 0};
static const double row_mouth[ROWS] = {0.6, 0.6, 0.8, 0.9, 1, 1, 1, 0.9, 0.6, 0.4, 0.2};

/* Places where the face leaves the plain head: nose, orbit and brow. */
static const struct {
    int row, column;
    double x, y, z;
} features[] = {
    {7, 0, 0, -5.0, 9.8},     {7, 1, 0.85, -4.95, 9.75}, {7, 2, 1.8, -4.95, 9.3},
    {7, 3, 3.0, -5.05, 8.55}, {8, 0, 0, -4.4, 10.0},     {8, 1, 0.6, -4.35, 9.9},
    {8, 2, 1.4, -4.25, 9.55}, {8, 3, 2.35, -4.2, 8.9},   {9, 0, 0, -4.05, 11.4},
    {9, 1, 0.65, -4.0, 11.0}, {9, 2, 1.65, -3.8, 10.2},  {9, 3, 2.2, -3.55, 8.8},
    {10, 0, 0, -3.1, 12.4},   {10, 1, 0.8, -3.05, 11.8}, {10, 2, 1.75, -2.95, 10.35},
    {10, 3, 2.3, -2.75, 8.9}, {11, 0, 0, -1.3, 10.9},    {11, 1, 0.62, -1.35, 10.4},
    {11, 2, 1.35, -1.4, 9.0}, {11, 3, 2.3, -1.95, 8.7},  {11, 4, 3.4, -2.2, 8.5},
    {11, 5, 4.7, -1.9, 7.8},  {11, 6, 5.75, -1.1, 6.6},  {12, 0, 0, 0.3, 9.75},
    {12, 1, 0.6, 0.3, 9.4},   {12, 2, 1.2, 0.1, 8.4},    {12, 6, 6.0, 0.5, 6.1},
    {13, 0, 0, 1.8, 9.25},    {13, 1, 0.8, 1.85, 9.15},  {13, 2, 1.55, 1.95, 8.8},
    {13, 3, 2.45, 2.6, 8.6},  {13, 4, 3.6, 2.9, 8.3},    {13, 5, 4.85, 2.75, 7.6},
    {13, 6, 5.8, 2.1, 6.4},   {14, 0, 0, 3.3, 9.35},     {14, 1, 0.95, 3.4, 9.4},
    {14, 2, 1.95, 3.7, 9.35}, {14, 3, 2.95, 4.1, 9.1},   {14, 4, 3.95, 4.2, 8.65},
    {14, 5, 5.1, 3.9, 7.75},  {14, 6, 6.1, 3.3, 6.3},
};

/* How far each row and column goes with the jaw. */
static const double jaw_of_row[ROWS] = {0, 0, 0.45, 0.95, 1, 1, 0.55, 0.08};
static const double jaw_of_column[COLUMNS] = {1, 1, 1, 1, 0.97, 0.88, 0.7, 0.42, 0.15};

static double mix(double a, double b, double t) {
    return a + t * (b - a);
}

static sn_vec3 head_point(int r, int c) {
    double share = mix(upper_share[c], mouth_share[c], row_mouth[r]);
    double x = share * rows[r].width;
    double rest = pow(fmax(0, 1 - pow(share, 2.35)), 1 / 2.35);
    double z_end = c <= 9 ? rows[r].z_front : rows[r].z_back;
    double z = rows[r].z_wide + rest * (z_end - rows[r].z_wide);
    double flat = r >= 2 && r <= 4 ? 1.3 : 0; /* the chin is blunt */
    double y = c <= 5   ? mix(rows[r].front, rows[r].cheek, sn_smooth((c - flat) / (5 - flat)))
               : c <= 9 ? mix(rows[r].cheek, rows[r].side, (c - 5) / 4.0)
                        : mix(rows[r].side, rows[r].back, (c - 9) / 3.0);
    return sn_v3(x, y, z);
}

typedef int grid[ROWS][COLUMNS];

static bool in_hole(int r, int c) { /* cells */
    bool eye = (r == 11 || r == 12) && c >= 2 && c < 6;
    bool mouth = (r == 5 || r == 6) && c < 3;
    bool ear = r >= 8 && r < 12 && (c == 8 || c == 9);
    bool nostril = r == 8 && c == 1;
    return eye || mouth || ear || nostril;
}

static bool point_in_hole(int r, int c) {
    return (r == 12 && c > 2 && c < 6) || (r == 6 && c < 3) || (c == 9 && r > 8 && r < 12);
}

/* Takes bumps out of the grid, with two steps of opposite sign so that it does not shrink (Taubin
 * 1995). Features keep their positions, the neck rim and the mirror plane stay. */
static void smooth_grid(sn_vec3 p[ROWS][COLUMNS], double free[ROWS][COLUMNS]) {
    sn_vec3 next[ROWS][COLUMNS];
    for (int step = 0; step < 40; step++) {
        double factor = step % 2 ? -0.53 : 0.5;
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) {
                next[r][c] = p[r][c];
                if (r == 0 || r == ROWS - 1) continue;
                sn_vec3 left = c > 0 ? p[r][c - 1] : p[r][1];
                sn_vec3 right = c + 1 < COLUMNS ? p[r][c + 1] : p[r][COLUMNS - 2];
                if (c == 0) left.x = -left.x;
                if (c + 1 == COLUMNS) right.x = -right.x;
                sn_vec3 mean = sn_add(sn_add(left, right), sn_add(p[r - 1][c], p[r + 1][c]));
                sn_vec3 d = sn_sub(sn_scale(0.25, mean), p[r][c]);
                next[r][c] = sn_add_scaled(p[r][c], factor * free[r][c], d);
            }
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) p[r][c] = next[r][c];
    }
}

static void make_grid(sn_cage *cage, grid at) {
    sn_vec3 p[ROWS][COLUMNS];
    double free[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            p[r][c] = head_point(r, c);
            free[r][c] = r >= 16 ? 0 : r == 15 ? 0.3 : r <= 3 ? 0.3 : 1;
        }
    for (size_t k = 0; k < sizeof features / sizeof *features; k++) {
        p[features[k].row][features[k].column] = sn_v3(features[k].x, features[k].y, features[k].z);
        free[features[k].row][features[k].column] = 0.1;
    }
    smooth_grid(p, free);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            if (point_in_hole(r, c)) continue;
            at[r][c] = sn_cage_point(cage, p[r][c]);
            sn_cage_values(cage, at[r][c])[SN_FACE_JAW] = jaw_of_row[r] * jaw_of_column[c];
        }
    for (int r = 0; r + 1 < ROWS; r++)
        for (int c = 0; c + 1 < COLUMNS; c++)
            if (!in_hole(r, c))
                sn_cage_quad(cage, at[r][c], at[r][c + 1], at[r + 1][c + 1], at[r + 1][c],
                             SN_PART_SKIN);
}

/* Closes the left half of a ring of 4 n points whose first and last of 2 n + 1 points lie on the
 * mirror plane, with n / 2 x n quads. Points are Coons-blended with their own mirror images. */
static void half_cap(sn_cage *cage, int n, const int *ring, sn_vec3 bulge) {
    enum { LIMIT = 8 };
    int at[LIMIT + 1][LIMIT / 2 + 1], half = n / 2;
    for (int j = 0; j <= n; j++)
        for (int i = 0; i <= half; i++) {
            if (j == 0) {
                at[j][i] = ring[i];
            } else if (j == n) {
                at[j][i] = ring[2 * n - i];
            } else if (i == half) {
                at[j][i] = ring[half + j];
            } else {
                const double *bottom = sn_cage_values(cage, ring[i]);
                const double *top = sn_cage_values(cage, ring[2 * n - i]);
                const double *side = sn_cage_values(cage, ring[half + j]);
                const double *b = sn_cage_values(cage, ring[half]);
                const double *t = sn_cage_values(cage, ring[half + n]);
                double v = (double)j / n, u = 0.5 + 0.5 * i / half, values[SN_FACE_CHANNELS];
                double left[SN_FACE_CHANNELS];
                for (int k = 0; k < SN_FACE_CHANNELS; k++) {
                    double sign = k == 0 ? -1 : 1; /* the mirrored side */
                    left[k] = sign * (side[k] - mix(b[k], t[k], v));
                    values[k] =
                        mix(bottom[k], top[k], v) + mix(left[k], side[k] - mix(b[k], t[k], v), u);
                }
                double lift = 16 * u * (1 - u) * v * (1 - v);
                at[j][i] = sn_cage_point(cage, sn_v3(0, 0, 0));
                double *fresh = sn_cage_values(cage, at[j][i]);
                for (int k = 0; k < SN_FACE_CHANNELS; k++) fresh[k] = values[k];
                fresh[0] += lift * bulge.x, fresh[1] += lift * bulge.y, fresh[2] += lift * bulge.z;
                if (i == 0) fresh[0] = 0;
            }
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < half; i++)
            sn_cage_quad(cage, at[j][i], at[j][i + 1], at[j + 1][i + 1], at[j + 1][i],
                         SN_PART_SKIN);
}

static sn_vec3 around_eye(double longitude, double latitude, double radius) {
    double a = sn_radians(longitude), b = sn_radians(latitude);
    return sn_add_scaled(SN_EYE, radius, sn_v3(sin(a), cos(a) * sin(b), cos(a) * cos(b)));
}

/* Rims of the lids: from the inner corner along the lower lid, the outer corner, the upper lid. */
static const double rim_longitude[EYE] = {-55, -43, -23, 2, 27, 47, 59, 47, 26, 0, -25, -44};
static const double rim_latitude[EYE] = {-7, -14, -19, -21, -18, -9, 2, 12, 20, 23, 20, 9};

/* Rings of the lids: degrees from the rim (more is further open), radius beyond the eyeball. Upper
 * and lower differ. */
static const struct {
    double up, down, radius, inside;
} lid_rings[] = {
    {31, 22, 0.62, 0},     /* above the fold */
    {20, 14, 0.36, 0},     /* fold */
    {9, 7, 0.42, 0},       /* front of the lid */
    {1.2, 1.2, 0.34, 0},   /* outer edge of the rim */
    {0, 0, 0.24, 0},       /* crest of the rim */
    {1.5, 1.5, 0.14, 0.5}, /* inner edge */
    {14, 12, 0.15, 1},     /* behind the lid */
};
enum { LID_RINGS = sizeof lid_rings / sizeof *lid_rings };

static void make_eye(sn_cage *cage, grid at) {
    int ring[EYE] = {at[12][2], at[11][2], at[11][3], at[11][4], at[11][5], at[11][6],
                     at[12][6], at[13][6], at[13][5], at[13][4], at[13][3], at[13][2]};
    for (int k = 0; k < LID_RINGS + 1; k++) {
        int next[EYE];
        for (int i = 0; i < EYE; i++) {
            double lower = i > 0 && i<6, upper = i> 6;
            double longitude = rim_longitude[i], latitude = rim_latitude[i];
            double inside = 1;
            sn_vec3 p;
            if (k < LID_RINGS) {
                double open = upper ? lid_rings[k].up : lower ? -lid_rings[k].down : 0;
                if (i == 0) longitude -= 0.5 * lid_rings[k].down;
                if (i == 6) longitude += 0.5 * lid_rings[k].up;
                if (i == 1 || i == 11) longitude -= 0.2 * lid_rings[k].down, open *= 0.8;
                if (i == 5 || i == 7) longitude += 0.2 * lid_rings[k].up, open *= 0.8;
                p = around_eye(longitude, latitude + open, SN_EYE_RADIUS + lid_rings[k].radius);
                inside = lid_rings[k].inside;
            } else { /* the equator of the socket */
                sn_vec3 d = sn_sub(around_eye(longitude, latitude, 1), SN_EYE);
                d.z = 0;
                d = sn_normalize(d);
                d.z = -0.1;
                p = sn_add_scaled(SN_EYE, SN_EYE_RADIUS + 0.3, d);
            }
            next[i] = sn_cage_point(cage, p);
            double *values = sn_cage_values(cage, next[i]);
            values[SN_FACE_LID_RING] = k + 1;
            values[SN_FACE_LID_SIDE] = upper - lower;
            values[SN_FACE_INSIDE] = inside;
        }
        sn_cage_band(cage, EYE, ring, next, true, SN_PART_SKIN);
        for (int i = 0; i < EYE; i++) ring[i] = next[i];
    }
    sn_cage_cap(cage, 3, ring, 1, sn_v3(0, 0, -SN_EYE_RADIUS - 0.3), SN_PART_SKIN, NULL);
}

/* Rings of the mouth from bottom center over the corner to top center. */
static const struct {
    double x[MOUTH], y[MOUTH], z[MOUTH];
    double lip, inside;
} mouth_rings[] = {
    /* border of the red */
    {{0, 0.85, 1.62, 2.28, 2.85, 2.3, 1.6, 0.75, 0},
     {-7.5, -7.44, -7.2, -6.76, -6.18, -5.92, -5.62, -5.36, -5.5},
     {9.65, 9.6, 9.3, 8.9, 8.4, 9.0, 9.55, 10.0, 10.05},
     0.7,
     0},
    /* fullest */
    {{0, 0.8, 1.52, 2.16, 2.66, 2.16, 1.5, 0.75, 0},
     {-7.0, -6.97, -6.82, -6.55, -6.24, -6.12, -6.0, -5.86, -5.92},
     {10.7, 10.6, 10.2, 9.5, 8.65, 9.5, 10.25, 10.8, 10.85},
     1,
     0},
    /* front of the contact */
    {{0, 0.75, 1.42, 2.0, 2.42, 2.0, 1.42, 0.75, 0},
     {-6.42, -6.42, -6.4, -6.36, -6.32, -6.33, -6.36, -6.38, -6.38},
     {10.3, 10.2, 9.85, 9.25, 8.55, 9.25, 9.85, 10.25, 10.35},
     1,
     0.2},
    /* middle of the contact */
    {{0, 0.72, 1.36, 1.92, 2.34, 1.92, 1.36, 0.72, 0},
     {-6.36, -6.36, -6.34, -6.31, -6.32, -6.39, -6.42, -6.44, -6.44},
     {9.85, 9.75, 9.4, 8.85, 8.35, 8.85, 9.4, 9.8, 9.9},
     1,
     0.6},
    /* back of the contact */
    {{0, 0.72, 1.36, 1.92, 2.3, 1.92, 1.36, 0.72, 0},
     {-6.5, -6.5, -6.48, -6.42, -6.34, -6.3, -6.3, -6.3, -6.3},
     {9.4, 9.3, 8.95, 8.4, 7.95, 8.4, 8.95, 9.3, 9.4},
     0.8,
     1},
    /* in front of the gums */
    {{0, 0.9, 1.75, 2.4, 2.75, 2.4, 1.75, 0.9, 0},
     {-8.0, -7.95, -7.75, -7.3, -6.4, -5.5, -5.05, -4.85, -4.8},
     {9.0, 8.9, 8.5, 7.9, 7.2, 7.9, 8.5, 8.9, 9.0},
     0.2,
     1},
    /* beside the teeth */
    {{0, 1.1, 2.1, 2.9, 3.3, 2.9, 2.1, 1.1, 0},
     {-9.0, -8.95, -8.7, -8.1, -6.4, -4.9, -4.4, -4.2, -4.15},
     {6.9, 6.8, 6.5, 6.1, 5.6, 6.1, 6.5, 6.8, 6.9},
     0,
     1},
    /* back of the mouth */
    {{0, 1.1, 2.1, 2.9, 3.2, 2.9, 2.1, 1.1, 0},
     {-9.1, -9.05, -8.8, -8.1, -6.4, -5.0, -4.5, -4.3, -4.25},
     {3.4, 3.4, 3.3, 3.2, 3.0, 3.2, 3.3, 3.4, 3.4},
     0,
     1},
};
enum { MOUTH_RINGS = sizeof mouth_rings / sizeof *mouth_rings };

static const double mouth_jaw[MOUTH] = {1, 1, 0.97, 0.82, 0.5, 0.18, 0.03, 0, 0};

static void make_mouth(sn_cage *cage, grid at) {
    int ring[MOUTH] = {at[5][0], at[5][1], at[5][2], at[5][3], at[6][3],
                       at[7][3], at[7][2], at[7][1], at[7][0]};
    for (int k = 0; k < MOUTH_RINGS; k++) {
        int next[MOUTH];
        for (int i = 0; i < MOUTH; i++) {
            next[i] = sn_cage_point(
                cage, sn_v3(mouth_rings[k].x[i], mouth_rings[k].y[i], mouth_rings[k].z[i]));
            double *values = sn_cage_values(cage, next[i]);
            values[SN_FACE_JAW] = mouth_jaw[i];
            values[SN_FACE_SIDE] = i < 4 ? -1 : i == 4 ? 0 : 1;
            values[SN_FACE_LIP] = mouth_rings[k].lip;
            values[SN_FACE_INSIDE] = mouth_rings[k].inside;
        }
        sn_cage_band(cage, MOUTH, ring, next, false, SN_PART_SKIN);
        for (int i = 0; i < MOUTH; i++) ring[i] = next[i];
    }
    half_cap(cage, 4, ring, sn_v3(0, 0, -1.5));
}

/* A short tunnel up into the wing of the nose. */
static void make_nostril(sn_cage *cage, grid at) {
    int ring[4] = {at[8][1], at[8][2], at[9][2], at[9][1]};
    sn_vec3 center = sn_v3(0, 0, 0);
    for (int i = 0; i < 4; i++) center = sn_add_scaled(center, 0.25, sn_cage_at(cage, ring[i]));
    for (int k = 0; k < 2; k++) {
        int next[4];
        for (int i = 0; i < 4; i++) {
            sn_vec3 p =
                sn_lerp(sn_cage_at(cage, (int[4]){at[8][1], at[8][2], at[9][2], at[9][1]}[i]),
                        center, k ? 0.45 : 0.35);
            p.y += k ? 0.75 : -0.02;
            next[i] = sn_cage_point(cage, p);
            sn_cage_values(cage, next[i])[SN_FACE_INSIDE] = k;
        }
        sn_cage_band(cage, 4, ring, next, true, SN_PART_SKIN);
        for (int i = 0; i < 4; i++) ring[i] = next[i];
    }
    sn_cage_quad(cage, ring[0], ring[1], ring[2], ring[3], SN_PART_SKIN);
}

/* Rings of the ear: shares of the hole's width and height; share of the ear's outline, how far
 * inside it, and how far out of the head. */
static const struct {
    double width, height, ear, inset, out;
} ear_rings[] = {
    {0.5, 0.76, 0, 0, 0.02},
    {0.175, 0.23, 0.06, 0, 0.29},
    {0.24, 0.18, 0.81, 0, 0.705},
    {0, 0, 1, 0.05, 0.95},
    {0, 0, 1, 0, 1.2},
    {0, 0, 1, 0.3, 1.3},
    {0, 0, 1, 0.6, 1.1},
    {0, 0, 1, 0.9, 0.65},
};
enum { EAR_RINGS = sizeof ear_rings / sizeof *ear_rings };
/* Outline from the front bottom (lobe) backwards and up. */
static const double ear_back[EAR] = {-0.4, 0.35, 1.1,   1.75,  2.15,  2.2,
                                     1.7,  0.7,  -0.25, -0.55, -0.55, -0.55};
static const double ear_up[EAR] = {-2.5, -3.0, -2.3, -1.0, 0.4,  1.7,
                                   2.65, 2.95, 2.5,  1.2,  -0.2, -1.4};

static void make_ear(sn_cage *cage, grid at) {
    int ring[EAR] = {at[8][8],   at[8][9],  at[8][10], at[9][10], at[10][10], at[11][10],
                     at[12][10], at[12][9], at[12][8], at[11][8], at[10][8],  at[9][8]};
    sn_vec3 center = sn_v3(0, 0, 0), hole[EAR];
    for (int i = 0; i < EAR; i++)
        center = sn_add_scaled(center, 1.0 / EAR, sn_cage_at(cage, ring[i]));
    for (int i = 0; i < EAR; i++) hole[i] = sn_sub(sn_cage_at(cage, ring[i]), center);
    sn_vec3 out = sn_normalize(sn_v3(1, 0, 0.28)), up = sn_normalize(sn_v3(0, 1, -0.16));
    sn_vec3 back = sn_cross(up, out);
    out = sn_normalize(sn_cross(back, up));
    for (int k = 0; k < EAR_RINGS; k++) {
        int next[EAR];
        for (int i = 0; i < EAR; i++) {
            /* the rear of the ear is further from the head than its front */
            double stand = 0.8 + 0.2 * sn_smooth((ear_back[i] + 0.9) / 2.7);
            /* inside is towards the long axis of the ear */
            sn_vec3 axis = sn_v3(0.75, fmax(-1.5, fmin(1.4, ear_up[i])), 0);
            sn_vec3 outline = sn_v3(ear_back[i], ear_up[i], 0);
            outline =
                sn_add_scaled(outline, ear_rings[k].inset, sn_normalize(sn_sub(axis, outline)));
            sn_vec3 tall = sn_v3(0, hole[i].y, 0), wide = sn_sub(hole[i], tall);
            sn_vec3 p = sn_add_scaled(center, ear_rings[k].width, wide);
            p = sn_add_scaled(p, ear_rings[k].height, tall);
            p = sn_add_scaled(p, ear_rings[k].ear * outline.x, back);
            p = sn_add_scaled(p, ear_rings[k].ear * outline.y, up);
            p = sn_add_scaled(p, ear_rings[k].out * stand, out);
            next[i] = sn_cage_point(cage, p);
        }
        sn_cage_band(cage, EAR, ring, next, true, SN_PART_SKIN);
        for (int i = 0; i < EAR; i++) ring[i] = next[i];
    }
    sn_cage_cap(cage, 3, ring, 1, sn_scale(-0.2, out), SN_PART_SKIN, NULL);
}

/* Lifts the points of the crown's cap onto the ellipsoid that the rows below it approach: a bulge
 * over the ring would leave a dent between the forehead and the crown. */
static void round_crown(sn_cage *cage, int first) {
    const sn_vec3 center = {0, 5.0, -0.6}, half = {7.35, 7.4, 9.23};
    for (int p = first; p < cage->point_count; p++) {
        double *at = sn_cage_values(cage, p);
        double x = at[0] / half.x, z = (at[2] - center.z) / half.z;
        at[1] = center.y + half.y * sqrt(fmax(0, 1 - x * x - z * z));
    }
}

void sn_face_skin(sn_cage *cage) {
    grid at = {0};
    make_grid(cage, at);
    make_nostril(cage, at);
    make_eye(cage, at);
    make_mouth(cage, at);
    make_ear(cage, at);
    int crown = cage->point_count;
    half_cap(cage, 6, at[ROWS - 1], sn_v3(0, 0, 0));
    round_crown(cage, crown);
}
