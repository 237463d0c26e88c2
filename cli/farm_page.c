/* The table of a farm as a page: a bar per shot, the frames that did not converge, and the contact
 * sheets of finished shots. It needs no other file once the farm has ended; while it runs, the page
 * reloads itself and refers to the sheets. */
#include <stdio.h>
#include <string.h>

#include "farm.h"

enum { EMBEDDED_SHEETS = 200 }; /* further ones are referred to */

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    /* Nothing in the page can load or run anything. */
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' "
    "data: file:; style-src 'unsafe-inline'\">\n"
    "<title>Sinew farm</title>\n<style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;"
    "color:#1d2733;background:#f7f8fa}\n"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}\n"
    "p{margin:.3rem 0}\n"
    "table{border-collapse:collapse;width:100%;background:#fff}\n"
    "th,td{text-align:left;padding:.35rem .7rem;border-bottom:1px solid #e3e7ec;"
    "vertical-align:middle}\n"
    "th{font-weight:600;color:#55606e}td.n,th.n{text-align:right;font-variant-numeric:"
    "tabular-nums}\n"
    "td.why{color:#55606e;overflow-wrap:anywhere;max-width:28rem}\n"
    ".bar{display:flex;height:.9rem;width:16rem;background:#e3e7ec;border-radius:3px;"
    "overflow:hidden}\n"
    ".bar i{display:block;background:#2f8f5b}.bar i.bad{background:#c23b3b}\n"
    ".bar i.slack{background:#d99a1c}\n"
    ".failed,.stopped{color:#b02a2a;font-weight:600}.slack{color:#94660a;font-weight:600}\n"
    ".sheets{display:grid;grid-template-columns:repeat(auto-fill,minmax(22rem,1fr));gap:1rem}\n"
    "figure{margin:0;background:#fff;border:1px solid #e3e7ec;border-radius:4px;padding:.5rem}\n"
    "figure img{width:100%;display:block}figcaption{font-weight:600;padding-top:.3rem}\n"
    "</style>\n";

/* Text of a shot in the page: it can never become an element. */
static void put_text(FILE *out, const char *text) {
    for (; text && *text; text++) switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static const char *text_at(const json_t *row, const char *key) {
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static double number_at(const json_t *row, const char *key) {
    return json_number_value(json_object_get(row, key));
}

static void put_duration(FILE *out, double seconds) {
    if (seconds < 90)
        fprintf(out, "%.0f s", seconds);
    else if (seconds < 5400)
        fprintf(out, "%.0f min", seconds / 60);
    else
        fprintf(out, "%.1f h", seconds / 3600);
}

static void put_row(FILE *out, const json_t *row) {
    double frames = number_at(row, "frames"), share = frames > 0 ? 100 / frames : 0;
    const char *state = text_at(row, "state");
    bool slack = !strcmp(state, "not converged"), failed = !strcmp(state, "failed");
    fputs("<tr><td>", out);
    put_text(out, text_at(row, "shot"));
    fprintf(out,
            "</td><td><div class=\"bar\" title=\"%.0f of %.0f frames\"><i%s "
            "style=\"width:%.2f%%\"></i><i class=\"bad\" style=\"width:%.2f%%\"></i></div></td>",
            number_at(row, "done"), frames, slack ? " class=\"slack\"" : "",
            share * number_at(row, "done"),
            failed && frames <= 0 ? 100 : share * number_at(row, "failed"));
    fprintf(out, "<td class=\"n\">%.0f / %.0f</td><td class=\"n\">%.1f</td><td class=\"%s\">",
            number_at(row, "done"), frames, number_at(row, "seconds"),
            slack    ? "slack"
            : failed ? "failed"
                     : "state");
    put_text(out, state);
    fputs("</td><td class=\"why\">", out);
    put_text(out, text_at(row, "reason"));
    fputs("</td></tr>\n", out);
}

static void put_slack(FILE *out, const json_t *rows) {
    size_t count = json_array_size(rows);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i), *list = json_object_get(row, "not_converged");
        if (!json_array_size(list)) continue;
        if (!any)
            fputs("<h2>Frames that did not converge</h2>\n<table><tr><th>shot</th>"
                  "<th>frames</th></tr>\n",
                  out);
        any = true;
        fputs("<tr><td>", out);
        put_text(out, text_at(row, "shot"));
        fputs("</td><td>", out);
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *range = json_array_get(list, k);
            int first = (int)json_integer_value(json_array_get(range, 0));
            int last = (int)json_integer_value(json_array_get(range, 1));
            fprintf(out, first == last ? "%s%d" : "%s%d–%d", k ? ", " : "", first, last);
        }
        fputs("</td></tr>\n", out);
    }
    if (any) fputs("</table>\n", out);
}

static void put_base64(FILE *out, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned value = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        fputc(digits[value >> 18], out), fputc(digits[value >> 12 & 63], out);
        fputc(left > 1 ? digits[value >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[value & 63] : '=', out);
    }
}

/* Shot names are file names without anything that a URL would have to escape. */
static void put_sheet(FILE *out, const char *folder, const char *name, bool embed) {
    char file[128], *bytes = NULL;
    size_t size;
    sinew_error ignored;
    snprintf(file, sizeof file, "%s/sheet.png", name);
    char *path = cli_path_join(folder, file);
    embed = embed && path && sinew_file_read(path, &bytes, &size, &ignored) == SINEW_OK;
    fputs("<figure><img loading=\"lazy\" alt=\"frames of ", out);
    put_text(out, name);
    fputs("\" src=\"", out);
    if (embed) {
        fputs("data:image/png;base64,", out);
        put_base64(out, (const unsigned char *)bytes, size);
    } else {
        put_text(out, file);
    }
    fputs("\"><figcaption>", out);
    put_text(out, name);
    fputs("</figcaption></figure>\n", out);
    sinew_free(path), sinew_free(bytes);
}

static void put_sheets(FILE *out, const json_t *rows, const char *folder, bool running) {
    int shown = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_true(json_object_get(row, "sheet"))) continue;
        if (!shown) fputs("<h2>Finished shots</h2>\n<div class=\"sheets\">\n", out);
        put_sheet(out, folder, text_at(row, "shot"), !running && shown < EMBEDDED_SHEETS);
        shown++;
    }
    if (shown) fputs("</div>\n", out);
}

static void put_summary(FILE *out, const json_t *table, bool running) {
    const json_t *rows = json_object_get(table, "shots"), *left;
    double frames = 0, done = 0;
    int finished = 0, failed = 0, count = (int)json_array_size(rows);
    for (int i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        const char *state = text_at(row, "state");
        frames += number_at(row, "frames"), done += number_at(row, "done");
        finished += !strcmp(state, "done") || !strcmp(state, "not converged");
        failed += !strcmp(state, "failed");
    }
    fprintf(out, "<p>%d of %d shots finished, %d failed; %.0f of %.0f known frames computed in ",
            finished, count, failed, done, frames);
    put_duration(out, number_at(table, "elapsed_seconds"));
    fputs(".</p>\n", out);
    if (!running) return;
    left = json_object_get(table, "seconds_left");
    fprintf(out, "<p>%.0f tasks running, %.0f waiting; time left: ", number_at(table, "running"),
            number_at(table, "waiting"));
    if (json_is_number(left))
        put_duration(out, json_number_value(left));
    else
        fputs("not known yet", out);
    fputs("</p>\n", out);
}

sinew_status farm_write_page(const json_t *table, const char *folder, bool running,
                             sinew_error *error) {
    const json_t *rows = json_object_get(table, "shots");
    cli_document page;
    CLI_TRY(cli_document_open(&page, error));
    FILE *out = page.stream;
    fputs(head, out);
    if (running) fputs("<meta http-equiv=\"refresh\" content=\"5\">\n", out);
    fputs("</head>\n<body>\n<h1>Sinew farm</h1>\n", out);
    put_summary(out, table, running);
    fputs("<h2>Shots</h2>\n<table><tr><th>shot</th><th>progress</th><th class=\"n\">frames</th>"
          "<th class=\"n\">seconds</th><th>state</th><th>reason</th></tr>\n",
          out);
    for (size_t i = 0; i < json_array_size(rows); i++) put_row(out, json_array_get(rows, i));
    fputs("</table>\n", out);
    put_slack(out, rows);
    put_sheets(out, rows, folder, running);
    fputs("</body>\n</html>\n", out);
    char *path = cli_path_join(folder, "index.html");
    sinew_status status = cli_document_write(&page, path ? path : "index.html", error);
    sinew_free(path);
    return status;
}
