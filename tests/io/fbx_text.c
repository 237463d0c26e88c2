#include "fbx_text.h"

sinew_mesh *fbx_mesh_of(const char *text) {
    sinew_error error;
    sinew_mesh *mesh = NULL;
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_ok(sn_fbx_read_mesh(&source, &mesh, &error));
    bytes_source_free(&source);
    return mesh;
}

sinew_rig *fbx_rig_of(const char *text) {
    sinew_error error;
    sinew_rig *rig = NULL;
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_ok(sn_fbx_read_rig(&source, &rig, &error));
    bytes_source_free(&source);
    return rig;
}

void fbx_refuse(const char *text, const char *part) {
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_int_equal(sn_fbx_read_rig(&source, &rig, &error), SINEW_BAD_INPUT);
    bytes_source_free(&source);
    if (!strstr(error.message, part) || !strstr(error.message, "test.fbx"))
        fail_msg("'%s' does not say '%s'", error.message, part);
}
