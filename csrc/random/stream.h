/*
 * A stream of random numbers: a bit generator and the standard normal that Box-Muller has left
 * over. An RNG value is a frozen stream; a draw thaws a copy, walks on, and freezes it again.
 */
#ifndef HM_STREAM_H
#define HM_STREAM_H

#include "random/bitgen.h"

typedef struct hm_stream {
    double pending; /* the next standard normal, where has_pending */
    bool has_pending;
    hm_bitgen bits; /* last, since only the words in use of its state need to exist */
} hm_stream;

static inline void hm_stream_copy(hm_stream *to, const hm_stream *from)
{
    to->pending = from->pending;
    to->has_pending = from->has_pending;
    hm_bitgen_copy(&to->bits, &from->bits);
}

static inline void hm_stream_seed(hm_stream *s, const hm_bitgen_kind *kind, uint64_t stream,
                                  uint64_t seed)
{
    s->pending = 0.0;
    s->has_pending = false;
    s->bits.kind = kind;
    kind->seed(&s->bits.state, stream, seed);
}

#endif
