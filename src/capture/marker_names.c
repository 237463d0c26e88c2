#include "capture/marker_names.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"

/* What words mean. */
enum {
    BROW = 1,
    EYE = 2,
    NOSE = 4,
    WING = 8,
    BRIDGE = 16,
    MOUTH = 32,
    CORNER = 64,
    CHEEK = 128,
    CHIN = 256,
    JAW = 512,
    FOREHEAD = 1 << 10,
    TEMPLE = 1 << 11,
    EAR = 1 << 12,
    HEAD = 1 << 13,
    UP = 1 << 14,
    DOWN = 1 << 15,
    INNER = 1 << 16,
    OUTER = 1 << 17,
    MIDDLE = 1 << 18,
    LEFT = 1 << 19,
    RIGHT = 1 << 20,
    TIP = 1 << 21,
    BASE = 1 << 22,
    BESIDE = 1 << 23, /* "side": beside the point that the rest names */
    NOTHING = 1 << 24 /* a word without a place */
};

/* Longer words first where one begins with another. A run of letters counts only where it is made
 * of words as a whole ("LOBR" is left, outer and brow). */
static const struct {
    const char *word;
    int meaning;
} words[] = {
    {"forehead", FOREHEAD},
    {"eyebrow", BROW},
    {"frhd", FOREHEAD},
    {"fhd", FOREHEAD},
    {"fh", FOREHEAD},
    {"glabella", BROW | MIDDLE},
    {"brow", BROW},
    {"brw", BROW},
    {"bro", BROW},
    {"br", BROW},
    {"bm", BROW | MIDDLE},
    {"endocanthion", EYE | INNER},
    {"exocanthion", EYE | OUTER},
    {"canthus", EYE},
    {"eyelid", EYE},
    {"eyes", EYE},
    {"eye", EYE},
    {"lids", EYE},
    {"lid", EYE},
    {"palpebrale", EYE},
    {"palpebra", EYE},
    {"ey", EYE},
    {"nosebridge", NOSE | BRIDGE},
    {"nostril", NOSE | WING},
    {"nstrl", NOSE | WING},
    {"nasion", NOSE | BRIDGE},
    {"pronasale", NOSE | TIP},
    {"subnasale", NOSE | BASE},
    {"sellion", NOSE | BRIDGE},
    {"bridge", BRIDGE},
    {"wing", WING},
    {"alare", WING},
    {"alar", WING},
    {"ala", WING},
    {"tnose", NOSE | TIP},
    {"nose", NOSE},
    {"nos", NOSE},
    {"mouth", MOUTH},
    {"mth", MOUTH},
    {"mou", MOUTH},
    {"lips", MOUTH},
    {"lip", MOUTH},
    {"lp", MOUTH},
    {"labiale", MOUTH},
    {"labrale", MOUTH},
    {"mt", MOUTH},
    {"cheilion", MOUTH | CORNER},
    {"corner", CORNER},
    {"crnr", CORNER},
    {"crn", CORNER},
    {"end", CORNER},
    {"cheek", CHEEK},
    {"chk", CHEEK},
    {"ck", CHEEK},
    {"zygomatic", CHEEK | OUTER},
    {"zygion", CHEEK | OUTER},
    {"cheekbone", CHEEK | OUTER},
    {"zygoma", CHEEK},
    {"zygo", CHEEK},
    {"chin", CHIN},
    {"chn", CHIN},
    {"ch", CHIN},
    {"pogonion", CHIN},
    {"gnathion", CHIN | DOWN},
    {"menton", CHIN | DOWN},
    {"gonion", JAW},
    {"jaw", JAW},
    {"mandible", JAW},
    {"temple", TEMPLE},
    {"tmpl", TEMPLE},
    {"tmp", TEMPLE},
    {"tragion", EAR},
    {"tragus", EAR},
    {"ear", EAR},
    {"head", HEAD},
    {"hd", HEAD},
    {"upper", UP},
    {"uppr", UP},
    {"upr", UP},
    {"superior", UP},
    {"superius", UP},
    {"top", UP},
    {"up", UP},
    {"lower", DOWN},
    {"lwr", DOWN},
    {"lowr", DOWN},
    {"inferior", DOWN},
    {"inferius", DOWN},
    {"low", DOWN},
    {"bottom", DOWN},
    {"bot", DOWN},
    {"down", DOWN},
    {"dn", DOWN},
    {"inner", INNER},
    {"inside", INNER},
    {"inr", INNER},
    {"medial", INNER},
    {"med", INNER},
    {"in", INNER},
    {"outer", OUTER},
    {"outside", OUTER},
    {"otr", OUTER},
    {"lateral", OUTER},
    {"lat", OUTER},
    {"out", OUTER},
    {"middle", MIDDLE},
    {"center", MIDDLE},
    {"centre", MIDDLE},
    {"mid", MIDDLE},
    {"ctr", MIDDLE},
    {"cntr", MIDDLE},
    {"cen", MIDDLE},
    {"left", LEFT},
    {"lft", LEFT},
    {"lf", LEFT},
    {"lt", LEFT},
    {"right", RIGHT},
    {"rgt", RIGHT},
    {"rght", RIGHT},
    {"rt", RIGHT},
    {"tip", TIP},
    {"base", BASE},
    {"side", BESIDE},
    {"marker", NOTHING},
    {"point", NOTHING},
    {"face", NOTHING},
    {"facial", NOTHING},
    {"landmark", NOTHING},
    {"mkr", NOTHING},
    {"l", LEFT},
    {"r", RIGHT},
    {"m", MIDDLE},
    {"c", MIDDLE},
    {"u", UP},
    {"d", DOWN},
    {"i", INNER},
    {"o", OUTER},
};
enum { WORDS = sizeof words / sizeof *words };

/* Meaning of a run of letters that is made of known words only; -1 when it is not. Longest first;
 * tries shorter words where the rest does not fit. */
static int meaning_of(const char *text, size_t length) {
    if (length == 0) return 0;
    for (size_t size = length; size > 0; size--)
        for (int i = 0; i < WORDS; i++) {
            if (strlen(words[i].word) != size || strncmp(words[i].word, text, size) != 0) continue;
            int rest = meaning_of(text + size, length - size);
            if (rest >= 0) return words[i].meaning | rest;
        }
    return -1;
}

/* Without the subject's prefix. */
static const char *base_of(const char *name) {
    const char *colon = strrchr(name, ':');
    return colon && colon[1] ? colon + 1 : name;
}

enum { RUN = 32 };

/* The next run of letters of a name, cut where a capital follows a small letter, in small letters;
 * *name goes past it. False: there is none. */
static bool next_run(const char **name, char run[RUN]) {
    size_t length = 0;
    while (**name && !isalpha((unsigned char)**name)) ++*name;
    if (!**name) return false;
    do {
        if (length + 1 < RUN) run[length++] = (char)tolower((unsigned char)**name);
        ++*name;
    } while (isalpha((unsigned char)**name) &&
             !(isupper((unsigned char)**name) && islower((unsigned char)(*name)[-1])));
    run[length] = '\0';
    return true;
}

static int meaning_of_name(const char *name) {
    char run[RUN];
    int all = 0;
    name = base_of(name);
    while (next_run(&name, run)) {
        int meaning = meaning_of(run, strlen(run));
        if (meaning > 0) all |= meaning;
    }
    return all;
}

static int landmark_of(int m, bool sided) {
    if (m & BESIDE && !(m & MOUTH)) return -1;
    if (m & BROW) {
        if (!sided) return m & (INNER | OUTER) ? -1 : SINEW_LANDMARK_BROW_CENTER;
        return m & INNER   ? SINEW_LANDMARK_BROW_INNER
               : m & OUTER ? SINEW_LANDMARK_BROW_OUTER
                           : SINEW_LANDMARK_BROW_MIDDLE;
    }
    if (m & FOREHEAD) return sided ? SINEW_LANDMARK_FOREHEAD_SIDE : SINEW_LANDMARK_FOREHEAD;
    if (m & EYE) {
        if (!sided) return -1;
        bool corner = !(m & (UP | DOWN));
        return corner && m & INNER   ? SINEW_LANDMARK_EYE_INNER
               : corner && m & OUTER ? SINEW_LANDMARK_EYE_OUTER
               : m & DOWN            ? SINEW_LANDMARK_LID_LOWER
                                     : SINEW_LANDMARK_LID_UPPER;
    }
    if (m & (NOSE | BRIDGE | WING)) {
        if (m & BRIDGE || (m & UP && !sided)) return sided ? -1 : SINEW_LANDMARK_NOSE_BRIDGE;
        if (sided) return m & (UP | MIDDLE) ? -1 : SINEW_LANDMARK_NOSE_WING;
        return m & (BASE | DOWN) ? SINEW_LANDMARK_NOSE_BASE
               : m & MIDDLE      ? -1
                                 : SINEW_LANDMARK_NOSE_TIP;
    }
    if (m & MOUTH) {
        if (m & CORNER) return sided ? SINEW_LANDMARK_MOUTH_CORNER : -1;
        if (m & UP) return sided ? SINEW_LANDMARK_LIP_UPPER_SIDE : SINEW_LANDMARK_LIP_UPPER;
        if (m & DOWN) return sided ? SINEW_LANDMARK_LIP_LOWER_SIDE : SINEW_LANDMARK_LIP_LOWER;
        return sided ? SINEW_LANDMARK_MOUTH_CORNER : -1;
    }
    if (m & CHIN) return sided || m & DOWN ? -1 : SINEW_LANDMARK_CHIN;
    if (m & CHEEK) return sided && !(m & (UP | INNER | OUTER)) ? SINEW_LANDMARK_CHEEK : -1;
    if (m & TEMPLE) return sided ? SINEW_LANDMARK_TEMPLE : -1;
    return -1;
}

static sn_margin margin_of(int m, int landmark) {
    if (!(m & UP) == !(m & DOWN)) return SN_MARGIN_NONE;
    bool upper = m & UP;
    if (landmark == SINEW_LANDMARK_LID_UPPER || landmark == SINEW_LANDMARK_LID_LOWER)
        return upper ? SN_MARGIN_LID_UPPER : SN_MARGIN_LID_LOWER;
    if (m & MOUTH && !(m & CORNER)) return upper ? SN_MARGIN_LIP_UPPER : SN_MARGIN_LIP_LOWER;
    return SN_MARGIN_NONE;
}

static sn_marker_name name_of(int m) {
    bool left = m & LEFT && !(m & RIGHT), right = m & RIGHT && !(m & LEFT);
    sn_marker_name parsed = {landmark_of(m, left || right),
                             left    ? SINEW_SIDE_LEFT
                             : right ? SINEW_SIDE_RIGHT
                                     : SINEW_SIDE_NONE,
                             (m & (FOREHEAD | TEMPLE | EAR | HEAD | BRIDGE)) != 0 ||
                                 ((m & NOSE) && (m & UP)),
                             SN_MARGIN_NONE, NAN};
    parsed.margin = margin_of(m, parsed.landmark);
    if (parsed.margin == SN_MARGIN_LID_UPPER || parsed.margin == SN_MARGIN_LID_LOWER)
        parsed.along = m & INNER ? 0.25 : m & OUTER ? 0.75 : 0.5;
    if (m & (MOUTH | CHEEK | CHIN | JAW | BROW | EYE)) parsed.stable = false;
    if ((m & NOSE) && (m & HEAD)) parsed.stable = false; /* the head of the nose is its tip */
    return parsed;
}

sn_marker_name sn_marker_name_parse(const char *name) {
    return name_of(meaning_of_name(name));
}

static bool has_name(const sinew_markers *take, const char *name) {
    for (int i = 0; i < take->marker_count; i++)
        if (!strcasecmp(take->names[i], name)) return true;
    return false;
}

/* Whether the take has the same name with another letter there. */
static bool has_other(const sinew_markers *take, char *name, size_t at, char letter) {
    char kept = name[at];
    name[at] = letter;
    bool found = has_name(take, name);
    name[at] = kept;
    return found;
}

static bool stands_alone(const char *name, size_t start, size_t at, size_t length) {
    return (at == start || !isalpha((unsigned char)name[at - 1])) &&
           !isalpha((unsigned char)name[at + length]);
}

/* "LLIP" beside "ULIP" and without "RLIP" is the lower lip, and "LLLID" beside "LULID" the left
 * lower one: an L means lower, not left, when the take has the same name with an upper and none
 * with a right. So does "lo" without "ro". Such letters become a D. */
static void tell_lower(const sinew_markers *take, char *name) {
    size_t length = strlen(name), start = (size_t)(base_of(name) - name);
    char lower[160];
    snprintf(lower, sizeof lower, "%s", name);
    for (size_t at = start; at < length; at++) {
        if (tolower((unsigned char)name[at]) != 'l' || has_other(take, name, at, 'r')) continue;
        bool low = at + 1 < length && tolower((unsigned char)name[at + 1]) == 'o' &&
                   stands_alone(name, start, at, 2);
        if (low || has_other(take, name, at, 'u')) lower[at] = 'd';
        if (low) lower[at + 1] = 'n';
    }
    snprintf(name, length + 1, "%s", lower);
}

/* A name with a word that is not known, unless most names have it, as that of the actor. */
static bool is_partly_known(const sinew_markers *take, const char *name) {
    char run[RUN], other[RUN];
    for (name = base_of(name); next_run(&name, run);) {
        int share = 0;
        if (meaning_of(run, strlen(run)) >= 0) continue;
        for (int i = 0; i < take->marker_count; i++) {
            const char *rest = base_of(take->names[i]);
            bool has = false;
            while (!has && next_run(&rest, other)) has = !strcmp(run, other);
            share += has;
        }
        if (2 * share <= take->marker_count) return true;
    }
    return false;
}

void sn_marker_names_of(const sinew_markers *take, sn_marker_name *names) {
    for (int i = 0; i < take->marker_count; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s", take->names[i]);
        if (strlen(take->names[i]) < sizeof name) tell_lower(take, name);
        names[i] = name_of(meaning_of_name(name));
        /* what is not known may be a side */
        if (names[i].side == SINEW_SIDE_NONE && is_partly_known(take, name))
            names[i].landmark = -1, names[i].margin = SN_MARGIN_NONE, names[i].along = NAN;
    }
}

double sn_landmark_weight(int landmark) {
    switch (landmark) {
    case SINEW_LANDMARK_EYE_INNER:
    case SINEW_LANDMARK_EYE_OUTER:
    case SINEW_LANDMARK_MOUTH_CORNER:
    case SINEW_LANDMARK_NOSE_TIP:
        return 1;
    case SINEW_LANDMARK_LIP_UPPER:
    case SINEW_LANDMARK_LIP_LOWER:
    case SINEW_LANDMARK_LID_UPPER:
    case SINEW_LANDMARK_LID_LOWER:
        return 0.7;
    case SINEW_LANDMARK_CHIN:
    case SINEW_LANDMARK_NOSE_BRIDGE:
    case SINEW_LANDMARK_BROW_INNER:
    case SINEW_LANDMARK_BROW_OUTER:
    case SINEW_LANDMARK_BROW_MIDDLE:
    case SINEW_LANDMARK_BROW_CENTER:
    case SINEW_LANDMARK_NOSE_WING:
    case SINEW_LANDMARK_NOSE_BASE:
        return 0.5;
    case SINEW_LANDMARK_LIP_UPPER_SIDE:
    case SINEW_LANDMARK_LIP_LOWER_SIDE:
        return 0.4;
    default:
        return 0.1;
    }
}

/* ---- one face of a recording ----------------------------------------------------------------- */

/* As recording systems call what they could not label. */
static bool has_label(const char *name) {
    static const char *const none[] = {"unlabel", "unnamed", "uname", "unidentified"};
    const char *base = base_of(name);
    if (*base == '*' || *base == '\0') return false;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (!strncasecmp(base, none[i], strlen(none[i]))) return false;
    return true;
}

static bool same_subject(const char *a, const char *b) {
    size_t length = (size_t)(base_of(a) - a);
    return (size_t)(base_of(b) - b) == length && !strncmp(a, b, length);
}

static int *count_seen(const sinew_markers *take) {
    size_t n = (size_t)take->marker_count;
    int *seen = SN_NEW0(int, n);
    for (size_t k = 0; seen && k < n * (size_t)take->time_count; k++)
        seen[k % n] += isfinite(take->positions[3 * k]) != 0;
    return seen;
}

/* A label that two subjects have, both seen. */
static bool shares_labels(const sinew_markers *take, const int *seen, const bool *chosen) {
    for (int i = 0; i < take->marker_count; i++)
        for (int j = 0; chosen[i] && seen[i] && j < i; j++)
            if (chosen[j] && seen[j] && !strcmp(base_of(take->names[i]), base_of(take->names[j])) &&
                !same_subject(take->names[i], take->names[j]))
                return true;
    return false;
}

sinew_status sn_marker_names_choose(const sinew_markers *take, bool *chosen,
                                    sn_marker_choice *choice, sinew_error *error) {
    int n = take->marker_count, *seen = count_seen(take);
    *choice = (sn_marker_choice){0};
    if (!seen) return sn_no_memory(error);
    for (int i = 0; i < n; i++) choice->unlabeled += !(chosen[i] = has_label(take->names[i]));
    if (choice->unlabeled == n) {
        choice->unlabeled = 0;
        for (int i = 0; i < n; i++) chosen[i] = true;
    }
    double most = 0;
    bool several = shares_labels(take, seen, chosen);
    for (int i = 0; several && i < n; i++) {
        double total = 0;
        for (int j = 0; chosen[i] && j < n; j++)
            if (chosen[j] && same_subject(take->names[i], take->names[j])) total += seen[j];
        if (total > most) most = total, choice->subject = take->names[i];
    }
    for (int i = 0; several && i < n; i++)
        if (chosen[i] && !same_subject(take->names[i], choice->subject))
            chosen[i] = false, choice->others++;
    sn_free(seen);
    return SINEW_OK;
}
