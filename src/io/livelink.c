/* Live Link Face takes: CSV "Timecode,BlendShapeCount,EyeBlinkLeft,...", recognised by its header.
 *
 * A timecode HH:MM:SS:FF.fff counts frames within the second, and the file does not state how many
 * a second has: the smallest of 24, 25, 30, 50, 60, 120 above the largest FF, and at least 60 when
 * the take never enters a new second. Times start at 0. Rows whose time does not advance (repeated
 * or dropped timecodes) are left out. All columns after the count become channels, the head and eye
 * angles (radians) too. */
#include <math.h>

#include "io/curves_csv.h"

static bool recognise(const sn_source *source) {
    sn_text text = sn_text_open(source, NULL);
    const char *cell;
    if (!sn_csv_next_row(&text)) return false;
    size_t length = sn_csv_cell(&text, &cell);
    return sn_text_is(cell, length, "Timecode");
}

typedef struct timecode {
    int64_t seconds; /* of the day */
    double frames;
} timecode;

static sinew_status read_timecode(sn_text *text, timecode *code) {
    const char *cell;
    size_t length = sn_csv_cell(text, &cell);
    const char *at = cell, *end = cell + length;
    int64_t fields[3];
    bool good = true;
    for (int i = 0; good && i < 3; i++) {
        good = at < end && *at >= '0' && *at <= '9' && sn_integer(&at, &fields[i]) &&
               fields[i] < (i == 0 ? 24 : 60) && (*at == ':' || *at == ';');
        at++;
    }
    good = good && at < end && *at >= '0' && *at <= '9' && sn_number(&at, &code->frames) &&
           at == end && code->frames < 240;
    if (!good)
        return sn_text_fail(text, "'%.*s' is not a timecode HH:MM:SS:FF.fff",
                            (int)(length < 40 ? length : 40), cell);
    code->seconds = fields[0] * 3600 + fields[1] * 60 + fields[2];
    return SINEW_OK;
}

static double frame_rate(double largest, bool new_second) {
    static const double rates[] = {24, 25, 30, 50, 60, 120};
    for (int i = 0; i < 6; i++)
        if (rates[i] > largest && (new_second || rates[i] >= 60)) return rates[i];
    return 240;
}

/* The first pass over the rows finds the rate. */
static sinew_status find_rate(sn_text text, double *rate) {
    double largest = 0;
    int64_t first = -1;
    bool new_second = false;
    while (sn_csv_next_row(&text)) {
        timecode code;
        SN_TRY(read_timecode(&text, &code));
        if (first < 0) first = code.seconds;
        new_second |= code.seconds != first;
        largest = fmax(largest, floor(code.frames));
        sn_text_next_line(&text);
    }
    *rate = frame_rate(largest, new_second);
    return SINEW_OK;
}

static sinew_status read_rows(sn_table *table, sn_text *text, double rate) {
    double first = 0, day = 0, last = 0;
    size_t seen = 0;
    while (sn_csv_next_row(text)) {
        timecode code;
        double count;
        SN_TRY(read_timecode(text, &code));
        SN_TRY(sn_csv_number(text, "a shape count", true, &count));
        double time = (double)code.seconds + code.frames / rate + day;
        /* past midnight the clock starts again */
        if (seen > 0 && time < last - 43200) day += 86400, time += 86400;
        if (seen++ == 0) first = time;
        last = time;
        if (table->row_count > 0 && time - first <= table->times[table->row_count - 1]) {
            sn_text_next_line(text);
            continue;
        }
        double *row = sn_table_add_row(table, (size_t)table->names.count, time - first);
        if (!row) return sn_no_memory(text->error);
        for (int i = 0; i < table->names.count; i++)
            SN_TRY(sn_csv_number(text, "a weight", false, &row[i]));
        SN_TRY(sn_csv_row_end(text));
    }
    return SINEW_OK;
}

static sinew_status read_table(const sn_source *source, sn_table *table, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    const char *cell;
    if (!sn_csv_next_row(&text)) return sn_text_fail(&text, "is empty");
    sn_csv_cell(&text, &cell);
    size_t length = sn_csv_cell(&text, &cell);
    if (!sn_text_is(cell, length, "BlendShapeCount"))
        return sn_text_fail(&text, "the second column of a Live Link take must be BlendShapeCount");
    SN_TRY(sn_table_read_names(table, &text));
    double rate;
    SN_TRY(find_rate(text, &rate));
    return read_rows(table, &text, rate);
}

static sinew_status read_curves(const sn_source *source, sinew_curves **curves,
                                sinew_error *error) {
    sn_table table = {0};
    sinew_status status = read_table(source, &table, error);
    if (status == SINEW_OK) status = sn_table_build_curves(&table, source, curves, error);
    sn_table_free(&table);
    return status;
}

const sn_format sn_format_livelink = {
    .name = "Live Link Face CSV",
    .endings = "csv",
    .recognise = recognise,
    .read_curves = read_curves,
};
