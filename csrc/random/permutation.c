/*
 * Random permutations: Fisher and Yates, from the end. Position i, from n - 1 down to 1, changes
 * places with a position drawn from 0 ... i.
 *
 * R. Durstenfeld, "Algorithm 235: Random permutation", CACM 7 (1964).
 */
#include "random/distributions.h"

void hm_draw_permutation(hm_stream *s, int64_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)hm_draw_bounded(s, (uint64_t)i + 1);
        const int64_t kept = out[i];
        out[i] = out[j];
        out[j] = kept;
    }
}
