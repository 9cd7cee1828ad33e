/* Values of kinds Generator (239) and RNG (240). */
#ifndef HM_RNG_H
#define HM_RNG_H

#include "random/stream.h"
#include "runtime/value.h"

/* Which generator, and of those that have streams, which one: what a seed is given to. */
typedef struct hm_generator {
    hm_value base;
    const hm_bitgen_kind *kind;
    uint64_t stream;
} hm_generator;

/* A frozen stream. Only the words in use of its state are there: copy it with hm_stream_copy. */
typedef struct hm_rng {
    hm_value base;
    hm_stream stream;
} hm_rng;

hm_status hm_generator_create(hm_context *ctx, const hm_bitgen_kind *kind, uint64_t stream,
                              hm_generator **out);
hm_status hm_rng_create(hm_context *ctx, const hm_stream *stream, hm_rng **out);

/* v as one of them, or NULL. */
const hm_generator *hm_generator_from_value(const hm_value *v);
const hm_rng *hm_rng_from_value(const hm_value *v);

/* The stream number that a state was seeded with; 0 for kinds without streams. */
uint64_t hm_stream_number(const hm_stream *s);

/* ---- the stored form, laid out in store.c ---- */

/* v is a Generator or an RNG: how many bytes its stored form has, and writing them. */
size_t hm_random_stored_size(const hm_value *v);
void hm_random_store(const hm_value *v, unsigned char *bytes);

/* Bytes from anywhere: what hm_random_store wrote, as that value again. DomainError: anything else. */
hm_status hm_random_restore(hm_context *ctx, const unsigned char *bytes, size_t size,
                            hm_value **out);

#endif
