/* What a folder of a sample holds. */
#include "support.h"

#include "command.h"
#include "groups.h"

/* Reads an OBJ file and a rig for the scripts below. */
#define READERS                                                                                    \
    "import json, math, pathlib, subprocess, sys\n"                                                \
    "def vertices(path):\n"                                                                        \
    "    return [tuple(map(float, l.split()[1:4])) for l in open(path) if l.startswith('v ')]\n"   \
    "def faces(path):\n"                                                                           \
    "    return [l.split() for l in open(path) if l.startswith('f ')]\n"                           \
    "def run(*words):\n"                                                                           \
    "    return subprocess.run(['sinew', *words], check=True, capture_output=True, text=True)\n"   \
    "def far(a, b):\n"                                                                             \
    "    assert len(a) == len(b) > 0\n"                                                            \
    "    return max(math.dist(p, q) for p, q in zip(a, b))\n"

static void run_script(const char *text) {
    write_text("check.py", text);
    expect_code(0, "python3 check.py");
}

static void poses_are_the_targets_as_meshes(void **state) {
    (void)state;
    fresh_folder();
    run_script(
        READERS
        "for name in 'bar', 'blob':\n"
        "    run('sample', name, '--vertices', '1000')\n"
        "    rig = json.load(open(f'{name}/rig.json'))\n"
        "    rest = vertices(f'{name}/neutral.obj')\n"
        "    poses = {p.stem for p in pathlib.Path(name, 'poses').iterdir()}\n"
        "    sliders = {s['name'] for s in rig['sliders']}\n"
        "    assert poses == sliders | {'neutral'}, poses\n"
        "    assert far(vertices(f'{name}/poses/neutral.obj'), rest) < 1e-6\n"
        "    for pose in sorted(sliders):\n"
        "        run('blend', name, '--weights', pose + '=1', '--out', 'one.obj')\n"
        "        made = vertices(f'{name}/poses/{pose}.obj')\n"
        "        assert far(made, vertices('one.obj')) < 2e-6, pose\n"
        "        assert far(made, rest) > 0.01, pose\n"
        "        assert faces(f'{name}/poses/{pose}.obj') == faces(f'{name}/neutral.obj')\n");
}

/* How far each target moves its vertices, as the poses show it. */
static void info_says_how_far_targets_move(void **state) {
    (void)state;
    fresh_folder();
    run_script(
        READERS
        "import re\n"
        "run('sample', 'arm', '--vertices', '1000')\n"
        "rest = vertices('arm/neutral.obj')\n"
        "said = run('info', 'arm').stdout\n"
        "names = [s['name'] for s in json.load(open('arm/rig.json'))['sliders']]\n"
        "for name in names:\n"
        "    pose = vertices(f'arm/poses/{name}.obj')\n"
        "    count, most = re.search(rf'^ +{name} +moves (\\d+) vert\\w+ by up to (\\S+)', said,\n"
        "                            re.M).groups()\n"
        "    moved = [math.dist(p, q) for p, q in zip(rest, pose)]\n"
        "    assert math.isclose(float(most), max(moved), rel_tol=1e-3), (name, most)\n"
        "    assert sum(d > 1e-6 for d in moved) <= int(count) <= len(rest), (name, count)\n");
}

static void the_readme_counts_what_the_folder_holds(void **state) {
    (void)state;
    fresh_folder();
    run_script(
        READERS
        "run('sample', 'arm', '--vertices', '1000')\n"
        "run('sample', 'face', '--vertices', '1000')\n"
        "for name in 'arm', 'face':\n"
        "    rig = json.load(open(f'{name}/rig.json'))\n"
        "    text = open(f'{name}/README.txt').read()\n"
        "    lines = text.splitlines()\n"
        "    assert lines[0].startswith(f'{name}: made by sinew '), lines[0]\n"
        "    counts = (f'the rig: {len(vertices(name + \"/neutral.obj\"))} vertices, '\n"
        "              f'{len(faces(name + \"/neutral.obj\"))} faces, {len(rig[\"sliders\"])} '\n"
        "              f'sliders, {len(list(pathlib.Path(name, \"targets\").iterdir()))} "
        "targets')\n"
        "    assert counts in text, counts\n"
        "    at = lines.index('sliders')\n"
        "    assert lines[at + 1:lines.index('regions') - 1] == \\\n"
        "        ['  ' + s['name'] for s in rig['sliders']]\n"
        "    regions = [f'  {n} ({len(v)} vertices)' for n, v in rig['regions'].items()]\n"
        "    assert sorted(lines[lines.index('regions') + 1:]) == sorted(regions)\n"
        "    assert ('poses/' in text) == (name == 'arm') == pathlib.Path(name, 'poses').is_dir()\n"
        "    for file in 'lips.csv', 'markers.csv', 'lips_markers.csv', 'markers_map.csv':\n"
        "        assert (file in text) == (name == 'face') == pathlib.Path(name, file).exists()\n"
        "names = [line.split()[0] for line in run('sample').stdout.splitlines()]\n"
        "assert names == ['bar', 'arm', 'hand', 'blob', 'face', 'face2'], names\n");
}

static void noise_and_gaps_are_as_large_as_asked(void **state) {
    (void)state;
    fresh_folder();
    run_script(
        READERS
        "def take(name, *words, file='markers.csv'):\n"
        "    run('sample', 'face', '--vertices', '1000', '--out', name, *words)\n"
        "    rows = [l.rstrip('\\n').split(',') for l in open(f'{name}/{file}')][1:]\n"
        "    assert len(rows[0]) == 181 and len({len(r) for r in rows}) == 1\n"
        "    return [[float(x) if x else None for x in r[1:]] for r in rows[1:]]\n"
        "clean = take('a')\n"
        "assert clean == take('b') and all(x is not None for r in clean for x in r)\n"
        "noisy = take('c', '--noise', '0.001')\n"
        "off = [x - y for p, q in zip(clean, noisy) for x, y in zip(p, q)]\n"
        "spread = math.sqrt(sum(d * d for d in off) / len(off))\n"
        "assert 0.0009 < spread < 0.0011, spread\n"
        "assert abs(sum(off) / len(off)) < 1e-4\n"
        "assert noisy == take('d', '--noise', '0.001', '--seed', '1')\n"
        "assert noisy != take('e', '--noise', '0.001', '--seed', '2')\n"
        "holes = take('f', '--gaps', '0.3')\n"
        "lost = sum(x is None for r in holes for x in r) / sum(map(len, holes))\n"
        "assert 0.2 < lost < 0.4, lost\n"
        "assert all(x is None or x == y for p, q in zip(holes, clean) for x, y in zip(p, q))\n"
        "lips = take('g', '--gaps', '0.3', file='lips_markers.csv')\n"
        "assert any(x is None for r in lips for x in r) and len(lips) != len(clean)\n");
}

int test_samples(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_are_the_targets_as_meshes),
        cmocka_unit_test(info_says_how_far_targets_move),
        cmocka_unit_test(the_readme_counts_what_the_folder_holds),
        cmocka_unit_test(noise_and_gaps_are_as_large_as_asked),
    };
    return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
