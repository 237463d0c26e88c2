#include "base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 };

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Optimal string alignment distance. Names longer than LONGEST never match. */
static int distance(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST) return INT_MAX;
    int rows[3][LONGEST + 1];
    for (size_t j = 0; j <= n; j++) rows[0][j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int p = tolower((unsigned char)a[i - 1]), q = tolower((unsigned char)b[j - 1]);
            int best = smaller(smaller(before[j], now[j - 1]) + 1, before[j - 1] + (p != q));
            if (i > 1 && j > 1 && p == tolower((unsigned char)b[j - 2]) &&
                q == tolower((unsigned char)a[i - 2]))
                best = smaller(best, earlier[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[m % 3][n];
}

const char *sn_nearest_name(const char *word, int count, const char *const *names) {
    int limit = 1 + (int)(strlen(word) / 3);
    const char *nearest = NULL;
    for (int i = 0; i < count; i++) {
        int d = distance(word, names[i]);
        if (d < limit || (d == limit && !nearest)) {
            limit = d;
            nearest = names[i];
        }
    }
    return nearest;
}

void sn_name_hint(const char *word, int count, const char *const *names,
                  char hint[SN_NAME_HINT_SIZE]) {
    const char *nearest = sn_nearest_name(word, count, names);
    if (nearest) {
        snprintf(hint, SN_NAME_HINT_SIZE, "did you mean '%.160s'?", nearest);
        return;
    }
    int used = snprintf(hint, SN_NAME_HINT_SIZE, "it has %d", count);
    for (int i = 0; i < count; i++) {
        if (used > SN_NAME_HINT_SIZE - 64) {
            strcpy(hint + used, ", ...");
            return;
        }
        used += snprintf(hint + used, (size_t)(SN_NAME_HINT_SIZE - used), "%s%.40s",
                         i ? ", " : ": ", names[i]);
    }
}
