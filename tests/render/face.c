#include "face.h"

#include "sinew/io.h"
#include "support.h"

void add_ball(face *f, const char *name, double x, double y, double z, double radius) {
    f->size += (size_t)sprintf(f->text + f->size, "o %s\n", name);
    for (int r = 0; r <= RINGS + 1; r++)
        for (int s = 0; s < SEGMENTS; s++) {
            double a = M_PI * r / (RINGS + 1), b = 2 * M_PI * s / SEGMENTS;
            f->size += (size_t)sprintf(f->text + f->size, "v %.9g %.9g %.9g\n",
                                       x + radius * sin(a) * cos(b), y + radius * sin(a) * sin(b),
                                       z + radius * cos(a));
        }
    for (int r = 0; r <= RINGS; r++)
        for (int s = 0; s < SEGMENTS; s++) {
            int t = (s + 1) % SEGMENTS, one = f->vertices + 1;
            int i = one + r * SEGMENTS + s, j = one + r * SEGMENTS + t;
            f->size += (size_t)sprintf(f->text + f->size, "f %d %d %d %d\n", i, i + SEGMENTS,
                                       j + SEGMENTS, j);
        }
    f->vertices += (RINGS + 2) * SEGMENTS;
}

sinew_mesh *mesh_of(const face *f) {
    sinew_error error;
    sinew_source source;
    sinew_mesh *mesh;
    sinew_source_init(&source);
    source.name = "face.obj", source.bytes = f->text, source.byte_count = f->size;
    assert_ok(sinew_mesh_read_from(&source, NULL, &mesh, &error));
    return mesh;
}
