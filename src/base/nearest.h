/* The name that a misspelled one probably meant. */
#ifndef SN_BASE_NEAREST_H
#define SN_BASE_NEAREST_H

/* The name with the fewest insertions, removals, changes and swaps of neighboring letters from
 * `word`, when they are few enough to be a slip (a third of its length); NULL otherwise. Case does
 * not count. */
const char *sn_nearest_name(const char *word, int count, const char *const *names);

/* For messages about a name that is not there: "did you mean 'x'?" when one is near, else "it has
 * 6: a, b, ..." */
enum { SN_NAME_HINT_SIZE = 192 };
void sn_name_hint(const char *word, int count, const char *const *names,
                  char hint[SN_NAME_HINT_SIZE]);

#endif
