/* The table of formats as clients see it (sinew/formats.h). */
#include "sinew/formats.h"

#include <string.h>

#include "base/file.h"
#include "base/sized.h"
#include "io/format.h"

int sinew_format_count(void) {
    int count = 0;
    while (sn_formats()[count]) count++;
    return count;
}

static bool valid(int index) {
    return index >= 0 && index < sinew_format_count();
}

sinew_status sinew_format_get_info(int index, sinew_format_info *info) {
    SN_REQUIRE(valid(index) && info && sn_info_ready(info), NULL);
    const sn_format *f = sn_formats()[index];
    const struct {
        bool reads, writes;
        sinew_content content;
    } can[] = {{f->read_rig, f->write_rig, SINEW_CONTENT_RIG},
               {f->read_mesh, f->write_mesh, SINEW_CONTENT_MESH},
               {f->read_frames || f->cache_layout, f->write_frames, SINEW_CONTENT_FRAMES},
               {f->read_curves, f->write_curves, SINEW_CONTENT_CURVES},
               {f->read_markers, f->write_markers, SINEW_CONTENT_MARKERS},
               {f->read_tets, f->write_tets, SINEW_CONTENT_TETS},
               {f->read_clip, false, SINEW_CONTENT_CLIP}};
    sinew_format_info own = {.name = f->name,
                             .endings = f->endings,
                             .shares_ending = f->recognise,
                             .streams_frames = f->cache_layout,
                             .applies_deformer = f->mesh_is_posed};
    for (size_t i = 0; i < sizeof can / sizeof *can; i++) {
        own.reads |= can[i].reads ? (unsigned)can[i].content : 0;
        own.writes |= can[i].writes ? (unsigned)can[i].content : 0;
    }
    sn_info_write(info, &own, sizeof own);
    return SINEW_OK;
}

bool sinew_format_has_ending(int index, const char *path) {
    return valid(index) && path && sn_format_has_ending(sn_formats()[index], path);
}

/* The only one with the ending, if it needs no look at the content. */
static int by_ending(const char *path, bool *ambiguous) {
    int found = -1;
    *ambiguous = false;
    for (int i = 0; sn_formats()[i]; i++) {
        if (!sn_format_has_ending(sn_formats()[i], path)) continue;
        *ambiguous |= found >= 0 || sn_formats()[i]->recognise;
        if (found < 0) found = i;
    }
    return found;
}

sinew_status sinew_format_find(const char *path, int *index, sinew_error *error) {
    SN_REQUIRE(path && index, error);
    bool ambiguous;
    *index = by_ending(path, &ambiguous);
    if (*index < 0 || ambiguous) { /* a file that cannot be read is that first of all */
        sn_source source;
        SN_TRY(sn_source_open(&source, path, error));
        *index = -1;
        for (int i = 0; sn_formats()[i] && *index < 0; i++) {
            const sn_format *f = sn_formats()[i];
            if (sn_format_has_ending(f, path) && (!f->recognise || f->recognise(&source)))
                *index = i;
        }
        sn_source_close(&source);
    }
    if (*index >= 0) return SINEW_OK;
    const char *ending = sn_path_ending(path);
    if (strcmp(ending, "usd") == 0 || strcmp(ending, "usdc") == 0 || strcmp(ending, "usdz") == 0)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: Sinew does not read USD; export the scene as GLB or FBX", path);
    return sn_fail(error, SINEW_BAD_INPUT, "%s: Sinew cannot read files with the extension '%s'",
                   path, ending);
}
