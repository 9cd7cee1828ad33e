#include "random/rng.h"

#include <assert.h>
#include <stddef.h>

static const hm_class generator_class = {.kind = HMATH_KIND_GENERATOR, .name = "Generator"};
static const hm_class rng_class = {.kind = HMATH_KIND_RNG, .name = "RNG"};

hm_status hm_generator_create(hm_context *ctx, const hm_bitgen_kind *kind, uint64_t stream,
                              hm_generator **out)
{
    hm_generator *generator = NULL;
    hm_status st = hm_value_create(ctx, &generator_class, sizeof *generator, &generator);
    if (st != HMATH_OK)
        return st;
    generator->kind = kind;
    generator->stream = kind->has_stream ? stream : 0;
    *out = generator;
    return HMATH_OK;
}

hm_status hm_rng_create(hm_context *ctx, const hm_stream *stream, hm_rng **out)
{
    const size_t words = (size_t)stream->bits.kind->words;
    hm_rng *rng = NULL;
    hm_status st = hm_value_create(
        ctx, &rng_class, offsetof(hm_rng, stream.bits.state) + words * sizeof(uint64_t), &rng);
    if (st != HMATH_OK)
        return st;
    hm_stream_copy(&rng->stream, stream);
    *out = rng;
    return HMATH_OK;
}

const hm_generator *hm_generator_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_GENERATOR) ? (const hm_generator *)v : NULL;
}

const hm_rng *hm_rng_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_RNG) ? (const hm_rng *)v : NULL;
}

uint64_t hm_stream_number(const hm_stream *s)
{
    const hm_bit_state *state = &s->bits.state;
    if (s->bits.kind == &hm_pcg32)
        return state->pcg32.increment >> 1;
    if (s->bits.kind == &hm_pcg64)
        return state->pcg64.increment[1] << 63 | state->pcg64.increment[0] >> 1;
    return 0;
}
