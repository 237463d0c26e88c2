/* The protocol of the studio (docs/protocol.md) as pages could break it. Pages themselves are
 * tested by scripts/test-web. */
#include "support.h"

#include "../../fuzz/studio.h"
#include "base/file.h"
#include "base/memory.h"

static sinew_error error;

static void the_corpus_replays(void **state) {
    (void)state;
    const char *root = getenv("SINEW_SOURCE");
    char folder[4096], **names;
    int count;
    snprintf(folder, sizeof folder, "%s/fuzz/corpus/studio", root ? root : ".");
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char *path = sn_path_join(folder, names[i]), *bytes;
        size_t size;
        assert_ok(sn_file_read(path, &bytes, &size, &error));
        if (!fuzz_studio((const uint8_t *)bytes, size)) fail_msg("%s does not come back", path);
        sn_free(bytes), sn_free(path);
    }
    sn_names_free(names, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_corpus_replays)};
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
