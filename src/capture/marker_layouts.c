/* Numbered layouts of face landmarks.
 *
 * A take is read as a layout when its names are one text with numbers, and these numbers say so:
 * they are exactly those of a layout, or some are missing and the others reach nearly to its end.
 * Where the count alone might be a coincidence, or the first number could be 0 or 1, there are
 * several guesses, and the positions must decide (sn_layout_guess.certain). */
#include "capture/marker_layouts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct numbered {
    int point, landmark;
    sinew_side side;
    sn_margin margin;
    double along;
} numbered;

#define BOTH(left, right, landmark)                                                                \
    {left, landmark, SINEW_SIDE_LEFT, SN_MARGIN_NONE, NAN}, {                                      \
        right, landmark, SINEW_SIDE_RIGHT, SN_MARGIN_NONE, NAN                                     \
    }
#define ONE(point, landmark)                                                                       \
    { point, landmark, SINEW_SIDE_NONE, SN_MARGIN_NONE, NAN }
/* On the margin of a lid, `along` of the way from the inner corner. */
#define LIDS(left, right, lid, along)                                                              \
    {left, SINEW_LANDMARK_##lid, SINEW_SIDE_LEFT, SN_MARGIN_##lid, along}, {                       \
        right, SINEW_LANDMARK_##lid, SINEW_SIDE_RIGHT, SN_MARGIN_##lid, along                      \
    }
/* On the margin of a lip, from the right corner; beside it. */
#define INNER_LIP(point, lip, along)                                                               \
    { point, -1, SINEW_SIDE_NONE, SN_MARGIN_##lip, along }
#define INNER_LIPS(left, right, lip, along)                                                        \
    {left, -1, SINEW_SIDE_LEFT, SN_MARGIN_##lip, 1 - (along)}, {                                   \
        right, -1, SINEW_SIDE_RIGHT, SN_MARGIN_##lip, along                                        \
    }
#define OUTER_LIP(point, lip)                                                                      \
    { point, SINEW_LANDMARK_##lip, SINEW_SIDE_NONE, SN_MARGIN_##lip, NAN }
#define OUTER_LIPS(left, right, landmark, lip)                                                     \
    {left, landmark, SINEW_SIDE_LEFT, SN_MARGIN_##lip, NAN}, {                                     \
        right, landmark, SINEW_SIDE_RIGHT, SN_MARGIN_##lip, NAN                                    \
    }
/* Told only which side it is on. */
#define SIDES(left, right) BOTH(left, right, -1)

/* iBUG, also known as Multi-PIE and dlib. */
static const numbered ibug[] = {
    BOTH(22, 21, SINEW_LANDMARK_BROW_INNER),
    BOTH(24, 19, SINEW_LANDMARK_BROW_MIDDLE),
    BOTH(26, 17, SINEW_LANDMARK_BROW_OUTER),
    SIDES(23, 20),
    SIDES(25, 18),
    BOTH(42, 39, SINEW_LANDMARK_EYE_INNER),
    BOTH(45, 36, SINEW_LANDMARK_EYE_OUTER),
    LIDS(43, 38, LID_UPPER, 1 / 3.0),
    LIDS(44, 37, LID_UPPER, 2 / 3.0),
    LIDS(47, 40, LID_LOWER, 1 / 3.0),
    LIDS(46, 41, LID_LOWER, 2 / 3.0),
    BOTH(35, 31, SINEW_LANDMARK_NOSE_WING),
    SIDES(34, 32),
    BOTH(54, 48, SINEW_LANDMARK_MOUTH_CORNER),
    OUTER_LIPS(53, 49, SINEW_LANDMARK_LIP_UPPER_SIDE, LIP_UPPER),
    OUTER_LIPS(55, 59, SINEW_LANDMARK_LIP_LOWER_SIDE, LIP_LOWER),
    OUTER_LIPS(52, 50, -1, LIP_UPPER),
    OUTER_LIPS(56, 58, -1, LIP_LOWER),
    SIDES(64, 60),
    INNER_LIPS(63, 61, LIP_UPPER, 0.3),
    INNER_LIPS(65, 67, LIP_LOWER, 0.3),
    ONE(27, SINEW_LANDMARK_NOSE_BRIDGE),
    ONE(30, SINEW_LANDMARK_NOSE_TIP),
    ONE(33, SINEW_LANDMARK_NOSE_BASE),
    OUTER_LIP(51, LIP_UPPER),
    OUTER_LIP(57, LIP_LOWER),
    INNER_LIP(62, LIP_UPPER, 0.5),
    INNER_LIP(66, LIP_LOWER, 0.5),
    ONE(8, SINEW_LANDMARK_CHIN),
    SIDES(9, 7),
    SIDES(10, 6),
    SIDES(11, 5),
    SIDES(12, 4),
    SIDES(13, 3),
    SIDES(14, 2),
    SIDES(15, 1),
    SIDES(16, 0),
};
static const numbered mediapipe[] = {
    BOTH(336, 107, SINEW_LANDMARK_BROW_INNER),
    BOTH(334, 105, SINEW_LANDMARK_BROW_MIDDLE),
    BOTH(300, 70, SINEW_LANDMARK_BROW_OUTER),
    BOTH(362, 133, SINEW_LANDMARK_EYE_INNER),
    BOTH(263, 33, SINEW_LANDMARK_EYE_OUTER),
    LIDS(398, 173, LID_UPPER, 0.125),
    LIDS(384, 157, LID_UPPER, 0.25),
    LIDS(385, 158, LID_UPPER, 0.375),
    LIDS(386, 159, LID_UPPER, 0.5),
    LIDS(387, 160, LID_UPPER, 0.625),
    LIDS(388, 161, LID_UPPER, 0.75),
    LIDS(466, 246, LID_UPPER, 0.875),
    LIDS(382, 155, LID_LOWER, 0.125),
    LIDS(381, 154, LID_LOWER, 0.25),
    LIDS(380, 153, LID_LOWER, 0.375),
    LIDS(374, 145, LID_LOWER, 0.5),
    LIDS(373, 144, LID_LOWER, 0.625),
    LIDS(390, 163, LID_LOWER, 0.75),
    LIDS(249, 7, LID_LOWER, 0.875),
    BOTH(278, 48, SINEW_LANDMARK_NOSE_WING),
    BOTH(291, 61, SINEW_LANDMARK_MOUTH_CORNER),
    OUTER_LIPS(409, 185, -1, LIP_UPPER),
    OUTER_LIPS(270, 40, -1, LIP_UPPER),
    OUTER_LIPS(269, 39, SINEW_LANDMARK_LIP_UPPER_SIDE, LIP_UPPER),
    OUTER_LIPS(267, 37, -1, LIP_UPPER),
    OUTER_LIPS(375, 146, -1, LIP_LOWER),
    OUTER_LIPS(321, 91, -1, LIP_LOWER),
    OUTER_LIPS(405, 181, SINEW_LANDMARK_LIP_LOWER_SIDE, LIP_LOWER),
    OUTER_LIPS(314, 84, -1, LIP_LOWER),
    SIDES(308, 78),
    INNER_LIPS(415, 191, LIP_UPPER, 0.1),
    INNER_LIPS(310, 80, LIP_UPPER, 0.2),
    INNER_LIPS(311, 81, LIP_UPPER, 0.3),
    INNER_LIPS(312, 82, LIP_UPPER, 0.4),
    INNER_LIPS(324, 95, LIP_LOWER, 0.1),
    INNER_LIPS(318, 88, LIP_LOWER, 0.2),
    INNER_LIPS(402, 178, LIP_LOWER, 0.3),
    INNER_LIPS(317, 87, LIP_LOWER, 0.4),
    ONE(168, SINEW_LANDMARK_NOSE_BRIDGE),
    ONE(1, SINEW_LANDMARK_NOSE_TIP),
    ONE(2, SINEW_LANDMARK_NOSE_BASE),
    OUTER_LIP(0, LIP_UPPER),
    OUTER_LIP(17, LIP_LOWER),
    INNER_LIP(13, LIP_UPPER, 0.5),
    INNER_LIP(14, LIP_LOWER, 0.5),
    ONE(199, SINEW_LANDMARK_CHIN),
    ONE(9, SINEW_LANDMARK_BROW_CENTER),
};

static const numbered wflw[] = {
    BOTH(42, 37, SINEW_LANDMARK_BROW_INNER),
    BOTH(44, 35, SINEW_LANDMARK_BROW_MIDDLE),
    BOTH(46, 33, SINEW_LANDMARK_BROW_OUTER),
    BOTH(68, 64, SINEW_LANDMARK_EYE_INNER),
    BOTH(72, 60, SINEW_LANDMARK_EYE_OUTER),
    LIDS(69, 63, LID_UPPER, 0.25),
    LIDS(70, 62, LID_UPPER, 0.5),
    LIDS(71, 61, LID_UPPER, 0.75),
    LIDS(75, 65, LID_LOWER, 0.25),
    LIDS(74, 66, LID_LOWER, 0.5),
    LIDS(73, 67, LID_LOWER, 0.75),
    BOTH(59, 55, SINEW_LANDMARK_NOSE_WING),
    BOTH(82, 76, SINEW_LANDMARK_MOUTH_CORNER),
    OUTER_LIPS(81, 77, SINEW_LANDMARK_LIP_UPPER_SIDE, LIP_UPPER),
    OUTER_LIPS(83, 87, SINEW_LANDMARK_LIP_LOWER_SIDE, LIP_LOWER),
    OUTER_LIPS(80, 78, -1, LIP_UPPER),
    OUTER_LIPS(84, 86, -1, LIP_LOWER),
    SIDES(92, 88),
    INNER_LIPS(91, 89, LIP_UPPER, 0.25),
    INNER_LIPS(93, 95, LIP_LOWER, 0.25),
    ONE(51, SINEW_LANDMARK_NOSE_BRIDGE),
    ONE(54, SINEW_LANDMARK_NOSE_TIP),
    ONE(57, SINEW_LANDMARK_NOSE_BASE),
    OUTER_LIP(79, LIP_UPPER),
    OUTER_LIP(85, LIP_LOWER),
    INNER_LIP(90, LIP_UPPER, 0.5),
    INNER_LIP(94, LIP_LOWER, 0.5),
    ONE(16, SINEW_LANDMARK_CHIN),
};

/* The 68 points without the corners of the inner lips. */
static int without_inner_corners(int point) {
    return point < 60 ? point : point < 63 ? point + 1 : point + 2;
}
static int without_jaw(int point) {
    return point + 17;
}
static int without_both(int point) {
    return without_inner_corners(point + 17);
}
static int as_it_is(int point) {
    return point;
}

#define ROWS(table) table, (int)(sizeof(table) / sizeof *(table))
static const struct {
    int points;
    const numbered *rows;
    int row_count;
    int (*point)(int number); /* of the table */
    bool common;              /* the count alone says it */
    int least;                /* markers of a take in which numbers are missing; 0: none may be */
} layouts[] = {
    {68, ROWS(ibug), as_it_is, true, 40},
    {51, ROWS(ibug), without_jaw, true, 0},
    {66, ROWS(ibug), without_inner_corners, false, 0},
    {49, ROWS(ibug), without_both, false, 0},
    {70, ROWS(ibug), as_it_is, false, 0}, /* and two pupils */
    {98, ROWS(wflw), as_it_is, false, 0},
    {468, ROWS(mediapipe), as_it_is, true, 60},
    {478, ROWS(mediapipe), as_it_is, true, 0},
};

/* The number that ends a name, and where it begins; -1 when there is none. */
static int number_of(const char *name, size_t *start) {
    size_t length = strlen(name);
    int number = -1;
    *start = length;
    while (*start > 0 && isdigit((unsigned char)name[*start - 1])) --*start;
    if (*start == length || length - *start > 6 || sscanf(name + *start, "%d", &number) != 1)
        return -1;
    return number;
}

int sn_layout_guesses(const sinew_markers *take, sn_layout_guess guesses[SN_LAYOUT_GUESSES]) {
    int count = take->marker_count, low = 0, high = -1, found = 0;
    size_t prefix = 0, start;
    for (int i = 0; i < count; i++) {
        const char *name = take->names[i];
        int number = number_of(name, &start);
        if (number < 0 || sn_marker_name_parse(name).landmark >= 0) return 0;
        if (i == 0) prefix = start;
        if (start != prefix || strncmp(name, take->names[0], start) != 0) return 0;
        if (i == 0 || number < low) low = number;
        if (number > high) high = number;
    }
    bool whole = low <= 1 && high - low == count - 1; /* names are unique */
    for (int k = 0; k < (int)(sizeof layouts / sizeof *layouts); k++) {
        int points = layouts[k].points, least = layouts[k].least;
        if (whole && count == points)
            guesses[found++] = (sn_layout_guess){k, low, layouts[k].common};
        if (whole || least == 0 || count < least || high > points || high < points - 8) continue;
        for (int first = 0; first < 2; first++)
            if (low >= first && high < points + first)
                guesses[found++] = (sn_layout_guess){k, first, false};
    }
    return found;
}

void sn_layout_names(const sinew_markers *take, const sn_layout_guess *guess,
                     sn_marker_name *names) {
    for (int i = 0; i < take->marker_count; i++) {
        size_t start;
        int number = number_of(take->names[i], &start) - guess->first;
        int point = number < 0 ? -1 : layouts[guess->layout].point(number);
        names[i] = (sn_marker_name){-1, SINEW_SIDE_NONE, false, SN_MARGIN_NONE, NAN};
        for (int k = 0; k < layouts[guess->layout].row_count; k++) {
            const numbered *row = &layouts[guess->layout].rows[k];
            if (row->point != point) continue;
            names[i] = (sn_marker_name){row->landmark, row->side, false, row->margin, row->along};
        }
    }
}
