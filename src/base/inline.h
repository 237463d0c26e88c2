/* Functions that become other kernels with the constants of each caller, and must be inlined there.
 * A coverage build (scripts/coverage) counts their branches once, not once for every caller. */
#ifndef SN_BASE_INLINE_H
#define SN_BASE_INLINE_H

#ifdef SN_COVERAGE
#define SN_ALWAYS_INLINE static __attribute__((noinline, unused))
#else
#define SN_ALWAYS_INLINE static inline __attribute__((always_inline))
#endif

#endif
