/* What acts on a spring scene besides its obstacles: pins, pulls, orientations, gravity and wind.
 * Read from the scene once, then computed for each frame. */
#ifndef SN_SESSION_SPRING_LOADS_H
#define SN_SESSION_SPRING_LOADS_H

#include "session/model.h"
#include "session/orientations.h"
#include "sinew/frames.h"
#include "sinew/spring.h"

typedef struct sn_spring_pins {
    int count;
    int *vertices;
    int *entry;  /* per pin: its entry */
    int entries; /* those of the scene; one more for the vertices of `hold`, if there are any */
    int scene_entries;
} sn_spring_pins;

/* The pins of the scene, then the vertices that `hold` selects. *pins must be zero; on failure it
 * may hold a part of them. */
sinew_status sn_spring_pins_read(const sn_model_setup *setup, sn_spring_pins *pins,
                                 sinew_error *error);
void sn_spring_pins_free(sn_spring_pins *pins);

typedef struct sn_spring_loads {
    const sinew_rig *rig;
    const sinew_spring *spring;
    sn_spring_pins pins;
    sinew_frames **pin_frames; /* per entry of pins: what its vertices follow, or NULL */
    double *pin_positions;     /* in the current frame */
    int pull_count;
    sinew_spring_pull *pulls;
    sinew_frames **pull_frames;      /* per pull: what its vertex follows, or NULL */
    sinew_spring_pull *joined_pulls; /* the scene's and those of the input, for one frame */
    size_t joined_room;
    sn_orientations oriented;
    sinew_spring_orientation *orientations; /* as many */
    double gravity[3], wind[3];
    double *mass_map; /* factors per vertex; NULL: 1 */
    char *mass_file;  /* the file that holds them */
    double *forces;   /* 3 per vertex */
    bool forced;      /* there is gravity or wind */
} sn_spring_loads;

/* Reads what changed (SN_KEY_* bits). rig and spring must be set. */
sinew_status sn_spring_loads_update(sn_spring_loads *loads, const sn_model_setup *setup,
                                    uint32_t changed, sinew_error *error);
void sn_spring_loads_free(sn_spring_loads *loads);
/* Fills the pins, pulls, orientations and forces of a frame. shape: its linear blend. */
sinew_status sn_spring_loads_at(sn_spring_loads *loads, const sn_ask *ask, const double *shape,
                                sinew_spring_frame *frame, sinew_error *error);
/* Whether all frames have the same pins and pulls, and no forces or orientations. */
bool sn_spring_loads_constant(const sn_spring_loads *loads);

#endif
