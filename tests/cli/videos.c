/* The render verb: videos, with ffmpeg and without; crossings and cuts. */
#include "support.h"

#include "command.h"
#include "groups.h"

static void make_clip(void) {
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --quiet");
    expect_code(0, "sinew blend bar --steps 4 --out bend.pc2 --quiet");
}

static void a_clip_becomes_a_video(void **state) {
    (void)state;
    if (sh("command -v ffmpeg")->code != 0) {
        print_message("SKIP a_clip_becomes_a_video: ffmpeg is not installed\n");
        return;
    }
    make_clip();
    expect_code(0, "sinew render bend.pc2 --mesh bar/neutral.obj --size 160x121 --out bend.mp4");
    assert_int_equal(files_with("bend.mp4"), 1);
    assert_int_equal(files_with(".part"), 0);
    /* Five frames, and the odd height padded by a line. */
    expect_code(0, "ffmpeg -v error -i bend.mp4 -f rawvideo -pix_fmt gray frames.raw");
    expect_code(0, "test $(wc -c < frames.raw) = $((160 * 122 * 5))");
}

static void names_of_videos_are_neither_options_nor_protocols(void **state) {
    (void)state;
    if (sh("command -v ffmpeg")->code != 0) {
        print_message("SKIP names_of_videos_are_neither_options: ffmpeg is not installed\n");
        return;
    }
    make_clip();
    const char *names[] = {"-f.mp4", "x:y.gif", "a%d.webp", "file:a.mp4", "concat:b|c.mp4"};
    for (int i = 0; i < 5; i++) {
        expect_code(0, "sinew render bend.pc2 --mesh bar/neutral.obj --size 64x48 --out '%s'",
                    names[i]);
        assert_int_equal(files_with(names[i]), 1);
    }
    assert_int_equal(files_with(".part"), 0);
    expect_code(0, "sinew render bend.pc2 --mesh bar/neutral.obj --size 64x48 --fps 12.5 --out "
                   "slow.mp4");
    const run_result *r = expect_code(0, "ffmpeg -i slow.mp4 2>&1 | grep -c '12.50* fps'");
    assert_string_equal(r->out, "1\n");
}

static void without_ffmpeg_there_is_one_clear_line(void **state) {
    (void)state;
    make_clip();
    expect_refusal(4, "ffmpeg|bend.mp4",
                   "PATH=$(dirname \"$(command -v sinew)\"); sinew render bend.pc2 --mesh "
                   "bar/neutral.obj --size 160x120 --out bend.mp4");
    assert_int_equal(files_with("mp4"), 0);
    /* Pictures need no other program. */
    expect_code(0, "PATH=$(dirname \"$(command -v sinew)\"); sinew render bar/neutral.obj --size "
                   "160x120 --out bar.png");
}

/* ffmpeg itself exits with 0 then. */
static void a_video_that_is_cut_off_is_an_error(void **state) {
    (void)state;
    if (sh("command -v ffmpeg")->code != 0) {
        print_message("SKIP a_video_that_is_cut_off_is_an_error: ffmpeg is not installed\n");
        return;
    }
    make_clip();
    use_moments();
    const char *endings[] = {"mp4", "webm", "gif", "webp"};
    for (int i = 0; i < 4; i++) {
        expect_refusal(4, "cannot be written: File too large",
                       "GROW=1024 LD_PRELOAD=$MOMENTS sinew render bar --size 200x200 --turntable "
                       "1 --out cut.%s",
                       endings[i]);
        assert_int_equal(files_with("cut"), 0);
    }
}

static void the_ending_says_picture_or_video(void **state) {
    (void)state;
    make_clip();
    expect_refusal(2, "--turntable makes a video|a.png",
                   "sinew render bar/neutral.obj --turntable 1 --out a.png");
    expect_refusal(3, "a.txt|.png|.mp4", "sinew render bar/neutral.obj --out a.txt");
    expect_refusal(3, "no such slider; did you mean 'bend120'?",
                   "sinew render bar --weights bend12=1 --out a.png");
    assert_int_equal(files_with("a."), 0);
}

static void crossings_are_red_and_a_cut_looks_inside(void **state) {
    (void)state;
    fresh_folder();
    write_text("apart.obj", "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0.5 0.5 1\nv 0.6 0.5 2\nv 0.5 0.9 2\n"
                            "f 1 2 3\nf 4 5 6\n");
    write_text("cross.obj", "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0.5 0.5 -1\nv 0.6 0.5 2\nv 0.5 0.9 2\n"
                            "f 1 2 3\nf 4 5 6\n");
    const char *draw = "--size 96x96 --no-ground --quiet";
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "cross" : "apart";
        expect_code(0, "sinew render %s.obj %s --out %s.png", name, draw, name);
        expect_code(0, "sinew render %s.obj %s --crossings --out %s-red.png", name, draw, name);
    }
    expect_code(0, "cmp apart.png apart-red.png");
    expect_code(1, "cmp -s cross.png cross-red.png");
    /* the second triangle lies beyond z = 0.5; beyond z = 3 lies nothing */
    expect_code(0, "sinew render apart.obj %s --look-at 1,1,0,2 --out whole.png", draw);
    expect_code(0, "sinew render apart.obj %s --look-at 1,1,0,2 --cut z=3 --out same.png", draw);
    expect_code(0, "sinew render apart.obj %s --look-at 1,1,0,2 --cut z=0.5 --out cut.png", draw);
    expect_code(0, "cmp whole.png same.png");
    expect_code(1, "cmp -s whole.png cut.png");
    expect_refusal(2, "--cut w=1", "sinew render apart.obj --cut w=1 --out a.png");
    expect_refusal(2, "--cut x=", "sinew render apart.obj --cut x= --out a.png");
    expect_refusal(2, "--cut x=nan", "sinew render apart.obj --cut x=nan --out a.png");
    expect_refusal(2, "nothing to show", "sinew render apart.obj --cut x=-100 --out a.png");
}

int test_videos(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clip_becomes_a_video),
        cmocka_unit_test(names_of_videos_are_neither_options_nor_protocols),
        cmocka_unit_test(without_ffmpeg_there_is_one_clear_line),
        cmocka_unit_test(a_video_that_is_cut_off_is_an_error),
        cmocka_unit_test(the_ending_says_picture_or_video),
        cmocka_unit_test(crossings_are_red_and_a_cut_looks_inside),
    };
    return cmocka_run_group_tests_name("videos", tests, NULL, NULL);
}
