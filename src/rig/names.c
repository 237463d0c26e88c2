/* Names of sliders in the conventions found in the wild: Apple's ARKit (browDownLeft), Live Link
 * Face (BrowDownLeft), ICT-FaceKit and Face Cap (browDown_L), MakeHuman (eye-left-closure), and the
 * action units of FACS (AU4). */
#include "rig/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sinew/rig.h"

static const char *const ARKIT[SINEW_ARKIT_COUNT] = {
    "browDownLeft",      "browDownRight",      "browInnerUp",         "browOuterUpLeft",
    "browOuterUpRight",  "cheekPuff",          "cheekSquintLeft",     "cheekSquintRight",
    "eyeBlinkLeft",      "eyeBlinkRight",      "eyeLookDownLeft",     "eyeLookDownRight",
    "eyeLookInLeft",     "eyeLookInRight",     "eyeLookOutLeft",      "eyeLookOutRight",
    "eyeLookUpLeft",     "eyeLookUpRight",     "eyeSquintLeft",       "eyeSquintRight",
    "eyeWideLeft",       "eyeWideRight",       "jawForward",          "jawLeft",
    "jawOpen",           "jawRight",           "mouthClose",          "mouthDimpleLeft",
    "mouthDimpleRight",  "mouthFrownLeft",     "mouthFrownRight",     "mouthFunnel",
    "mouthLeft",         "mouthLowerDownLeft", "mouthLowerDownRight", "mouthPressLeft",
    "mouthPressRight",   "mouthPucker",        "mouthRight",          "mouthRollLower",
    "mouthRollUpper",    "mouthShrugLower",    "mouthShrugUpper",     "mouthSmileLeft",
    "mouthSmileRight",   "mouthStretchLeft",   "mouthStretchRight",   "mouthUpperUpLeft",
    "mouthUpperUpRight", "noseSneerLeft",      "noseSneerRight",      "tongueOut"};

const char *sinew_arkit_name(int index) {
    return index >= 0 && index < SINEW_ARKIT_COUNT ? ARKIT[index] : NULL;
}

/* The side a whole word names. A single letter counts at the ends of a name only: "viseme_R" may be
 * a side, the r of "eye_r_wide" too rarely is. */
static sn_side side_of_word(const char *word, size_t length, bool at_end) {
    if (length == 4 && strncasecmp(word, "left", 4) == 0) return SN_SIDE_LEFT;
    if (length == 5 && strncasecmp(word, "right", 5) == 0) return SN_SIDE_RIGHT;
    if (at_end && length == 1 && tolower((unsigned char)*word) == 'l') return SN_SIDE_LEFT;
    if (at_end && length == 1 && tolower((unsigned char)*word) == 'r') return SN_SIDE_RIGHT;
    return SN_SIDE_NONE;
}

static size_t word_length(const char *text) {
    size_t n = 1;
    while (isalnum((unsigned char)text[n]) &&
           !(isupper((unsigned char)text[n]) && islower((unsigned char)text[n - 1])))
        n++;
    return n;
}

static const char *skip_separators(const char *text) {
    while (*text && !isalnum((unsigned char)*text)) text++;
    return text;
}

sn_name sn_name_parse(const char *name) {
    sn_name parsed = {.side = SN_SIDE_NONE};
    size_t used = 0;
    bool first = true;
    const char *word = skip_separators(name);
    while (*word) {
        size_t length = word_length(word);
        const char *next = skip_separators(word + length);
        sn_side side = SN_SIDE_NONE;
        /* A name that is nothing but a side keeps it as its word. */
        if (parsed.side == SN_SIDE_NONE && !(first && !*next))
            side = side_of_word(word, length, first || !*next);
        if (side != SN_SIDE_NONE) {
            parsed.side = side;
        } else {
            for (size_t i = 0; i < length && used + 1 < sizeof parsed.base; i++)
                parsed.base[used++] = (char)tolower((unsigned char)word[i]);
        }
        first = false;
        word = next;
    }
    /* Spelled in one case there are no words to cut: "MOUTHSMILELEFT". */
    if (parsed.side == SN_SIDE_NONE) {
        if (used > 4 && strcmp(parsed.base + used - 4, "left") == 0) {
            parsed.side = SN_SIDE_LEFT;
            used -= 4;
        } else if (used > 5 && strcmp(parsed.base + used - 5, "right") == 0) {
            parsed.side = SN_SIDE_RIGHT;
            used -= 5;
        }
    }
    parsed.base[used] = 0;
    return parsed;
}

/* Units that ARKit has one motion for, as parsed words. Left out: units of several motions (28,
 * lips sucked in; 61, eyes to the left) and those that ARKit does not tell from another (27, 13,
 * 25). */
static const struct {
    int unit;
    const char *facs, *arkit;
} FACS[] = {
    {1, "innerbrowraiser", "browinnerup"},
    {2, "outerbrowraiser", "browouterup"},
    {4, "browlowerer", "browdown"},
    {5, "upperlidraiser", "eyewide"},
    {6, "cheekraiser", "cheeksquint"},
    {7, "lidtightener", "eyesquint"},
    {8, "lipstowardeachother", "mouthclose"},
    {9, "nosewrinkler", "nosesneer"},
    {10, "upperlipraiser", "mouthupperup"},
    {12, "lipcornerpuller", "mouthsmile"},
    {14, "dimpler", "mouthdimple"},
    {15, "lipcornerdepressor", "mouthfrown"},
    {16, "lowerlipdepressor", "mouthlowerdown"},
    {17, "chinraiser", "mouthshruglower"},
    {18, "lippucker", "mouthpucker"},
    {19, "tongueshow", "tongueout"},
    {20, "lipstretcher", "mouthstretch"},
    {22, "lipfunneler", "mouthfunnel"},
    {24, "lippressor", "mouthpress"},
    {26, "jawdrop", "jawopen"},
    {29, "jawthrust", "jawforward"},
    {30, "jawsideways", "jaw"},
    {34, "cheekpuffer", "cheekpuff"},
    {43, "eyesclosed", "eyeblink"},
    {45, "blink", "eyeblink"},
    {63, "eyesup", "eyelookup"},
    {64, "eyesdown", "eyelookdown"},
};

/* The number of "au12", "au12l" or "au01", and the side behind it; 0: none. */
static int unit_of(const char *base, sn_side *side) {
    if (strncmp(base, "au", 2) != 0) return 0;
    size_t digits = strspn(base + 2, "0123456789");
    const char *rest = base + 2 + digits;
    if (digits < 1 || digits > 2) return 0;
    if (*rest) {
        sn_side behind = *rest == 'l' ? SN_SIDE_LEFT : *rest == 'r' ? SN_SIDE_RIGHT : SN_SIDE_NONE;
        if (rest[1] || behind == SN_SIDE_NONE || *side == sn_side_other(behind)) return 0;
        *side = behind;
    }
    return atoi(base + 2);
}

void sn_name_translate_facs(sn_name *name) {
    sn_side side = name->side;
    int unit = unit_of(name->base, &side);
    for (size_t i = 0; i < sizeof FACS / sizeof *FACS; i++)
        if (unit ? FACS[i].unit == unit : strcmp(FACS[i].facs, name->base) == 0) {
            memcpy(name->base, FACS[i].arkit, strlen(FACS[i].arkit) + 1);
            name->side = side;
            return;
        }
}

const char *sn_name_group(const char *name) {
    /* The first word found wins, so "eyebrow" precedes "eye". */
    static const struct {
        const char *word, *group;
    } groups[] = {
        {"brow", "brow"},    {"forehead", "brow"}, {"eye", "eyes"},    {"lid", "eyes"},
        {"pupil", "eyes"},   {"blink", "eyes"},    {"nose", "nose"},   {"nostril", "nose"},
        {"sneer", "nose"},   {"cheek", "cheeks"},  {"puff", "cheeks"}, {"tongue", "tongue"},
        {"jaw", "jaw"},      {"chin", "jaw"},      {"mouth", "mouth"}, {"lip", "mouth"},
        {"viseme", "mouth"}, {"smile", "mouth"},   {"smirk", "mouth"}, {"frown", "mouth"},
        {"pucker", "mouth"}, {"head", "head"},     {"neck", "head"}};
    sn_name parsed = sn_name_parse(name);
    sn_name_translate_facs(&parsed);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strstr(parsed.base, groups[i].word)) return groups[i].group;
    return NULL;
}
