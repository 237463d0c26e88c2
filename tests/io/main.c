/* The io room: every format in both directions. An argument runs the group of
 * that name alone. */
#include <string.h>

#include "groups.h"

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(void);
    } groups[] = {{"obj", test_obj},
                  {"ply", test_ply},
                  {"frames", test_frames},
                  {"rigs", test_rigs},
                  {"tables", test_tables},
                  {"glb", test_glb},
                  {"fbx", test_fbx},
                  {"fbx geometry", test_fbx_geometry},
                  {"fbx deformers", test_fbx_deformers},
                  {"fbx motion", test_fbx_motion},
                  {"meshes", test_meshes},
                  {"captures", test_captures},
                  {"clips", test_clips},
                  {"sources", test_sources},
                  {"sinks", test_sinks},
                  {"broken", test_broken},
                  {"compact", test_compact},
                  {"keep", test_keep},
                  {"corpus", test_corpus}};
    int failed = 0;
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (count < 2 || !strcmp(arguments[1], groups[i].name)) failed += groups[i].run();
    return failed != 0;
}
