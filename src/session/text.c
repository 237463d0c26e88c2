#include "sinew/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/forms.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/printable.h"
#include "base/status.h"
#include "contact/obstacle.h"
#include "session/scene.h"

/* ---- numbers and words ----------------------------------------------------------------------- */

sinew_status sinew_text_number(const char *text, double *number, sinew_error *error) {
    SN_REQUIRE(text && number, error);
    if (sn_number_list(text, 0, 1, number, NULL) == 1) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT, "'%.200s' is not a finite number", text);
}

sinew_status sinew_text_numbers(const char *text, double **numbers, int *count,
                                sinew_error *error) {
    SN_REQUIRE(text && numbers && count, error);
    *numbers = NULL;
    *count = sn_number_list(text, 0, 0, NULL, NULL);
    if (*count < 0) {
        *count = 0;
        return sn_fail(error, SINEW_BAD_INPUT, "'%.200s' is not a list of numbers such as 0,0.5,1",
                       text);
    }
    *numbers = SN_NEW(double, *count);
    if (!*numbers) return *count = 0, sn_no_memory(error);
    sn_number_list(text, 0, *count, *numbers, NULL);
    return SINEW_OK;
}

int sinew_text_choice(const char *choices, const char *word) {
    return choices && word ? sn_choice_index(choices, word) : -1;
}

sinew_status sinew_text_frames(const char *text, int *first, int *last, sinew_error *error) {
    SN_REQUIRE(text && first && last, error);
    const char *at = text;
    int64_t a = 0, b = 0;
    bool good = *at != '-' && sn_integer(&at, &a) && a >= 0 && a <= INT32_MAX;
    b = a;
    if (good && *at == '-') {
        at++;
        if (*at)
            good = sn_integer(&at, &b) && b >= a && b <= INT32_MAX;
        else
            b = -1;
    }
    if (!good || *at)
        return sn_fail(error, SINEW_BAD_INPUT, "'%.200s' is not a range of frames A-B, A- or A",
                       text);
    *first = (int)a;
    *last = (int)b;
    return SINEW_OK;
}

const char *sinew_text_nearest(const char *word, int count, const char *const *names) {
    return sn_nearest_name(word, count, names);
}

void sinew_text_make_printable(char *text) {
    sn_make_printable(text);
}

/* ---- values of a scene ----------------------------------------------------------------------- */

/* Takes the reference. NULL: no memory, or text that is not UTF-8, which JSON cannot hold. */
static sinew_status finish(json_t *value, const char *text, char **json, sinew_error *error) {
    if (!value && sn_is_utf8(text)) return sn_no_memory(error);
    if (!value)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "'%.200s' cannot be written as JSON: it is not UTF-8", text);
    sinew_status status = sn_json_text(value, JSON_COMPACT, json, error);
    json_decref(value);
    return status;
}

static json_t *list(int count, const double *values) {
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        if (json_array_append_new(array, json_real(values[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

sinew_status sinew_text_weights(const char *text, char **json, sinew_error *error) {
    SN_REQUIRE(text && json, error);
    *json = NULL;
    const char *whole = text;
    json_t *map = json_object();
    while (*text) {
        sn_weight_entry entry;
        sinew_status status = sn_weight_next(&text, &entry, error);
        char *name = status == SINEW_OK ? sn_strndup(entry.name, entry.name_length) : NULL;
        if (status == SINEW_OK && !name) status = sn_no_memory(error);
        if (status == SINEW_OK && json_object_get(map, name))
            status = sn_fail(error, SINEW_BAD_INPUT, "weight \"%.*s\": %s is given twice",
                             entry.length, entry.text, name);
        if (status == SINEW_OK && json_object_set_new(map, name, json_real(entry.value)) != 0)
            status = finish(NULL, whole, json, error);
        sn_free(name);
        if (status != SINEW_OK) return json_decref(map), status;
    }
    return finish(map, whole, json, error);
}

/* The object with one more value, whose reference it takes; NULL: no memory. */
static json_t *with(json_t *object, const char *key, json_t *value) {
    if (!json_object_set_new(object, key, value)) return object;
    json_decref(object);
    return NULL;
}

static json_t *primitive(const sn_obstacle_form *form) {
    static const struct {
        const char *shape, *first, *second; /* points */
        bool radius;
    } keys[] = {[SN_OBSTACLE_PLANE] = {"plane", "point", "normal", false},
                [SN_OBSTACLE_SPHERE] = {"sphere", "center", NULL, true},
                [SN_OBSTACLE_CAPSULE] = {"capsule", "from", "to", true},
                [SN_OBSTACLE_CYLINDER] = {"cylinder", "from", "to", true},
                [SN_OBSTACLE_BOX] = {"box", "center", "half", false}};
    const char *second = keys[form->shape].second;
    json_t *o = json_pack("{s:s, s:o}", "shape", keys[form->shape].shape, keys[form->shape].first,
                          list(3, form->values));
    if (second) o = with(o, second, list(3, form->values + 3));
    if (keys[form->shape].radius) o = with(o, "radius", json_real(form->values[second ? 6 : 3]));
    return o;
}

sinew_status sinew_text_obstacle(const char *text, char **json, sinew_error *error) {
    SN_REQUIRE(text && json, error);
    *json = NULL;
    if (!strncmp(text, "part:", 5))
        return finish(json_pack("{s:s, s:s}", "shape", "part", "name", text + 5), text, json,
                      error);
    size_t word = strcspn(text, ":");
    static const char *const shapes[] = {"plane", "sphere", "capsule", "cylinder", "box"};
    for (size_t i = 0; text[word] && i < sizeof shapes / sizeof *shapes; i++) {
        if (strlen(shapes[i]) != word || strncmp(shapes[i], text, word)) continue;
        sn_obstacle_form form;
        SN_TRY(sn_obstacle_form_parse(text, &form, error));
        return finish(primitive(&form), text, json, error);
    }
    return finish(json_pack("{s:s, s:s}", "shape", "mesh", "file", text), text, json, error);
}

sinew_status sinew_text_pin(const char *text, char **json, sinew_error *error) {
    SN_REQUIRE(text && json, error);
    *json = NULL;
    const char *at = strrchr(text, '@');
    json_t *pin =
        at ? json_pack("{s:s%, s:s}", "select", text, (size_t)(at - text), "frames", at + 1)
           : json_pack("{s:s}", "select", text);
    return finish(pin, text, json, error);
}

/* "x,y,z" or "x,y,z:n". */
static bool read_point(const char *text, double point[3], bool *has_number, double *number) {
    const char *end;
    if (sn_number_list(text, ':', 3, point, &end) != 3) return false;
    *has_number = *end == ':';
    return !*has_number || sn_number_list(end + 1, 0, 1, number, NULL) == 1;
}

sinew_status sinew_text_pull(const char *text, char **json, sinew_error *error) {
    SN_REQUIRE(text && json, error);
    *json = NULL;
    const char *at = text;
    int64_t vertex;
    double to[3], stiffness = 0;
    bool soft = false, good = sn_integer(&at, &vertex) && vertex >= 0 && vertex <= INT32_MAX;
    good = good && *at == '=' && read_point(at + 1, to, &soft, &stiffness) && stiffness >= 0;
    if (!good)
        return sn_fail(error, SINEW_BAD_INPUT, "pull '%.200s': expected VERTEX=x,y,z[:stiffness]",
                       text);
    json_t *pull = json_pack("{s:I, s:o}", "vertex", (json_int_t)vertex, "to", list(3, to));
    if (soft) pull = with(pull, "stiffness", json_real(stiffness));
    return finish(pull, text, json, error);
}

sinew_status sinew_text_orientation(const char *text, char **json, sinew_error *error) {
    SN_REQUIRE(text && json, error);
    *json = NULL;
    const char *equals = strrchr(text, '=');
    double turn[3], weight = 1;
    bool weighted = false;
    if (!equals || !read_point(equals + 1, turn, &weighted, &weight))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "orientation '%.200s': expected SELECT=x,y,z[:weight]", text);
    return finish(json_pack("{s:s%, s:o, s:f}", "select", text, (size_t)(equals - text), "turn",
                            list(3, turn), "weight", weight),
                  text, json, error);
}

sinew_status sinew_text_lock(const char *text, char **json, sinew_error *error) {
    SN_REQUIRE(text && json, error);
    *json = NULL;
    const char *colon = strchr(text, ':');
    if (!colon || colon == text || !colon[1])
        return sn_fail(error, SINEW_BAD_INPUT, "lock '%.200s': expected NAME:SELECT[:xyz]", text);
    const char *select = colon + 1, *last = strrchr(select, ':');
    /* "region:x" is a region of that name, not an axis. */
    bool axes = last && last[1] && !last[1 + strspn(last + 1, "xyz")] &&
                (memchr(select, ':', (size_t)(last - select)) ||
                 (last - select == 3 && !strncmp(select, "all", 3)));
    size_t length = axes ? (size_t)(last - select) : strlen(select);
    json_t *lock =
        json_pack("{s:s%, s:s%}", "name", text, (size_t)(colon - text), "select", select, length);
    if (axes) lock = with(lock, "axes", json_string(last + 1));
    return finish(lock, text, json, error);
}
