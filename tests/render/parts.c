/* Parts of a face by their names: what they are drawn as, and where eyes look. */
#include "support.h"

#include "face.h"
#include "groups.h"
#include "render/light.h"
#include "render/soup.h"
#include "sinew/render.h"

static sinew_error error;

static void the_names_of_parts_choose_materials(void **state) {
    (void)state;
    static const struct {
        const char *name;
        sn_material material;
    } cases[] = {
        {"Head", SN_MATERIAL_SKIN},      {"eye_L", SN_MATERIAL_EYE},
        {"EyeBall", SN_MATERIAL_EYE},    {"eyelid", SN_MATERIAL_SKIN},
        {"EyeSocket", SN_MATERIAL_SKIN}, {"eyebrow_L", SN_MATERIAL_HAIR},
        {"brow_eye", SN_MATERIAL_SKIN},  {"hair_cap", SN_MATERIAL_HAIR},
        {"sclera", SN_MATERIAL_EYE},     {"L_iris", SN_MATERIAL_EYE},
        {"Cornea", SN_MATERIAL_EYE},     {"upperTeeth", SN_MATERIAL_TEETH},
        {"tooth_12", SN_MATERIAL_TEETH}, {"Tongue", SN_MATERIAL_TONGUE},
        {"gums", SN_MATERIAL_TONGUE},    {"eye_occlusion", SN_MATERIAL_NONE},
        {"lacrimal", SN_MATERIAL_NONE},  {"eyeblend", SN_MATERIAL_NONE},
        {"eyelashes", SN_MATERIAL_NONE}, {"ey", SN_MATERIAL_SKIN},
        {"markers", SN_MATERIAL_MARKER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        face *f = calloc(1, sizeof *f);
        add_ball(f, "skin", 5, 0, 0, 1);
        add_ball(f, cases[i].name, 0, 0, 0, 1);
        sinew_mesh *mesh = mesh_of(f);
        sinew_panel panel = {.mesh = mesh};
        sn_soup soup;
        assert_ok(sn_soup_create(&panel, 0, 0, 'y', &soup, &error));
        int half = mesh->triangle_count / 2;
        if (cases[i].material == SN_MATERIAL_NONE) {
            assert_int_equal(soup.triangle_count, half); /* it would hide what is behind it */
        } else {
            assert_int_equal(soup.triangle_count, 2 * half);
            if (soup.material[half] != cases[i].material)
                fail_msg("%s is %d", cases[i].name, soup.material[half]);
        }
        assert_int_equal(soup.material[0], SN_MATERIAL_SKIN);
        sn_soup_free(&soup);
        sinew_mesh_destroy(mesh);
        free(f);
    }
}

/* The eyeball is centered at (2, 3, 4), and a small cornea sits on its front. */
static sn_soup eyes(face *f, char up) {
    sn_soup soup;
    add_ball(f, "eye_L", 2, 3, 4, 1);
    add_ball(f, "cornea_L", 2, 3, 4.7, 0.4);
    add_ball(f, "eye_R", -2, 3, 4, 1);
    sinew_mesh *mesh = mesh_of(f);
    sinew_panel panel = {.mesh = mesh};
    assert_ok(sn_soup_create(&panel, 0, 0, up, &soup, &error));
    sinew_mesh_destroy(mesh);
    return soup;
}

static void eyes_look_ahead_at_rest(void **state) {
    (void)state;
    face *f = calloc(1, sizeof *f);
    sn_soup soup = eyes(f, 'y');
    int ball = (RINGS + 2) * SEGMENTS;
    /* the ball is measured by its width, so that the cornea does not shift its center */
    assert_close(soup.gaze[2], 1, 1e-6);                   /* the pole ahead */
    assert_close(soup.gaze[3 * (ball - 1) + 2], -1, 1e-6); /* behind */
    assert_close(soup.gaze[3 * ball + 2], 1, 1e-6);        /* the cornea's front */
    assert_close(soup.gaze[3 * 2 * ball + 2], 1, 1e-6);    /* the other eye */
    const double center[] = {2, 3, 4};
    for (int v = 0; v < ball; v++) /* directions are those of the sphere */
        for (int k = 0; k < 3; k++)
            assert_close(soup.gaze[3 * v + k], soup.positions[3 * v + k] - center[k], 1e-5);
    sn_soup_free(&soup);
    memset(f, 0, sizeof *f);
    soup = eyes(f, 'z');          /* the same mesh where z is up: ahead is -y */
    int side = 6 * SEGMENTS + 12; /* on the equator, towards -y */
    assert_close(soup.positions[3 * side + 1], 2, 1e-6);
    assert_close(soup.gaze[3 * side + 2], 1, 2e-3); /* the cornea sticks out above */
    sn_soup_free(&soup);
    free(f);
}

/* ---- pictures -------------------------------------------------------------------------------- */

typedef struct tone {
    double red, green, blue;
} tone;

static tone tone_at(const sinew_image *image, int x, int y) {
    const unsigned char *p = image->pixels + 4 * ((size_t)y * (size_t)image->width + (size_t)x);
    return (tone){p[2] / 255.0, p[1] / 255.0, p[0] / 255.0};
}

static sinew_image *ball_named(const char *name, double azimuth) {
    face *f = calloc(1, sizeof *f);
    add_ball(f, name, 0, 0, 0, 1);
    sinew_mesh *mesh = mesh_of(f);
    sinew_panel panel = {.mesh = mesh};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = options.height = 120;
    options.azimuth = azimuth, options.elevation = 0;
    options.ground = false;
    sinew_image *image;
    assert_ok(sinew_render(1, &panel, &options, &image, &error));
    sinew_mesh_destroy(mesh);
    free(f);
    return image;
}

static void materials_have_their_colors(void **state) {
    (void)state;
    sinew_image *skin = ball_named("head", 0), *teeth = ball_named("teeth", 0);
    sinew_image *tongue = ball_named("tongue", 0), *hair = ball_named("hair", 0);
    tone s = tone_at(skin, 60, 60), t = tone_at(teeth, 60, 60), g = tone_at(tongue, 60, 60);
    tone h = tone_at(hair, 60, 60);
    assert_true(s.red > s.green + 0.05 && s.green > s.blue);
    assert_true(t.blue > s.blue + 0.1);             /* nearly white */
    assert_true(g.red - g.green > s.red - s.green); /* redder than skin */
    assert_true(h.red < 0.5 * s.red);
    sinew_image_destroy(skin), sinew_image_destroy(teeth);
    sinew_image_destroy(tongue), sinew_image_destroy(hair);
}

static void the_pupil_turns_with_the_camera(void **state) {
    (void)state;
    sinew_image *ahead = ball_named("eye", 0), *behind = ball_named("eye", 180);
    tone pupil = tone_at(ahead, 64, 64), white = tone_at(behind, 64, 64);
    tone iris = tone_at(ahead, 60 + 21, 60);
    assert_true(pupil.red < 0.35);
    assert_true(white.red > pupil.red + 0.2);
    assert_true(iris.blue > iris.red); /* a blue ring around it */
    sinew_image_destroy(ahead), sinew_image_destroy(behind);
}

static void obstacles_are_gray_and_tints_multiply(void **state) {
    (void)state;
    face *f = calloc(1, sizeof *f), *g = calloc(1, sizeof *g);
    add_ball(f, "head", -1.2, 0, 0, 1), add_ball(g, "obstacle", 1.2, 0, 0, 1);
    sinew_mesh *head = mesh_of(f), *obstacle = mesh_of(g);
    const sinew_mesh *extras[] = {obstacle};
    float *colors = calloc(3 * (size_t)head->vertex_count, sizeof *colors);
    for (int v = 0; v < head->vertex_count; v++) colors[3 * v + 1] = 1; /* green alone is left */
    sinew_panel panel = {.mesh = head, .extras = extras, .extra_count = 1, .colors = colors};
    sinew_render_options options;
    sinew_render_options_init(&options);
    options.width = 200, options.height = 100;
    options.azimuth = options.elevation = 0;
    options.ground = false;
    sinew_image *image;
    assert_ok(sinew_render(1, &panel, &options, &image, &error));
    tone left = tone_at(image, 55, 50), right = tone_at(image, 145, 50);
    assert_true(left.green > left.red + 0.1 && left.green > left.blue + 0.1);
    assert_true(right.blue > right.red); /* bluish gray */
    sinew_image_destroy(image);
    sinew_mesh_destroy(head), sinew_mesh_destroy(obstacle);
    free(colors), free(f), free(g);
}

static void add_square(face *f, const char *name, double size, double height) {
    f->size += (size_t)sprintf(f->text + f->size, "o %s\n", name);
    for (int i = 0; i < 4; i++)
        f->size += (size_t)sprintf(f->text + f->size, "v %.9g %.9g %.9g\n", i % 2 ? size : -size,
                                   i / 2 ? size : -size, height);
    f->size += (size_t)sprintf(f->text + f->size, "f %d %d %d %d\n", f->vertices + 1,
                               f->vertices + 2, f->vertices + 4, f->vertices + 3);
    f->vertices += 4;
}

/* Light at the middle of a skin of edges of length 1, below a square. */
static float light_below(const char *name, double size, double height) {
    face *f = calloc(1, sizeof *f);
    f->size = (size_t)sprintf(f->text, "o skin\n");
    for (int i = 0; i < 9; i++)
        f->size += (size_t)sprintf(f->text + f->size, "v %d %d 0\n", i % 3 - 1, i / 3 - 1);
    for (int i = 0; i < 4; i++) {
        int a = i / 2 * 3 + i % 2 + 1;
        f->size += (size_t)sprintf(f->text + f->size, "f %d %d %d %d\n", a, a + 1, a + 4, a + 3);
    }
    f->vertices = 9;
    add_square(f, name, size, height);
    sinew_mesh *mesh = mesh_of(f);
    sinew_panel panel = {.mesh = mesh};
    sn_soup soup;
    assert_ok(sn_soup_create(&panel, 0, 0, 'z', &soup, &error));
    assert_ok(sn_light_bake(&soup, sn_v3(0, 0, 1), sn_v3(0, 0, 1), NULL, &error));
    float light = fminf(soup.ambient[4], soup.key[4]);
    sn_soup_free(&soup);
    sinew_mesh_destroy(mesh);
    free(f);
    return light;
}

/* A brow covers one vertex of a coarse forehead: its darkness would spread to the next ones. */
static void a_brow_does_not_darken_the_skin_around_it(void **state) {
    (void)state;
    assert_close(light_below("eyebrow", 0.3, 0.05), 1, 0);
    assert_close(light_below("markers", 0.3, 0.05), 1, 0);
    assert_true(light_below("cheek", 0.3, 0.05) < 0.1);
    assert_true(light_below("hair", 20, 2) < 0.1); /* a hat of hair does cast shadows */
}

int test_parts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_names_of_parts_choose_materials),
        cmocka_unit_test(eyes_look_ahead_at_rest),
        cmocka_unit_test(materials_have_their_colors),
        cmocka_unit_test(the_pupil_turns_with_the_camera),
        cmocka_unit_test(obstacles_are_gray_and_tints_multiply),
        cmocka_unit_test(a_brow_does_not_darken_the_skin_around_it),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
