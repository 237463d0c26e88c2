#include "support.h"

#include <unistd.h>

#include "command.h"
#include "groups.h"

static void mistakes_in_the_call_are_exit_2_with_a_hint(void **state) {
    (void)state;
    fresh_folder();
    expect_refusal(2, "unknown verb 'blnd'; did you mean 'blend'?", "sinew blnd");
    expect_refusal(2, "sinew blend: unknown option '--wieghts'; did you mean '--weights'?",
                   "sinew blend --wieghts a=1");
    expect_refusal(2, "--steps needs a value: N", "sinew blend --steps");
    expect_refusal(2, "--steps must be a whole number, not 'x'", "sinew blend --steps x");
    expect_refusal(2, "--steps must be a whole number, not '1.5'", "sinew blend --steps=1.5");
    expect_refusal(2, "--steps must be between 1 and", "sinew blend --steps 0");
    expect_refusal(2, "--fps must be a number, not 'nan'", "sinew blend --fps nan");
    expect_refusal(2, "--quiet does not accept a value", "sinew blend --quiet=1");
    expect_refusal(2, "--steps is specified twice", "sinew blend --steps 1 --steps 2");
    expect_refusal(2, "--boundary must be one of free|static|pinned|anchor",
                   "sinew blend --boundary loose");
    expect_refusal(2, "unexpected argument 'b'", "sinew run a b");
    expect_refusal(2, "needs FILE...", "sinew info");
    expect_refusal(2, "needs RIG", "sinew blend");
    expect_refusal(2, "needs --weights, --curves or --steps", "sinew blend --sample bar");
    expect_refusal(2, "--weights: weight \"bend\": expected NAME=VALUE",
                   "sinew blend --sample bar --weights bend");
    expect_refusal(2, "--model must be one of linear|rotation|spring, not 'magic'",
                   "sinew blend --sample bar --model magic");
    expect_refusal(2, "--markers and --curves do not go together",
                   "sinew force --sample face --markers a.csv --curves b.csv");
    expect_refusal(2, "the model 'linear' has no --obstacle",
                   "sinew blend --sample bar --steps 1 --obstacle sphere:0,0,0,1");
    expect_refusal(2, "the model 'linear' has no --tolerance",
                   "sinew blend --sample bar --steps 1 --tolerance 1e-3");
    expect_refusal(2, "--frames: '3-2' is not a range of frames",
                   "sinew blend --sample bar --steps 1 --frames 3-2");
    assert_int_equal(files_with(""), 0);
}

static void the_bare_command_lists_its_verbs(void **state) {
    (void)state;
    fresh_folder();
    assert_non_null(strstr(expect_code(2, "sinew")->err, "blend"));
    assert_non_null(strstr(expect_code(0, "sinew help")->out, "measure"));
    assert_non_null(strstr(expect_code(0, "sinew --version")->out, "sinew 0."));
    assert_non_null(
        strstr(expect_code(0, "sinew blend --help --nonsense || true")->err, "nonsense"));
}

static void quiet_is_quiet_and_paths_may_look_like_options(void **state) {
    (void)state;
    fresh_folder();
    const run_result *r =
        expect_code(0, "sinew blend --sample bar --steps 1 --out=--odd.pc2 --quiet");
    assert_string_equal(r->out, "");
    assert_string_equal(r->err, "");
    assert_non_null(strstr(expect_code(0, "sinew info -- --odd.pc2")->out, "2 frames"));
}

static void a_full_output_device_is_not_success(void **state) {
    (void)state;
    fresh_folder();
    if (access("/dev/full", W_OK) != 0) skip();
    expect_code(4, "sinew help >/dev/full");
}

static void what_is_printed_does_not_end_up_in_a_file(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --vertices 1000 --quiet");
    static const char *const closed[] = {">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        int code = strstr(closed[i], ">&-") && *closed[i] != '2' ? 4 : 0;
        expect_code(code, "sinew render bar --turntable 0.1 --size 64x64 --out x.gif %s",
                    closed[i]);
        expect_code(0, "head -c 4 x.gif | grep -q GIF8 && rm x.gif");
    }
}

static void a_folder_that_fails_goes_even_without_a_spare_descriptor(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --vertices 1000 --quiet");
    expect_refusal(4, "o/neutral.obj|Too many open files", "ulimit -n 4; sinew convert bar o");
    assert_int_equal(files_with(".sinew"), 0);
}

/* What each verb lacks, or cannot do together: {exit code, words of the message, command}. Nothing
 * is computed or written. */
static void calls_that_make_no_sense_say_why(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *words, *command;
    } rows[] = {
        {2, "unknown verb 'nothingnear'", "nothingnear"},
        {2, "unknown verb 'blnd'; did you mean 'blend'?", "help blnd"},
        {2, "unknown verb 'nothingnear'", "help nothingnear"},
        {2, "--schema cannot be combined with anything else", "help --schema blend"},
        {2, "--schema cannot be combined with anything else", "help --schema --man"},
        {2, "specify either RIG... or --sample, not both", "blend bar --sample bar --steps 1"},
        {2, "--curves cannot be combined with --weights or --steps",
         "blend bar --curves c.csv --steps 2"},
        {2, "--curves cannot be combined with --weights or --steps",
         "blend bar --curves c.csv --weights bend120=1"},
        {2, "specify either --no-pose-depth or --allow-pose-depth, not both",
         "blend bar --model spring --steps 1 --no-pose-depth --allow-pose-depth"},
        {2, "the model 'rotation' has no obstacles",
         "blend bar --model rotation --steps 1 --no-pose-depth"},
        {2, "the model 'linear' has no", "blend bar --steps 1 --network-out n.csv"},
        {2, "the model 'rotation' has no",
         "blend bar --model rotation --steps 1 --network-frames "
         "n.pc2"},
        {2, "needs a RIG, or --sample NAME", "bake --out o.glb"},
        {2, "needs --out RIG", "bake bar"},
        {2, "--clip-out needs --curves FILE", "bake bar --out o --clip-out c.glb"},
        {2, "--obstacle needs --model spring", "bake bar --out o --obstacle sphere:0,0,0,1"},
        {2, "--contact-samples needs --self-contact", "bake bar --out o --contact-samples 9"},
        {2, "--keep-samples cannot be used with --obstacle",
         "bake bar --model spring --out o --obstacle sphere:0,0,9,1 --keep-samples keep"},
        {3, "o.txt: 'txt' is not an ending of a rig file", "bake bar --out o.txt"},
        {2, "needs --markers FILE", "fit bar"},
        {2, "needs --out FILE", "fit bar --frames bar.pc2"},
        {2, "--bounds wide needs --markers", "fit bar --frames bar.pc2 --bounds wide --out o.csv"},
        {2, "--sparse and --correctives need --frames CACHE",
         "fit bar --markers m.csv --sparse 0.1 --out o.csv"},
        {3, "arm.pc2: has 2690 points, but the rig has", "fit bar --frames arm.pc2 --out o.csv"},
        {2, "needs --to MESH and --out RIG", "transfer bar"},
        {2, "needs --to MESH and --out RIG", "transfer bar --to bar.obj"},
        {2, "needs --to MESH and --out RIG", "transfer bar --out o"},
        {2, "--curves needs a rig as input", "convert bar.obj o.glb --curves bar/clip.csv"},
        {2, "--compact applies only to .glb output", "convert bar o.usda --compact"},
        {2, "--normals needs --compact", "convert bar o.glb --normals"},
        {2, "--curves replaces key poses",
         "modal bar --curves bar/clip.csv --poses neutral,bend120"},
        {2, "--curves replaces key poses", "modal bar --curves bar/clip.csv --times 0,1"},
        {2, "--sample needs --poses", "modal --sample bar --out o.pc2"},
        {2, "'poses': use --poses to select the key poses", "modal bar bar/poses --out o.pc2"},
        {2, "needs two poses or more", "modal bar --poses neutral --out o.pc2"},
        {2, "--times has 3 times, but there are 2 poses",
         "modal bar --poses neutral,bend120 --times 0,1,2 --out o.pc2"},
        {2, "with a key from 0 to 1", "modal bar --poses neutral,bend120 --velocity 2:bend120=1"},
        {2, "with a key from 0 to 1", "modal bar --poses neutral,bend120 --velocity -1:bend120=1"},
        {2, "with a key from 0 to 1", "modal bar --poses neutral,bend120 --velocity bend120=1"},
        {2, "not '1:bend120'", "modal bar --poses neutral,bend120 --velocity 1:bend120"},
        {2, "not '1:bend120=x'", "modal bar --poses neutral,bend120 --velocity 1:bend120=x"},
        {2, "not '1:=1'", "modal bar --poses neutral,bend120 --velocity 1:=1"},
        {2, "not '1:bend120=1;'", "modal bar --poses neutral,bend120 --velocity '1:bend120=1;'"},
        {2, "--pin-stiffness needs --pin", "modal bar --poses neutral,bend120 --pin-stiffness 2"},
        {2, "--size 10: expected WIDTHxHEIGHT", "render bar.obj --size 10 --out o.png"},
        {2, "--size 0x9: expected WIDTHxHEIGHT", "render bar.obj --size 0x9 --out o.png"},
        {2, "--size 9x9x9: expected WIDTHxHEIGHT", "render bar.obj --size 9x9x9 --out o.png"},
        {2, "whole numbers from 0 to 3", "render bar.pc2 --mesh bar.obj --frame 4 --out o.png"},
        {2, "whole numbers from 0 to 3", "render bar.pc2 --mesh bar.obj --frame 0.5 --out o.png"},
        {2, "whole numbers from 0 to 3", "render bar.pc2 --mesh bar.obj --frame -1 --out o.png"},
        {2, "expected .png, .mp4, .webm, .gif or .webp",
         "play face face/clip.csv --frames 0 --out o.txt"},
        {3, "o.jpg: pictures are written as .png", "interference bar --matrix o.jpg"},
        {3, "unknown key; a manifest has", "farm odd.json --out work"},
        {3, "work/farm.json: not a farm table", "farm status work"},
        {1, "shot b reads this file", "farm reads.json --out work2 --no-sheets"},
    };
    fresh_folder();
    expect_code(0,
                "sinew sample bar --vertices 1000 --out bar --quiet && sinew sample face "
                "--vertices 1000 --out face --quiet && cp bar/neutral.obj bar.obj && sinew "
                "blend bar --steps 3 --out bar.pc2 --quiet && sinew blend --sample arm --steps "
                "1 --out arm.pc2 --quiet && mkdir work && echo '{\"shots\": 3}' >work/farm.json");
    write_text("odd.json", "{\"farm\": 1, \"shots\": [{\"name\": \"a\", \"scene\": \"s.json\"}], "
                           "\"more\": 1}");
    write_text("reads.json", "{\"farm\": 1, \"shots\": [{\"name\": \"b\", \"scene\": \"b.json\"}, "
                             "{\"name\": \"a\", \"scene\": \"a.json\"}]}");
#define SHOT(more) "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"linear\", " more "}"
    write_text("b.json", SHOT("\"curves\": {\"file\": \"k.csv\"}, \"outputs\": {\"frames\": "
                              "[\"fb.pc2\"]}"));
    write_text("a.json", SHOT("\"steps\": 1, \"outputs\": {\"curves\": \"k.csv\"}"));
    write_text("k.csv", "time_s,bend120\n0,0\n0.1,1\n");
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const run_result *r = sh("sinew %s", rows[i].command);
        const char *end = strchr(r->err, '\n');
        int said = strstr(r->err, rows[i].words) || strstr(r->out, rows[i].words);
        if (r->code == rows[i].code && said && end && !end[1]) continue;
        wrong++;
        print_message("sinew %s: exit %d instead of %d, or no '%s':\n%s%s", rows[i].command,
                      r->code, rows[i].code, rows[i].words, r->out, r->err);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(files_with("o."), 0);
    assert_int_equal(files_with("n.csv") + files_with("n.pc2") + files_with("keep"), 0);
    expect_code(0, "grep -q '^0.1,1' k.csv");
}

/* Every option of every help page: what it needs, and how often it may be given. */
static void options_take_what_their_page_says(void **state) {
    (void)state;
    fresh_folder();
    write_text(
        "check.py",
        "import re, subprocess\n"
        "def sinew(*words):\n"
        "    r = subprocess.run(['sinew', *words], capture_output=True, text=True,\n"
        "                       stdin=subprocess.DEVNULL)\n"
        "    return r.returncode, r.stderr\n"
        "pages = subprocess.run(['sinew', 'help'], capture_output=True, text=True).stdout\n"
        "count = 0\n"
        "for verb in re.findall(r'^  ([a-z]+) {2,}\\S', pages, re.M):\n"
        "    page = subprocess.run(['sinew', verb, '--help'], capture_output=True, "
        "text=True).stdout\n"
        "    table = page[page.index('\\nOptions:'):] if '\\nOptions:' in page else page\n"
        "    entries = re.split(r'^  (?=--)', table, flags=re.M)[1:]\n"
        "    for entry in entries:\n"
        "        option, kind = re.match(r'(--[a-z0-9-]+)(?: (\\S+))?(?=\\s|$)', "
        "entry).groups()\n"
        "        if option == '--help':\n"
        "            continue\n"
        "        text = ' '.join(re.split(r'\\n\\n', entry)[0].split())\n"
        "        repeats = 'May be repeated' in text\n"
        "        where, count = f'{verb} {option}', count + 1\n"
        "        if kind is None:\n"
        "            code, said = sinew(verb, option + '=1')\n"
        "            assert code == 2 and 'does not accept a value' in said, (where, said)\n"
        "            code, said = sinew(verb, option, option)\n"
        "            assert code == 2 and 'specified twice' in said, (where, said)\n"
        "            continue\n"
        "        code, said = sinew(verb, option)\n"
        "        assert code == 2 and f'{option} needs a value: {kind}' in said, (where, said)\n"
        "        values = kind.split('|')[:1] if '|' in kind else ['1', '0.01', '100', '1500', "
        "'-1']\n"
        "        said = [sinew(verb, option, value, option, value) for value in values]\n"
        "        twice = any(code == 2 and f'{option} is specified twice' in line\n"
        "                    for code, line in said)\n"
        "        assert twice != repeats, (where, said)\n"
        "assert count > 200, count\n");
    expect_code(0, "python3 check.py");
}

/* Every number of every help page has limits, is taken at both, and refused beyond. An option that
 * does not exist follows, so that nothing runs. */
static void numbers_are_taken_up_to_their_limits(void **state) {
    (void)state;
    fresh_folder();
    write_text(
        "limits.py",
        "import re, subprocess\n"
        "def sinew(*words):\n"
        "    r = subprocess.run(['sinew', *words, '--none'], capture_output=True, text=True,\n"
        "                       stdin=subprocess.DEVNULL)\n"
        "    return r.stderr\n"
        "pages = subprocess.run(['sinew', 'help'], capture_output=True, text=True).stdout\n"
        "count = units = 0\n"
        "for verb in re.findall(r'^  ([a-z]+) {2,}\\S', pages, re.M):\n"
        "    page = subprocess.run(['sinew', verb, '--help'], capture_output=True, "
        "text=True).stdout\n"
        "    for option in re.findall(r'^  (--[a-z0-9-]+) [A-Z]', page, re.M):\n"
        "        said = sinew(verb, option, 'x')\n"
        "        number = re.search(r'must be a (whole )?number', said)\n"
        "        if not number:\n"
        "            continue\n"
        "        where = (verb, option)\n"
        "        limits = re.search(r'must be between (\\S+) and (\\S+), not 1e301$', "
        "sinew(verb, option, '1e301'))\n"
        "        assert limits, where\n"
        "        low, high = map(float, limits.groups())\n"
        "        assert low < high, where\n"
        "        for at, sign in (low, -1), (high, 1):\n"
        "            step = 1 if number[1] else 1e-3 * (abs(at) or 1)\n"
        "            assert 'must be between' not in sinew(verb, option, repr(at)), where\n"
        "            said = sinew(verb, option, repr(at + sign * max(step, 1e-6 * abs(at))))\n"
        "            assert number[1] and abs(at) > 1e6 or 'must be between' in said, (where, "
        "said)\n"
        "        units += (low, high) == (0, 1)\n"
        "        count += 1\n"
        "assert count > 80 and units > 4, (count, units)\n");
    expect_code(0, "python3 limits.py");
}

int test_usage(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_in_the_call_are_exit_2_with_a_hint),
        cmocka_unit_test(calls_that_make_no_sense_say_why),
        cmocka_unit_test(options_take_what_their_page_says),
        cmocka_unit_test(numbers_are_taken_up_to_their_limits),
        cmocka_unit_test(the_bare_command_lists_its_verbs),
        cmocka_unit_test(quiet_is_quiet_and_paths_may_look_like_options),
        cmocka_unit_test(a_full_output_device_is_not_success),
        cmocka_unit_test(what_is_printed_does_not_end_up_in_a_file),
        cmocka_unit_test(a_folder_that_fails_goes_even_without_a_spare_descriptor),
    };
    return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
