/* Key poses read in modes, and their curves in time. */
#ifndef SN_MODAL_MOTION_H
#define SN_MODAL_MOTION_H

#include <stdatomic.h>

#include "modal/body.h"
#include "modal/modes.h"
#include "modal/oscillator.h"
#include "modal/wiggly.h"

struct sinew_modal {
    sn_body *body;
    sn_modes *modes;
    struct sn_fast *fast; /* frames in single precision; NULL: double */
    double seconds;
    bool from_cache;
};

/* A shape in rotation and strain:
 *   positions = centers + exp(turns) T^-1(modes * weights + residual), and per vertex a leftover.
 */
typedef struct sn_pose {
    double *tracks;   /* weights of the columns, then turns and centers, 3 per component each */
    double *residual; /* SN_RS_SIZE per element */
    double *leftover; /* 3 per artist's vertex, in the frame of its host element; NULL: none yet */
    double *fast_leftover; /* the same of frames in single precision; NULL: as above */
    float *packed;         /* the residual in the layout of modal/fast.h; NULL: zero */
    float *still;          /* displacement by the columns that do not swing; NULL: none */
    double *rates;         /* prescribed d/dt of the tracks; NULL: none */
    double captured;       /* fraction of the coordinates that the columns express */
    int inverted;
} sn_pose;

/* One number of the pose over time. */
typedef struct sn_track {
    double lambda, zeta; /* 1/s */
    double amplitude;    /* of the difference from the straight path, aliasing faded */
    sn_oscillator oscillator;
    sn_wiggly_piece *pieces; /* key_count - 1, or NULL: the oscillator */
} sn_track;

struct sinew_modal_motion {
    const sinew_modal *modal;
    atomic_int holders;         /* the owner, and copies that borrow the poses */
    sinew_modal_motion *lender; /* whose poses these are, all but `still`; NULL: its own */
    int column_count;
    int track_count;
    int key_count;
    double *times;
    sn_pose *keys;
    int inner_count;
    double *inner_times;
    sn_pose *inner;        /* tracks absolute, residual and leftover relative to the motion there */
    double *inner_offsets; /* inner_count x track_count: tracks less the motion's own there */

    sn_track *tracks;
    sn_wiggly_piece *pieces; /* of all tracks */
    double *values;          /* scratch of the update: key_count values and velocities */
    double gravity[3];
    int path_count;
    double *path_times, *path;              /* of the whole, or none */
    double *frequency, *damping, *captured; /* what the info shows */
    double *fitted, *fitted_share;          /* and after the fit: 2 and 1 per column */
    int *inverted;
    bool *inverted_in_key; /* per element: some key turns it inside out */
    double leftover;
    /* Frames in single precision: columns that swing, and with the others in `still` of the poses.
     * NULL: all swing. */
    int moving_count;
    int *moving;
    bool *moves; /* per column */
};

/* The motion through the same keys with other parameters. It shares the poses, and neither motion
 * changes what the other one reads: each may be destroyed or updated first. */
sinew_status sn_motion_copy(sinew_modal_motion *from, const sinew_modal_parameters *parameters,
                            sinew_modal_motion **motion, sinew_error *error);

/* tracks[track_count] at a time, inner corrections included. */
void sn_motion_tracks(const sinew_modal_motion *motion, double time, double *tracks);

/* The residual at a time is a sum of at most four poses'; one more may be mixed in. */
typedef struct sn_residual_sum {
    int count;
    const sn_pose *poses[5];
    double weights[5];
    int moving_count;  /* columns that swing; the others are in `still` of the poses */
    const int *moving; /* NULL: all swing, and `still` does not count */
} sn_residual_sum;
sn_residual_sum sn_motion_residual(const sinew_modal_motion *motion, double time);

#endif
