/* Options that few people need and no other test uses: what they change, and that they change
 * nothing else. */
#include "support.h"

#include "command.h"
#include "groups.h"

/* Lines that the command prints. */
static int lines_of(const char *command) {
    const run_result *r = expect_code(0, "%s", command);
    int count = 0;
    for (const char *c = r->out; *c; c++) count += *c == '\n';
    return count;
}

static void check_looks_at_every_target(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample arm --out arm --quiet");
    assert_int_equal(lines_of("sinew check arm"), 1);
    assert_int_equal(lines_of("sinew check arm --targets"), 9); /* the neutral and 8 targets */
    /* A target that folds the surface is found, under its name, and only when asked for. */
    expect_code(0, "mkdir -p plain/targets && cp arm/neutral.obj plain && python3 - <<'E'\n"
                   "import pathlib\n"
                   "lines = pathlib.Path('arm/neutral.obj').read_text().split('\\n')\n"
                   "points = [i for i, line in enumerate(lines) if line.startswith('v ')]\n"
                   "pathlib.Path('plain/targets/same.obj').write_text('\\n'.join(lines))\n"
                   "lines[points[700]] = lines[points[1900]]\n"
                   "pathlib.Path('plain/targets/torn.obj').write_text('\\n'.join(lines))\n"
                   "E\n");
    expect_code(0, "sinew check plain");
    const run_result *r = expect_code(1, "sinew check plain --targets --list 2");
    assert_non_null(strstr(r->out, "[torn]: "));
    assert_null(strstr(r->out, "[torn]: 0 problems"));
    assert_non_null(strstr(r->out, "[same]: 0 problems"));
}

static void rig_only_leaves_out_the_rest_of_the_file(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar.glb --quiet && python3 - <<'E'\n"
                   "import json, struct\n"
                   "data = open('bar.glb', 'rb').read()\n"
                   "size, = struct.unpack('<I', data[12:16])\n"
                   "document = json.loads(data[20:20 + size])\n"
                   "document['materials'] = [{'name': 'brass'}]\n"
                   "document['nodes'].append({'name': 'lamp'})\n"
                   "document['scenes'][0]['nodes'].append(len(document['nodes']) - 1)\n"
                   "text = json.dumps(document).encode()\n"
                   "text += b' ' * (-len(text) %% 4)\n"
                   "rest = data[20 + size:]\n"
                   "open('more.glb', 'wb').write(data[:8] + struct.pack('<III', 20 + len(text) + "
                   "len(rest), len(text), 0x4E4F534A) + text + rest)\n"
                   "E\n");
    expect_code(0, "sinew convert more.glb all.glb --quiet && grep -aq brass all.glb && "
                   "grep -aq lamp all.glb");
    expect_code(0, "sinew convert more.glb rig.glb --rig-only --quiet && "
                   "! grep -aq brass rig.glb && ! grep -aq lamp rig.glb");
    /* The rig is the same. */
    expect_code(0,
                "sinew blend all.glb --model linear --weights bend120=0.7 --out a.obj --quiet && "
                "sinew blend rig.glb --model linear --weights bend120=0.7 --out b.obj --quiet && "
                "grep ^v a.obj >a && grep ^v b.obj >b && cmp a b");
}

/* The row of weights that an edit becomes. */
#define EDIT "sinew lock --sample arm --lock cuff:v:1500-1520 --edit elbow90=1 --out e.csv --quiet "
#define ROW                                                                                        \
    "python3 -c \"import csv; r = list(csv.DictReader(open('e.csv')))[-1]; w = {k: float(v) for "  \
    "k, v in r.items()}; "

static void locks_follow_their_options(void **state) {
    (void)state;
    fresh_folder();
    /* Sliders respond to the edit; with --few 1 none does, and motion in the dead zone is free. */
    expect_code(0, EDIT "2>words && " ROW "assert w['elbow90'] == 1 and w['twist150'] > 0.01\"");
    expect_code(0, EDIT "--few 1 2>words && " ROW
                        "assert w['elbow90'] == 1 and not any(v for k, v in w.items() if k not in "
                        "('elbow90', 'time_s'))\"");
    expect_code(0, EDIT "--dead-zone 1 2>words && " ROW
                        "assert not any(abs(v) > 1e-9 for k, v in w.items() if k not in "
                        "('elbow90', 'time_s'))\"");
    /* Half of the edit is the pose that is locked: about half the response. */
    expect_code(0, EDIT "--from elbow90=0.5 2>words && " ROW
                        "assert 0.005 < w['twist150'] < 0.02, w\"");
    /* Without limits weights may be negative, with them they may not. */
    expect_code(0, EDIT "--trade --alpha 100x 2>words && " ROW
                        "assert min(w.values()) >= 0 and max(w.values()) <= 1\"");
    expect_code(0, EDIT "--trade --alpha 100x --unbounded 2>words && " ROW
                        "assert min(w.values()) < 0 or max(w.values()) > 1, w\"");
    /* A slider of a take that is kept has the same curve. */
    expect_code(0, "sinew sample arm --out arm --quiet && sinew lock arm --lock "
                   "cuff:v:1500-1520:y --curves arm/clip.csv --keep wrist60 --out t.csv --quiet && "
                   "python3 -c \"import csv; a, b = (list(csv.DictReader(open(f))) for f in "
                   "('arm/clip.csv', 't.csv')); assert len(a) == len(b); assert all("
                   "abs(float(x['wrist60']) - float(y['wrist60'])) < 1e-12 for x, y in zip(a, b)); "
                   "assert any(abs(float(x[k]) - float(y[k])) > 1e-3 for x, y in zip(a, b) for k "
                   "in x)\"");
}

static void parts_resume_and_missing_frames_are_listed(void **state) {
    (void)state;
    fresh_folder();
    write_text("s.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"force\", "
                         "\"time\": {\"fps\": 20}, \"curves\": {\"times\": [0, 0.4], \"values\": "
                         "{\"bend120\": [0, 0.1]}}, \"outputs\": {\"frames\": [\"o.pc2\"]}}");
    expect_code(0, "sinew run s.json --quiet --out whole.pc2 && "
                   "sinew run s.json --frames 0-2 --part parts --quiet && "
                   "sinew run s.json --frames 3-5 --part parts --resume --quiet");
    const run_result *r = expect_code(0, "sinew merge parts --missing");
    assert_string_equal(r->out, "6-8\n");
    assert_int_equal(files_with("o.pc2"), 0);
    /* A damaged part is removed and its frames are missing again. */
    expect_code(0, "printf X | dd of=parts/frames-000000-000002.part bs=1 seek=900 conv=notrunc "
                   "status=none");
    r = expect_code(0, "sinew merge parts --missing --report r.json");
    assert_string_equal(r->out, "0-2\n6-8\n");
    expect_code(0, "test ! -e parts/frames-000000-000002.part && "
                   "python3 -c \"import json; c = json.load(open('r.json'))['clip']; assert "
                   "c['missing'] == [[0, 2], [6, 8]] and c['past'] == 'all'\"");
    expect_refusal(3, "frame 0 is missing", "sinew merge parts");
    expect_refusal(4, "state-000007.state", "sinew run s.json --frames 7- --part parts --resume");
    expect_refusal(2, "--part", "sinew run s.json --resume");
    expect_refusal(2, "--part", "sinew run s.json --merge --frames 0-2");
    expect_refusal(2, "--frames", "sinew run s.json --part parts --budget 1 --frames 0-2");
    expect_refusal(2, "--budget", "sinew run s.json --part parts --sheet x.png");
    expect_refusal(2, "--out", "sinew run s.json --part parts --out x.pc2");
    /* The rest, of which the last one merges. */
    expect_code(0,
                "sinew run s.json --frames 6- --part parts --resume --merge --quiet && "
                "test ! -e o.pc2 && "
                "sinew run s.json --frames 0-2 --part parts --merge --sheet sheet.png --quiet && "
                "cmp o.pc2 whole.pc2 && test -s sheet.png && rm o.pc2 && "
                "sinew merge parts --quiet && cmp o.pc2 whole.pc2");
    assert_int_equal(lines_of("sinew merge parts --missing"), 0);
}

/* Four frames are computed before their time is known; then the budget is used up. */
static void a_budget_that_is_used_up_leaves_the_other_frames(void **state) {
    (void)state;
    fresh_folder();
    write_text("s.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"linear\", "
                         "\"time\": {\"fps\": 20}, \"curves\": {\"times\": [0, 0.5], \"values\": "
                         "{\"bend120\": [0, 1]}}, \"outputs\": {\"frames\": [\"o.pc2\"]}}");
    expect_code(0, "sinew run s.json --quiet --out whole.pc2");
    const char *const missing[] = {"4-10\n", "8-10\n", ""};
    for (int call = 0; call < 3; call++) {
        expect_code(0, "sinew run s.json --part parts --budget 1e-9 --quiet");
        assert_int_equal(files_with("o.pc2"), call == 2); /* merged by the last */
        assert_string_equal(expect_code(0, "sinew merge parts --missing")->out, missing[call]);
    }
    expect_code(0, "cmp o.pc2 whole.pc2");
    /* time enough for all of them: one call does it */
    expect_code(0, "rm -r parts o.pc2 && sinew run s.json --part parts --budget 1000 --quiet && "
                   "cmp o.pc2 whole.pc2");
}

static void pictures_and_advice_follow_their_options(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar.glb --quiet && "
                   "sinew render bar.glb --out plain.png --quiet && "
                   "sinew render bar.glb --wireframe --out wire.png --quiet && "
                   "! cmp -s plain.png wire.png && "
                   "sinew render bar.glb --wireframe --out again.png --quiet && "
                   "cmp wire.png again.png");
    const run_result *r = expect_code(0, "sinew interference --sample arm --top 3");
    assert_non_null(strstr(r->out, "lock help"));
    r = expect_code(0, "sinew interference --sample arm --top 3 --no-advice --hidden");
    assert_non_null(strstr(r->out, "is disturbed by"));
    assert_null(strstr(r->out, "lock help"));
}

int test_rare_options(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_looks_at_every_target),
        cmocka_unit_test(rig_only_leaves_out_the_rest_of_the_file),
        cmocka_unit_test(locks_follow_their_options),
        cmocka_unit_test(parts_resume_and_missing_frames_are_listed),
        cmocka_unit_test(a_budget_that_is_used_up_leaves_the_other_frames),
        cmocka_unit_test(pictures_and_advice_follow_their_options),
    };
    return cmocka_run_group_tests_name("rare options", tests, NULL, NULL);
}
