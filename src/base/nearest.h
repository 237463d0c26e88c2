/* Finds the name that a misspelled one probably meant. */
#ifndef SN_BASE_NEAREST_H
#define SN_BASE_NEAREST_H

/* The name with the smallest edit distance from `word` (insertions, removals, substitutions and
 * swaps of adjacent letters) if it is at most a third of the word's length; otherwise NULL. Ignores
 * case. */
const char *sn_nearest_name(const char *word, int count, const char *const *names);

/* For messages about an unknown name: "did you mean 'x'?" if one is close, otherwise "it has 6: a,
 * b, ..." */
enum { SN_NAME_HINT_SIZE = 192 };
void sn_name_hint(const char *word, int count, const char *const *names,
                  char hint[SN_NAME_HINT_SIZE]);

#endif
