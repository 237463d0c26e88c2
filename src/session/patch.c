/* JSON Pointer (RFC 6901) and JSON Patch (RFC 6902) on scenes.
 *
 * A patch works on the document in place and keeps the inverse of each operation, so that a failure
 * is undone by the same means as a user's undo. Nodes that others hold (a solver that reads
 * the document) are copied on the way down; normally none are held, and then the cost
 * does not depend on the size of the document.
 *
 * Objects keep the order of their keys. JSON Patch defines no order: an operation that restores a
 * removed key carries the key it stood in front of as "before", a member that other readers of the
 * format ignore. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "session/scene.h"

/* ---- pointers -------------------------------------------------------------------------------- */

int sn_pointer_parse(const char *pointer, char text[SN_POINTER_SIZE],
                     const char *tokens[SN_POINTER_DEPTH]) {
    int depth = 0;
    size_t used = 0;
    if (strlen(pointer) + 2 > SN_POINTER_SIZE) return -1;
    while (*pointer) {
        if (*pointer != '/' || depth == SN_POINTER_DEPTH) return -1;
        tokens[depth++] = text + used;
        for (pointer++; *pointer && *pointer != '/'; pointer++) {
            char c = *pointer;
            if (c == '~') {
                c = *++pointer;
                if (c != '0' && c != '1') return -1;
                c = c == '0' ? '~' : '/';
            }
            text[used++] = c;
        }
        text[used++] = '\0';
    }
    return depth;
}

/* Index of an element: digits without leading zeros, below `end`; `end` itself for "-" when that is
 * allowed; -1 otherwise. */
static long array_index(const char *token, size_t end, bool append) {
    size_t length = strlen(token);
    if (append && !strcmp(token, "-")) return (long)end;
    if (length == 0 || length > 9 || strspn(token, "0123456789") != length) return -1;
    if (token[0] == '0' && length > 1) return -1;
    long index = strtol(token, NULL, 10);
    return (size_t)index < end + append ? index : -1;
}

static json_t *child_of(const json_t *value, const char *token) {
    if (json_is_object(value)) return json_object_get(value, token);
    if (!json_is_array(value)) return NULL;
    long index = array_index(token, json_array_size(value), false);
    return index < 0 ? NULL : json_array_get(value, (size_t)index);
}

json_t *sn_pointer_find(const json_t *document, int depth, const char *const *tokens) {
    json_t *value = (json_t *)document;
    for (int i = 0; value && i < depth; i++) value = child_of(value, tokens[i]);
    return value;
}

/* ---- one change ------------------------------------------------------------------------------ */

/* Levels of a document, less than its text may have, and bytes that a patch may copy. */
enum { MOST_DEPTH = 2000, MOST_COPIED = 64 << 20 };

typedef struct location {
    char text[SN_POINTER_SIZE];
    const char *tokens[SN_POINTER_DEPTH];
    int depth;
} location;

typedef struct patching {
    sinew_scene *scene;
    json_t *inverse; /* operations that undo, the last first; NULL: not wanted */
    bool several;    /* operations may have shifted the elements that others touched */
    bool undoing;    /* without new memory: values of the patch are taken as they are */
    size_t copied;   /* bytes of the values that operations copied */
    const char *why; /* a failure in words */
} patching;

/* Copies a container that others hold; children are shared then, and held twice. */
static json_t *own(json_t *parent, const char *token, long index, json_t *child) {
    if (child->refcount == 1) return child;
    json_t *copy = sn_json_copy(child);
    if (!copy) return NULL;
    int failed = json_is_object(parent) ? json_object_set_new(parent, token, copy)
                                        : json_array_set_new(parent, (size_t)index, copy);
    return failed ? NULL : copy;
}

/* The container that holds the last token, owned by this document alone; NULL: there is none.
 * False: no memory. */
static bool open_parent(patching *p, const location *at, json_t **parent) {
    sinew_scene *scene = p->scene;
    *parent = NULL;
    if (scene->document->refcount > 1) {
        json_t *copy = sn_json_copy(scene->document);
        if (!copy) return false;
        json_decref(scene->document);
        scene->document = copy;
    }
    json_t *value = scene->document;
    for (int i = 0; i + 1 < at->depth; i++) {
        json_t *child = child_of(value, at->tokens[i]);
        if (!json_is_object(child) && !json_is_array(child)) return true;
        value = own(value, at->tokens[i], strtol(at->tokens[i], NULL, 10), child);
        if (!value) return false;
    }
    *parent = value;
    return true;
}

static const char *key_after(json_t *object, const char *key) {
    void *next = json_object_iter_next(object, json_object_iter_at(object, key));
    return next ? json_object_iter_key(next) : NULL;
}

/* A new key in front of another: those from there on are taken out and put back behind it. */
static bool insert_before(json_t *object, const char *key, json_t *value, const char *before) {
    json_t *tail = json_object();
    bool good = tail != NULL;
    for (void *at = json_object_iter_at(object, before); good && at;
         at = json_object_iter_next(object, at))
        good = json_object_set(tail, json_object_iter_key(at), json_object_iter_value(at)) == 0;
    const char *name;
    json_t *moved;
    if (good) json_object_foreach(tail, name, moved) json_object_del(object, name);
    if (good) good = json_object_set(object, key, value) == 0;
    if (good) json_object_foreach(tail, name, moved) good &= !json_object_set(object, name, moved);
    json_decref(tail);
    return good;
}

static void escape(const char *token, char **out, const char *end) {
    for (; *token && *out + 2 < end; token++) {
        if (*token == '~' || *token == '/') *(*out)++ = '~';
        *(*out)++ = *token == '~' ? '0' : *token == '/' ? '1' : *token;
    }
}

/* Keeps the operation that undoes; index >= 0 stands for the last token. */
static bool keep(patching *p, const char *op, const location *at, long index, json_t *value,
                 const char *before) {
    if (!p->inverse) return true;
    char path[2 * SN_POINTER_SIZE + 32], *out = path;
    for (int i = 0; i < at->depth; i++) {
        *out++ = '/';
        if (index >= 0 && i + 1 == at->depth)
            out += snprintf(out, 24, "%ld", index);
        else
            escape(at->tokens[i], &out, path + sizeof path - 32);
    }
    *out = '\0';
    json_t *operation = json_object();
    bool good = operation && !json_object_set_new(operation, "op", json_string(op)) &&
                !json_object_set_new(operation, "path", json_string(path)) &&
                (!value || !json_object_set(operation, "value", value)) &&
                (!before || !json_object_set_new(operation, "before", json_string(before)));
    if (good) return !json_array_insert_new(p->inverse, 0, operation); /* frees it on failure */
    json_decref(operation);
    return false;
}

/* After keep: whether the change happened; if not, there is nothing to undo. */
static bool happened(patching *p, bool done) {
    if (!done && p->inverse) json_array_remove(p->inverse, 0);
    return done;
}

static bool replace_document(patching *p, const location *at, json_t *value) {
    if (!json_is_object(value)) return p->why = "the document must be an object", false;
    if (!keep(p, "replace", at, -1, p->scene->document, NULL)) return false;
    json_t *copy = p->undoing ? json_incref(value) : sn_json_deep_copy(value);
    if (!copy) return happened(p, false);
    json_decref(p->scene->document);
    p->scene->document = copy;
    return true;
}

/* How deep a value nests and about how many bytes a copy of it takes. */
static int measure(const json_t *value, size_t *bytes) {
    const char *key;
    json_t *child;
    int deepest = 0;
    *bytes += 64 + json_string_length(value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        int depth = measure(json_array_get(value, i), bytes);
        if (depth > deepest) deepest = depth;
    }
    json_object_foreach((json_t *)value, key, child) {
        *bytes += strlen(key);
        int depth = measure(child, bytes);
        if (depth > deepest) deepest = depth;
    }
    return deepest + 1;
}

/* Moves and copies could nest a document deeper than its text may be, or than a stack is. */
static bool nests_too_deeply(patching *p, const location *at, const json_t *value) {
    size_t bytes = 0;
    if (p->undoing || at->depth + measure(value, &bytes) <= MOST_DEPTH) return false;
    p->why = "the document would be nested too deeply";
    return true;
}

static bool add(patching *p, const location *at, json_t *value, const char *before) {
    if (at->depth == 0) return replace_document(p, at, value);
    if (nests_too_deeply(p, at, value)) return false;
    json_t *parent;
    if (!open_parent(p, at, &parent)) return false;
    const char *token = at->tokens[at->depth - 1];
    if (json_is_object(parent)) {
        json_t *old = json_object_get(parent, token);
        if (old)
            return keep(p, "replace", at, -1, old, NULL) &&
                   happened(p, !json_object_set(parent, token, value));
        if (!keep(p, "remove", at, -1, NULL, NULL)) return false;
        if (before && json_object_get(parent, before))
            return happened(p, insert_before(parent, token, value, before));
        return happened(p, !json_object_set(parent, token, value));
    }
    long index = json_is_array(parent) ? array_index(token, json_array_size(parent), true) : -1;
    if (index < 0) return p->why = "there is no such location", false;
    return keep(p, "remove", at, index, NULL, NULL) &&
           happened(p, !json_array_insert(parent, (size_t)index, value));
}

static bool remove_at(patching *p, const location *at) {
    if (at->depth == 0) return p->why = "the document cannot be removed", false;
    json_t *parent, *old = NULL;
    if (!open_parent(p, at, &parent)) return false;
    const char *token = at->tokens[at->depth - 1];
    if (parent) old = child_of(parent, token);
    if (!old) return p->why = "there is no value", false;
    if (json_is_object(parent))
        return keep(p, "add", at, -1, old, key_after(parent, token)) &&
               !json_object_del(parent, token);
    long index = strtol(token, NULL, 10);
    return keep(p, "add", at, index, old, NULL) && !json_array_remove(parent, (size_t)index);
}

static bool replace(patching *p, const location *at, json_t *value) {
    if (at->depth == 0) return replace_document(p, at, value);
    if (nests_too_deeply(p, at, value)) return false;
    json_t *parent, *old = NULL;
    if (!open_parent(p, at, &parent)) return false;
    const char *token = at->tokens[at->depth - 1];
    if (parent) old = child_of(parent, token);
    if (!old) return p->why = "there is no value", false;
    if (!keep(p, "replace", at, -1, old, NULL)) return false;
    if (json_is_object(parent)) return happened(p, !json_object_set(parent, token, value));
    return happened(p, !json_array_set(parent, (size_t)strtol(token, NULL, 10), value));
}

/* Equal as RFC 6902 has it: numbers by value, objects in any order. */
static bool same_value(const json_t *a, const json_t *b) {
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    if (json_typeof(a) != json_typeof(b)) return false;
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b)) return false;
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!same_value(json_array_get(a, i), json_array_get(b, i))) return false;
        return true;
    }
    if (!json_is_object(a)) return json_equal(a, b);
    if (json_object_size(a) != json_object_size(b)) return false;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)a, key, value) {
        const json_t *other = json_object_get(b, key);
        if (!other || !same_value(value, other)) return false;
    }
    return true;
}

/* ---- a patch --------------------------------------------------------------------------------- */

static bool locate(const json_t *operation, const char *member, location *at) {
    const char *pointer = json_string_value(json_object_get(operation, member));
    at->depth = pointer ? sn_pointer_parse(pointer, at->text, at->tokens) : -1;
    return at->depth >= 0;
}

static bool is_inside(const location *inner, const location *outer) {
    if (inner->depth < outer->depth) return false;
    for (int i = 0; i < outer->depth; i++)
        if (strcmp(inner->tokens[i], outer->tokens[i])) return false;
    return true;
}

static bool move_value(patching *p, const location *from, const location *to) {
    json_t *value = sn_pointer_find(p->scene->document, from->depth, from->tokens);
    if (!value || from->depth == 0) return p->why = "there is no value at \"from\"", false;
    if (is_inside(to, from))
        return to->depth == from->depth ? true
                                        : (p->why = "a value cannot move into itself", false);
    json_incref(value);
    bool good = remove_at(p, from) && add(p, to, value, NULL);
    json_decref(value);
    return good;
}

static bool copy_value(patching *p, const location *from, const location *to) {
    json_t *value = sn_pointer_find(p->scene->document, from->depth, from->tokens);
    if (!value) return p->why = "there is no value at \"from\"", false;
    /* A few copies of copies would fill any memory. */
    measure(value, &p->copied);
    if (p->copied > MOST_COPIED) return p->why = "the patch copies more than 64 MB", false;
    json_t *copy = sn_json_deep_copy(value);
    bool good = copy && add(p, to, copy, NULL);
    json_decref(copy);
    return good;
}

/* A value of the patch is the patch's: the document gets a copy, so that later patches change only
 * what is the document's own. */
static json_t *own_value(const patching *p, const json_t *operation) {
    json_t *value = json_object_get(operation, "value");
    return !value ? NULL : p->undoing ? json_incref(value) : sn_json_deep_copy(value);
}

static bool apply(patching *p, const json_t *operation, const location *at) {
    const char *op = json_string_value(json_object_get(operation, "op"));
    location from;
    if (!op) return p->why = "\"op\" is missing", false;
    bool moves = !strcmp(op, "move"), copies = !strcmp(op, "copy");
    if (moves || copies) {
        if (!locate(operation, "from", &from))
            return p->why = "\"from\" is not a JSON pointer", false;
        return moves ? move_value(p, &from, at) : copy_value(p, &from, at);
    }
    if (!strcmp(op, "remove")) return remove_at(p, at);
    if (strcmp(op, "add") && strcmp(op, "replace") && strcmp(op, "test"))
        return p->why = "\"op\" is not add, remove, replace, move, copy or test", false;
    json_t *value = own_value(p, operation);
    if (!value && !json_object_get(operation, "value"))
        return p->why = "\"value\" is missing", false;
    if (!value) return false;
    bool good;
    if (!strcmp(op, "test")) {
        const json_t *there = sn_pointer_find(p->scene->document, at->depth, at->tokens);
        good = there && same_value(there, value);
        if (!good) p->why = "the test failed";
    } else if (!strcmp(op, "add")) {
        good = add(p, at, value, json_string_value(json_object_get(operation, "before")));
    } else {
        good = replace(p, at, value);
    }
    json_decref(value);
    return good;
}

/* Checks what an operation touched, in the final document. With several operations an element may
 * have moved on: then its whole list is checked. */
static sinew_status check_touched(const patching *p, const location *at, sn_patch_change *change,
                                  sinew_error *error) {
    location seen = *at;
    for (int i = 0; i < at->depth; i++) seen.tokens[i] = seen.text + (at->tokens[i] - at->text);
    if (p->several)
        for (int i = 0; i < seen.depth; i++)
            if (json_is_array(sn_pointer_find(p->scene->document, i, seen.tokens))) seen.depth = i;
    sinew_cost cost, listed;
    /* "-" is the last element now. */
    char last[24];
    if (seen.depth > 0 && !strcmp(seen.tokens[seen.depth - 1], "-")) {
        const json_t *array = sn_pointer_find(p->scene->document, seen.depth - 1, seen.tokens);
        size_t size = json_array_size(array);
        snprintf(last, sizeof last, "%zu", size ? size - 1 : 0);
        seen.tokens[seen.depth - 1] = last;
    }
    SN_TRY(sn_scene_check_at(p->scene, seen.depth, seen.tokens, &listed, error));
    cost = listed;
    if (seen.depth != at->depth && at->depth > 0) {
        /* the list was checked, the change is of the value: ask for its own cost */
        sinew_error unused;
        if (sn_scene_check_at(p->scene, at->depth, at->tokens, &cost, &unused) != SINEW_OK)
            cost = listed;
    }
    int bit = at->depth > 0 ? sn_scene_key_bit(at->tokens[0]) : -1;
    change->keys |= bit >= 0 ? 1u << bit : UINT32_MAX;
    if (cost > change->cost) change->cost = cost;
    return SINEW_OK;
}

static sinew_status check_all(const patching *p, const json_t *patch, sn_patch_change *change,
                              sinew_error *error) {
    for (size_t i = 0; i < json_array_size(patch); i++) {
        const json_t *operation = json_array_get(patch, i);
        const char *op = json_string_value(json_object_get(operation, "op"));
        location at;
        if (!strcmp(op, "test")) continue;
        locate(operation, "path", &at);
        SN_TRY(check_touched(p, &at, change, error));
        if (!strcmp(op, "move")) {
            locate(operation, "from", &at);
            SN_TRY(check_touched(p, &at, change, error));
        }
    }
    return SINEW_OK;
}

/* Brings the document back after a failure. What was replaced or added is undone without memory;
 * `before` is the document where that is not enough. */
static void roll_back(patching *p, json_t *before) {
    patching back = {.scene = p->scene, .undoing = true};
    if (before) {
        json_decref(p->scene->document);
        p->scene->document = json_incref(before);
        return;
    }
    for (size_t i = 0; i < json_array_size(p->inverse); i++) {
        const json_t *operation = json_array_get(p->inverse, i);
        location at;
        locate(operation, "path", &at);
        apply(&back, operation, &at);
    }
}

/* Some operation takes a value out: to put it back may need memory. */
static bool takes_out(const json_t *patch) {
    for (size_t i = 0; i < json_array_size(patch); i++) {
        const json_t *operation = json_array_get(patch, i);
        const char *op = json_string_value(json_object_get(operation, "op"));
        if (op && (!strcmp(op, "remove") || !strcmp(op, "move"))) return true;
        if (json_object_get(operation, "before")) return true;
    }
    return false;
}

/* Several operations, of which some may shift the elements of a list. */
static bool shifts_elements(const json_t *patch) {
    for (size_t i = 0; json_array_size(patch) > 1 && i < json_array_size(patch); i++) {
        const char *op = json_string_value(json_object_get(json_array_get(patch, i), "op"));
        if (op && strcmp(op, "replace") && strcmp(op, "test")) return true;
    }
    return false;
}

sinew_status sn_scene_patch(sinew_scene *scene, const json_t *patch, json_t **inverse,
                            sn_patch_change *change, sinew_error *error) {
    *change = (sn_patch_change){SINEW_COST_NOTHING, 0, (int)json_array_size(patch)};
    if (inverse) *inverse = NULL;
    if (!json_is_array(patch))
        return sn_scene_fail(scene, error, "patch", "must be a list of operations");
    patching p = {
        .scene = scene, .inverse = json_array(), .several = shifts_elements(patch), .why = NULL};
    if (!p.inverse) return sn_no_memory(error);
    /* Held here, the document is copied where it changes, and is there again after a failure. */
    json_t *before = takes_out(patch) ? json_incref(scene->document) : NULL;
    sinew_status status = SINEW_OK;
    for (size_t i = 0; status == SINEW_OK && i < json_array_size(patch); i++) {
        const json_t *operation = json_array_get(patch, i);
        location at;
        char where[32];
        snprintf(where, sizeof where, "patch: /%zu", i);
        if (!locate(operation, "path", &at))
            status = sn_scene_fail(scene, error, where, "\"path\" is not a JSON pointer");
        else if (!apply(&p, operation, &at))
            status =
                p.why ? sn_scene_fail(scene, error, where, "%s: %s",
                                      json_string_value(json_object_get(operation, "path")), p.why)
                      : sn_no_memory(error);
    }
    if (status == SINEW_OK) status = check_all(&p, patch, change, error);
    if (status != SINEW_OK) roll_back(&p, before);
    json_decref(before);
    if (status == SINEW_OK && inverse)
        *inverse = p.inverse;
    else
        json_decref(p.inverse);
    return status;
}

sinew_status sn_scene_set_patch(const sinew_scene *scene, const char *pointer, json_t *value,
                                json_t **patch, sinew_error *error) {
    location at;
    *patch = NULL;
    at.depth = sn_pointer_parse(pointer, at.text, at.tokens);
    if (at.depth < 0) return sn_fail(error, SINEW_BAD_INPUT, "'%s' is not a JSON pointer", pointer);
    json_t *list = json_array();
    bool good = list != NULL;
    /* Missing parents: a list where "-" or 0 follows, an object otherwise. */
    size_t used = 0;
    for (int i = 1; value && good && i < at.depth; i++) {
        used += 1 + strcspn(pointer + used + 1, "/");
        if (sn_pointer_find(scene->document, i, at.tokens)) continue;
        json_t *path = json_stringn(pointer, used);
        json_t *made =
            !strcmp(at.tokens[i], "-") || !strcmp(at.tokens[i], "0") ? json_array() : json_object();
        good = !json_array_append_new(
            list, json_pack("{s:s, s:o, s:o}", "op", "add", "path", path, "value", made));
    }
    bool there = sn_pointer_find(scene->document, at.depth, at.tokens) != NULL;
    if (good && value)
        good = !json_array_append_new(list,
                                      json_pack("{s:s, s:s, s:O}", "op", there ? "replace" : "add",
                                                "path", pointer, "value", value));
    else if (good && there)
        good =
            !json_array_append_new(list, json_pack("{s:s, s:s}", "op", "remove", "path", pointer));
    if (!good) {
        json_decref(list);
        return sn_no_memory(error);
    }
    *patch = list;
    return SINEW_OK;
}
