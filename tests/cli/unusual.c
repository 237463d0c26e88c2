/* Uses that are rare but documented: units and axes, clips inside files, heat maps, videos without
 * a name, terminals with a progress bar. */
#include "support.h"

#include "command.h"
#include "groups.h"

#define PYTHON(code) "python3 - <<'E'\n" code "E\n"
/* x: the vertices of an OBJ file. */
#define VERTICES                                                                                   \
    "def points(name):\n"                                                                          \
    "    return [tuple(map(float, l.split()[1:4])) for l in open(name) if l.startswith('v ')]\n"

static void units_and_axes_change_every_length(void **state) {
    (void)state;
    fresh_folder();
    /* GLB is in meters with y up: in centimeters with z up, (x, y, z) becomes 100 (x, -z, y). */
    expect_code(0,
                "sinew sample bar --vertices 1000 --out bar --quiet && sinew convert bar bar.glb "
                "--curves bar/clip.csv --quiet && sinew convert bar.glb cm.glb --units cm --up z "
                "--rig-only --quiet && "
                "for f in bar cm; do sinew blend $f.glb --model linear --weights bend120=1 "
                "--out $f.obj --quiet || exit 1; done");
    expect_code(0, PYTHON(VERTICES
                          "a, b = points('bar.obj'), points('cm.obj')\n"
                          "assert len(a) == len(b) and len(a) > 500\n"
                          "assert all(abs(100 * p[0] - q[0]) < 1e-3 and abs(-100 * p[2] - q[1]) < "
                          "1e-3 and abs(100 * p[1] - q[2]) < 1e-3 for p, q in zip(a, b))\n"));
    /* The same for the frames of its clip. */
    expect_code(0, "sinew convert bar.glb m.pc2 --rate 5 --quiet && sinew convert bar.glb in.pc2 "
                   "--rate 5 --units in --up x --quiet");
    expect_code(0, PYTHON("import struct\n"
                          "def frames(name):\n"
                          "    d = open(name, 'rb').read()[32:]\n"
                          "    return struct.unpack('<%%df' %% (len(d) // 4), d)\n"
                          "a, b = frames('m.pc2'), frames('in.pc2')\n"
                          "assert len(a) == len(b)\n"
                          "size = max(map(abs, b))\n"
                          "assert abs(size * 0.0254 - max(map(abs, a))) < 1e-4\n"
                          "assert all(abs(a[i + 1] / 0.0254 - b[i]) < 1e-3 for i in "
                          "range(0, len(a), 3)), 'y is up and becomes x'\n"));
    expect_refusal(2, "--units and --up apply only to meshes, rigs and clips",
                   "sinew convert bar/clip.csv x.csv --units cm");
    expect_refusal(2, "--compact applies only to .glb", "sinew convert bar x.obj --compact");
    expect_refusal(2, "--normals needs --compact", "sinew convert bar x.glb --normals");
    assert_int_equal(files_with("x."), 0);
}

static void one_moment_of_a_clip_is_a_mesh(void **state) {
    (void)state;
    fresh_folder();
    write_text("up.csv", "time_s,bend120\n0,0\n2,1\n");
    expect_code(0,
                "sinew sample bar --vertices 1000 --out bar --quiet && sinew convert bar clip.glb "
                "--curves up.csv --quiet && sinew info clip.glb --report r.json --quiet");
    expect_refusal(2, "--clip needs --at SECONDS", "sinew convert clip.glb x.obj --clip clip");
    expect_code(0, "sinew convert clip.glb half.obj --at 1 --quiet && sinew blend bar --model "
                   "linear --weights bend120=0.5 --out same.obj --quiet");
    expect_code(0, PYTHON(VERTICES "a, b = points('half.obj'), points('same.obj')\n"
                                   "assert len(a) == len(b)\n"
                                   "assert all(abs(u - v) < 1e-5 for p, q in zip(a, b) "
                                   "for u, v in zip(p, q))\n"));
}

static void heat_maps_show_values_and_distances(void **state) {
    (void)state;
    fresh_folder();
    write_text("heat.csv", "vertex,value\n0,1\n5,0.5\n");
    expect_code(0,
                "sinew sample bar --vertices 1000 --out bar --quiet && sinew blend bar --steps 2 "
                "--out c.pc2 --quiet && sinew blend bar --weights bend120=1 --out bent.obj "
                "--quiet");
    static const char *const options[] = {"", "--heat heat.csv",
                                          "--heat heat.csv --heat-range 0,2 --heat-unit mm",
                                          "--against bent.obj", "--obstacle bent.obj"};
    for (int i = 0; i < 5; i++)
        expect_code(0, "sinew render bar/neutral.obj --size 160x120 %s --out %d.png --quiet",
                    options[i], i);
    expect_code(0, "cksum ?.png | awk '!seen[$1]++' | wc -l | grep -qx 5"); /* all differ */
    /* Against itself all distances are zero; a cache is compared frame by frame. */
    expect_code(0, "sinew render c.pc2 --mesh bar/neutral.obj --frame 2 --against bent.obj --size "
                   "160x120 --out z.png --quiet");
    expect_refusal(2, "--heat-range 1: expected LOW,HIGH",
                   "sinew render bar/neutral.obj --heat heat.csv --heat-range 1 --out x.png");
    expect_refusal(2, "specify the faces with --mesh", "sinew render c.pc2 --out x.png");
    expect_refusal(2, "--weights needs exactly one rig",
                   "sinew render bar/neutral.obj bent.obj --weights bend120=1 --out x.png");
    write_text("one.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    expect_refusal(3, "c.pc2|vertices, but one.obj has 3",
                   "sinew render c.pc2 --mesh one.obj --out x.png");
    expect_refusal(3, "one.obj: 3 vertices, but bar/neutral.obj has",
                   "sinew render bar/neutral.obj --against one.obj --out x.png");
    assert_int_equal(files_with("x.png"), 0);
}

static void a_take_is_shown_beside_itself(void **state) {
    (void)state;
    fresh_folder();
    write_text("take.csv", "time_s,bend120\n0,0\n0.2,1\n");
    expect_code(0, "sinew sample bar --vertices 1000 --out bar --quiet && sinew play bar take.csv "
                   "--size 160x120 --quiet && test -s take.mp4 && test ! -e take.mp4.frames.pc2");
    /* Without ffmpeg it is a picture. */
    expect_code(0, "mkdir bin && ln -s $(command -v sinew) bin/sinew && PATH=$PWD/bin sinew play "
                   "bar take.csv --quiet; test -s take.png");
    expect_code(0, "echo mine >take.mp4.frames.pc2");
    expect_refusal(4, "take.mp4.frames.pc2: this file would be overwritten; remove it",
                   "sinew play bar take.csv");
    expect_code(0, "grep -q mine take.mp4.frames.pc2");
}

static void info_counts_what_a_file_holds(void **state) {
    (void)state;
    fresh_folder();
    write_text("tets.node", "5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 0 0 -1\n");
    write_text("tets.ele", "2 4 0\n0 0 1 2 3\n1 0 1 2 4\n");
    const run_result *r = expect_code(0, "sinew info tets.node --report r.json");
    assert_non_null(strstr(r->out, "2 tetrahedra, 5 vertices, 0 inverted"));
    expect_code(0, "grep -q '\"tets\": 2' r.json");
    write_text("c.csv", "time_s,smile,jaw\n0,0,0\n0.5,1,0\n1,0,0\n");
    r = expect_code(0, "sinew info c.csv");
    assert_non_null(strstr(r->out, "2"));
    assert_non_null(strstr(r->out, "smile"));
    expect_code(0,
                "sinew sample bar --vertices 1000 --out bar --quiet && sinew blend bar --steps 3 "
                "--out c.pc2 --quiet");
    r = expect_code(0, "sinew info c.pc2 c.csv tets.node");
    assert_non_null(strstr(r->out, "4 frames"));
    expect_refusal(4, "nothing.obj", "sinew info nothing.obj tets.node --quiet");
    r = expect_code(0, "sinew check c.csv");
    assert_non_null(strstr(r->out, "no problems reading the file"));
    expect_refusal(3, "c.csv: not a mesh", "sinew check c.csv --poses bar/neutral.obj --quiet");
}

/* Frames of a pose that no slider gives come back as a new target. */
static void correctives_are_added_to_the_rig(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --vertices 1000 --out bar --quiet && sinew blend bar --model "
                   "rotation --steps 6 --out c.pc2 --quiet");
    const run_result *r = expect_code(0, "sinew fit bar --frames c.pc2 --correctives 2 --out f.glb "
                                         "--out f.csv --report r.json");
    assert_non_null(strstr(r->out, "new targets"));
    expect_code(0, PYTHON("import json\n"
                          "t = json.load(open('r.json'))['totals']\n"
                          "assert t['correctives'] >= 1\n"
                          "assert t['corrected_worst'] < t['fitted_worst'], t\n"));
    expect_code(0, "sinew info f.glb | grep -q '[78] targets' && test $(wc -l <f.csv) -eq 8");
    expect_refusal(2, "--bounds wide needs --markers",
                   "sinew fit bar --frames c.pc2 --bounds wide --out x.csv");
}

static void takes_for_other_rigs_are_seen_by_lock(void **state) {
    (void)state;
    fresh_folder();
    write_text("other.csv", "time_s,nose\n0,0\n1,1\n");
    write_text("mixed.csv", "time_s,nose,bend120\n0,0,0\n1,1,1\n");
    write_text("regions.json", "{\"tip\": [0, 1, 2, 3]}");
    expect_code(0, "sinew sample bar --vertices 1000 --out bar --quiet");
#define LOCK "sinew lock bar --lock tip:region:tip --regions regions.json "
    expect_refusal(3, "other.csv: the rig has no slider for any",
                   LOCK "--curves other.csv --out x.csv");
    const run_result *r = expect_code(0, LOCK "--curves mixed.csv --out y.csv");
    assert_non_null(strstr(r->err, "curve 'nose' drives no slider"));
    expect_refusal(3, "--keep: the rig has no slider 'nose'",
                   LOCK "--curves bar/clip.csv --keep nose --out x.csv");
    expect_refusal(2, "--corrective needs --edit",
                   LOCK "--curves mixed.csv --corrective c.obj --out x.csv");
    expect_refusal(2, "--at needs --curves", LOCK "--edit bend120=1 --at 1 --out x.csv");
    expect_refusal(3, "--at 7: mixed.csv lasts from 0 to 1 s",
                   LOCK "--curves mixed.csv --at 7 --out x.csv --quiet 2>&1 >/dev/null | grep -v "
                        "warning >&2; exit 3");
    expect_refusal(2, "not both", "sinew lock bar --sample bar --lock a:v:1 --edit bend120=1");
    expect_refusal(2, "not both", "sinew interference bar --sample bar");
    expect_refusal(2, "needs RIG... or --sample", "sinew lock --lock a:v:1 --edit bend120=1");
    /* The scene that it becomes has the edit, the regions and the pose it starts from. */
    expect_code(0, LOCK "--edit bend120=0.5 --from bend90=0.2 --scene-out s.json --out e.csv "
                        "--quiet; sinew info bar --quiet");
    assert_int_equal(files_with("x.csv"), 0);
}

/* A terminal gets a bar that is erased; a file gets none. */
static void terminals_have_a_progress_bar(void **state) {
    (void)state;
    fresh_folder();
    expect_code(
        0, "cat >screen.py <<'E'\n"
           "import os, pty, sys\n"
           "read = bytearray()\n"
           "def keep(fd):\n"
           "    data = os.read(fd, 65536)\n"
           "    read.extend(data)\n"
           "    return data\n"
           "code = os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], keep))\n"
           "open('screen', 'wb').write(bytes(read))\n"
           "sys.exit(code)\n"
           "E\n"
           "SINEW_CACHE=off python3 screen.py sinew blend --sample face --vertices 8000 --model "
           "spring --steps 12 --out f.pc2 </dev/null");
    expect_code(0, "python3 -c \"s = open('screen', 'rb').read(); assert b'\\r\\x1b[K[' in s and "
                   "b'%%' in s, s; assert s.rindex(b'\\r\\x1b[K') > s.rindex(b'%% ')\"");
    expect_code(0,
                "SINEW_CACHE=off python3 screen.py sinew blend --sample bar --steps 2 --out g.pc2 "
                "--quiet </dev/null && test ! -s screen");
}

int test_unusual(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_and_axes_change_every_length),
        cmocka_unit_test(one_moment_of_a_clip_is_a_mesh),
        cmocka_unit_test(heat_maps_show_values_and_distances),
        cmocka_unit_test(a_take_is_shown_beside_itself),
        cmocka_unit_test(info_counts_what_a_file_holds),
        cmocka_unit_test(correctives_are_added_to_the_rig),
        cmocka_unit_test(takes_for_other_rigs_are_seen_by_lock),
        cmocka_unit_test(terminals_have_a_progress_bar),
    };
    return cmocka_run_group_tests_name("unusual", tests, NULL, NULL);
}
