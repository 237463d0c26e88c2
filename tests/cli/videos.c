/* Videos of the render verb, with ffmpeg and without. */
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

int test_videos(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clip_becomes_a_video),
        cmocka_unit_test(without_ffmpeg_there_is_one_clear_line),
        cmocka_unit_test(the_ending_says_picture_or_video),
    };
    return cmocka_run_group_tests_name("videos", tests, NULL, NULL);
}
