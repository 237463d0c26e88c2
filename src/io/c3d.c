/* C3D marker files: 3D points of the C3D standard, stored as 16-bit integers or floats, in the byte
 * order and number format of Intel, DEC (VAX) or SGI/MIPS machines.
 *
 *   block 1             header: sizes, first and last frame, scale, where data start, rate
 *   parameter blocks    groups of named values; POINT has names, unit, axes
 *   data                per frame: x y z and a residual per point, then analog samples
 *
 * Blocks have 512 bytes. A negative scale means that data are floats. A negative residual marks a
 * missing point. Times start at 0. Analog channels are stepped over. */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "io/binary.h"
#include "io/markers.h"

enum { BLOCK = 512, INTEL = 84, DEC = 85, MIPS = 86 };

typedef struct c3d_reader {
    const sn_source *source;
    sinew_error *error;
    int processor;

    int point_count;
    int64_t frame_count;
    int analog_count; /* numbers per frame */
    double scale, rate;
    size_t data_start; /* byte */
    bool floats;

    sn_names labels; /* made different from each other */
    char unit[8];
    char up;
} c3d_reader;

static unsigned load_u16(const c3d_reader *r, const char *at) {
    return sn_load_u16(at, r->processor == MIPS);
}

/* VAX F numbers swap the two halves of the word and count the exponent from 128 with a leading
 * 0.1 instead of 1.: the value is a quarter of the same bits read as an IEEE number. */
static double load_float(const c3d_reader *r, const char *at) {
    if (r->processor != DEC) return (double)sn_load_f32(at, r->processor == MIPS);
    uint32_t bits = (uint32_t)sn_load_u16(at, false) << 16 | sn_load_u16(at + 2, false);
    if ((bits & 0x7f800000) == 0) return 0;
    /* the largest VAX exponents would read as infinity: take the exponent down first */
    uint32_t exponent = bits >> 23 & 0xff;
    uint32_t lowered = exponent > 2 ? exponent - 2 : 0;
    bits = (bits & 0x807fffff) | lowered << 23;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static sinew_status read_header(c3d_reader *r) {
    const char *bytes = r->source->bytes;
    size_t size = r->source->size;
    if (size < 2 * BLOCK || (uint8_t)bytes[1] != 0x50)
        return sn_source_fail(r->source, r->error, "is not a C3D file");
    size_t parameters = ((size_t)(uint8_t)bytes[0] - 1) * BLOCK;
    if ((uint8_t)bytes[0] == 0 || parameters + 4 > size)
        return sn_source_fail(r->source, r->error, "has no parameters");
    r->processor = (uint8_t)bytes[parameters + 3];
    /* files exist that store the type without its offset */
    if (r->processor >= 1 && r->processor <= 3) r->processor += INTEL - 1;
    if (r->processor < INTEL || r->processor > MIPS)
        return sn_source_fail(r->source, r->error, "is of an unknown processor type %d",
                              r->processor);
    r->point_count = (int)load_u16(r, bytes + 2);
    r->analog_count = (int)load_u16(r, bytes + 4);
    int first = (int)load_u16(r, bytes + 6), last = (int)load_u16(r, bytes + 8);
    r->frame_count = last >= first ? last - first + 1 : 0;
    r->scale = load_float(r, bytes + 12);
    r->data_start = (size_t)load_u16(r, bytes + 16);
    r->rate = load_float(r, bytes + 20);
    return SINEW_OK;
}

/* --- parameters ------------------------------------------------------------------------------- */

typedef struct parameter {
    int group;
    char name[128];
    int type; /* -1 characters, 1 bytes, 2 integers, 4 floats */
    int dimension_count;
    int dimensions[8];
    const char *data;
    size_t count; /* of values */
} parameter;

/* Groups may be defined after their parameters: names are looked up in a pass of their own. */
enum { MAX_GROUP = 128 };

static void copy_name(char *to, size_t room, const char *from, size_t length) {
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < room; i++)
        to[used++] = (char)toupper((unsigned char)from[i]);
    to[used] = '\0';
}

/* The record at *at; moves *at to the next, or to 0 after the last. False: it does not fit. */
static bool next_record(const c3d_reader *r, size_t *at, size_t end, parameter *p, bool *is_group) {
    const char *bytes = r->source->bytes;
    size_t here = *at;
    *at = 0;
    if (end - here < 2) return false;
    int name_length = abs((int8_t)bytes[here]), id = (int8_t)bytes[here + 1];
    here += 2;
    if (name_length == 0) return false;
    if (end - here < (size_t)name_length + 2) return false;
    copy_name(p->name, sizeof p->name, bytes + here, (size_t)name_length);
    here += (size_t)name_length;
    size_t offset = load_u16(r, bytes + here);
    if (offset > 0 && offset < end - here) *at = here + offset;
    here += 2;
    *is_group = id < 0;
    p->group = abs(id);
    if (p->group >= MAX_GROUP) return false;
    p->count = 0;
    if (*is_group) return true;
    if (end - here < 2) return false;
    p->type = (int8_t)bytes[here];
    p->dimension_count = (uint8_t)bytes[here + 1];
    here += 2;
    if (p->dimension_count > 7 || end - here < (size_t)p->dimension_count) return false;
    size_t count = 1;
    for (int d = 0; d < p->dimension_count; d++) {
        p->dimensions[d] = (uint8_t)bytes[here++];
        count *= (size_t)p->dimensions[d];
        if (count > end) return false;
    }
    size_t size = p->type == -1 ? 1 : (size_t)abs(p->type);
    if (p->type != -1 && p->type != 1 && p->type != 2 && p->type != 4) return false;
    if (count > (end - here) / size) return false;
    p->data = bytes + here;
    p->count = count;
    return true;
}

/* Characters without the blanks at the end. */
static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\0')) length--;
    return length;
}

static double parameter_number(const c3d_reader *r, const parameter *p, size_t i) {
    switch (p->type) {
    case 1:
        return (uint8_t)p->data[i];
    case 2:
        return load_u16(r, p->data + 2 * i);
    case 4:
        return load_float(r, p->data + 4 * i);
    default:
        return NAN;
    }
}

/* Names without a name, or used before, get a number. */
static sinew_status add_label(c3d_reader *r, const char *text, size_t length) {
    char name[160];
    length = length < 127 ? length : 127;
    memcpy(name, text, length);
    name[length] = '\0';
    if (length == 0) snprintf(name, sizeof name, "point_%d", r->labels.count + 1);
    for (int copy = r->labels.count + 1; sn_names_find(&r->labels, name, strlen(name)) >= 0; copy++)
        snprintf(name, sizeof name, "%.*s_%d", (int)length, text, copy);
    return sn_names_add(&r->labels, name, strlen(name)) < 0 ? sn_no_memory(r->error) : SINEW_OK;
}

static sinew_status read_labels(c3d_reader *r, const parameter *p) {
    if (p->type != -1 || p->dimension_count < 1) return SINEW_OK;
    size_t length = (size_t)p->dimensions[0], count = length ? p->count / length : 0;
    for (size_t i = 0; i < count && r->labels.count < r->point_count; i++) {
        const char *text = p->data + i * length;
        SN_TRY(add_label(r, text, trimmed(text, length)));
    }
    return SINEW_OK;
}

static sinew_status use_point_parameter(c3d_reader *r, const parameter *p) {
    double number = p->count ? parameter_number(r, p, 0) : NAN;
    if (strncmp(p->name, "LABELS", 6) == 0) return read_labels(r, p);
    if (strcmp(p->name, "USED") == 0 && number >= 0 && number <= 65535)
        r->point_count = (int)number;
    if (strcmp(p->name, "SCALE") == 0 && p->type == 4) r->scale = number;
    if (strcmp(p->name, "RATE") == 0 && p->type == 4) r->rate = number;
    if (strcmp(p->name, "DATA_START") == 0 && number > 0 && number <= 65535)
        r->data_start = (size_t)number;
    if (strcmp(p->name, "FRAMES") == 0 && number > (double)r->frame_count && number < INT_MAX)
        r->frame_count = (int64_t)number;
    if (strcmp(p->name, "UNITS") == 0 && p->type == -1) {
        size_t length = trimmed(p->data, p->count);
        for (size_t i = 0; i < length && i < sizeof r->unit - 1; i++)
            r->unit[i] = (char)tolower((unsigned char)p->data[i]);
        r->unit[length < sizeof r->unit - 1 ? length : sizeof r->unit - 1] = '\0';
    }
    /* "+Z": the axis that points up the screen */
    if (strcmp(p->name, "Y_SCREEN") == 0 && p->type == -1 && p->count >= 2) {
        char axis = (char)tolower((unsigned char)p->data[1]);
        if (axis >= 'x' && axis <= 'z' && p->data[0] == '+') r->up = axis;
    }
    return SINEW_OK;
}

/* TRIAL:ACTUAL_START_FIELD and ACTUAL_END_FIELD: 32-bit frame numbers in two words. */
static void use_trial_parameter(const c3d_reader *r, const parameter *p, int64_t *first,
                                int64_t *last) {
    if (p->type != 2 || p->count < 2) return;
    int64_t number = (int64_t)load_u16(r, p->data) | (int64_t)load_u16(r, p->data + 2) << 16;
    if (strcmp(p->name, "ACTUAL_START_FIELD") == 0) *first = number;
    if (strcmp(p->name, "ACTUAL_END_FIELD") == 0) *last = number;
}

static sinew_status read_parameters(c3d_reader *r) {
    const char *bytes = r->source->bytes;
    size_t start = ((size_t)(uint8_t)bytes[0] - 1) * BLOCK;
    size_t blocks = (uint8_t)bytes[start + 2];
    size_t end = blocks ? start + blocks * BLOCK : r->source->size;
    if (end > r->source->size) end = r->source->size;
    char groups[MAX_GROUP][8] = {{0}};
    int64_t first = 0, last = 0;
    for (int pass = 0; pass < 2; pass++) {
        parameter p = {0};
        bool is_group;
        for (size_t at = start + 4; at && next_record(r, &at, end, &p, &is_group);) {
            if (is_group && pass == 0) {
                if (strcmp(p.name, "POINT") == 0) strcpy(groups[p.group], "POINT");
                if (strcmp(p.name, "TRIAL") == 0) strcpy(groups[p.group], "TRIAL");
            } else if (!is_group && pass == 1) {
                if (strcmp(groups[p.group], "POINT") == 0) SN_TRY(use_point_parameter(r, &p));
                if (strcmp(groups[p.group], "TRIAL") == 0)
                    use_trial_parameter(r, &p, &first, &last);
            }
        }
    }
    if (first > 0 && last >= first && last - first < INT_MAX) r->frame_count = last - first + 1;
    return SINEW_OK;
}

/* --- data ------------------------------------------------------------------------------------- */

/* A point is x y z and a word whose sign tells whether it was seen; its low byte is the residual in
 * units of the scale, 0 for points that were made up. */
static bool read_point(const c3d_reader *r, const char *at, double *p, float *residual) {
    double word;
    if (r->floats) {
        for (int k = 0; k < 3; k++) p[k] = load_float(r, at + 4 * k);
        word = load_float(r, at + 12);
    } else {
        for (int k = 0; k < 3; k++) p[k] = (int16_t)load_u16(r, at + 2 * k) * r->scale;
        word = (int16_t)load_u16(r, at + 6);
    }
    *residual = word >= 0 && word < 32768 ? (float)(((int)word & 0xff) * fabs(r->scale)) : 0;
    return word >= 0;
}

static sinew_status check_sizes(c3d_reader *r) {
    r->floats = r->scale < 0;
    if (r->point_count == 0) return sn_source_fail(r->source, r->error, "has no points");
    if (r->frame_count == 0) return sn_source_fail(r->source, r->error, "has no frames");
    if (!isfinite(r->scale) || r->scale == 0)
        return sn_source_fail(r->source, r->error, "has a bad scale");
    if (!(r->rate > 0) || !isfinite(r->rate))
        return sn_source_fail(r->source, r->error, "has a bad frame rate");
    size_t number = r->floats ? 4 : 2;
    size_t frame = (4 * (size_t)r->point_count + (size_t)r->analog_count) * number;
    if (r->data_start < 2 || (r->data_start - 1) * BLOCK > r->source->size)
        return sn_source_fail(r->source, r->error, "its data start beyond the end");
    r->data_start = (r->data_start - 1) * BLOCK;
    if ((size_t)r->frame_count > (r->source->size - r->data_start) / frame)
        return sn_source_fail(r->source, r->error,
                              "is cut short: %lld frames of %zu bytes do not fit",
                              (long long)r->frame_count, frame);
    return SINEW_OK;
}

static sinew_status read_data(const c3d_reader *r, sinew_markers *markers) {
    size_t number = r->floats ? 4 : 2;
    bool known = false;
    markers->residuals = SN_NEW0(float, (size_t)r->frame_count *(size_t)r->point_count);
    if (!markers->residuals) return sn_no_memory(r->error);
    size_t frame = (4 * (size_t)r->point_count + (size_t)r->analog_count) * number;
    for (int64_t t = 0; t < r->frame_count; t++) {
        const char *at = r->source->bytes + r->data_start + (size_t)t * frame;
        markers->times[t] = (double)t / r->rate;
        for (int i = 0; i < r->point_count; i++) {
            double *p = markers->positions + 3 * ((size_t)t * (size_t)r->point_count + (size_t)i);
            float *residual = markers->residuals + (size_t)t * (size_t)r->point_count + (size_t)i;
            bool seen = read_point(r, at + 4 * number * (size_t)i, p, residual);
            known |= *residual > 0;
            if (seen && !(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])))
                return sn_source_fail(r->source, r->error, "frame %lld: point %d is not finite",
                                      (long long)t, i);
            if (!seen) p[0] = p[1] = p[2] = NAN;
        }
    }
    if (!known) sn_free(markers->residuals), markers->residuals = NULL;
    return SINEW_OK;
}

static sinew_status read_all(c3d_reader *r, sinew_markers **markers) {
    SN_TRY(read_header(r));
    SN_TRY(read_parameters(r));
    SN_TRY(check_sizes(r));
    while (r->labels.count < r->point_count) SN_TRY(add_label(r, "", 0));
    SN_TRY(sinew_markers_create(r->point_count, (int)r->frame_count, markers, r->error));
    sinew_status status = read_data(r, *markers);
    for (int i = 0; status == SINEW_OK && i < r->point_count; i++)
        status = sinew_markers_set_name(*markers, i, r->labels.names[i], r->error);
    if (status != SINEW_OK) {
        sinew_markers_destroy(*markers);
        *markers = NULL;
        return status;
    }
    memcpy((*markers)->unit, r->unit, sizeof r->unit);
    (*markers)->up = r->up;
    return SINEW_OK;
}

static sinew_status read_markers(const sn_source *source, sinew_markers **markers,
                                 sinew_error *error) {
    c3d_reader r = {.source = source, .error = error, .labels.any_case = true};
    sinew_status status = read_all(&r, markers);
    sn_names_release(&r.labels);
    return status;
}

const sn_format sn_format_c3d = {
    .name = "C3D",
    .endings = "c3d",
    .read_markers = read_markers,
};
