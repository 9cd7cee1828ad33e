/*
 * The stored form of generators and their states: the same on every machine, little-endian.
 *
 *   0    "HMrandom"
 *   8    version, 1
 *   12   the generator's number
 *   16   1: an RNG; 2: a Generator
 *   20   1 where a normal is pending
 *   24   the bits of the pending normal, or 0
 *   32   an RNG: the words of its state; a Generator: its stream
 *   end  FNV-1a of all bytes before, 8 of them
 */
#include <math.h>
#include <string.h>

#include "random/rng.h"

enum { VERSION = 1, HEADER = 32, CHECKSUM = 8, AN_RNG = 1, A_GENERATOR = 2 };

static const char magic[8] = {'H', 'M', 'r', 'a', 'n', 'd', 'o', 'm'};

static void put(unsigned char *to, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(x >> 8 * i);
}

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)from[i] << 8 * i;
    return x;
}

/* Fowler, Noll, Vo: for accidents. What an enemy signs is checked word by word all the same. */
static uint64_t fnv1a(const unsigned char *bytes, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static size_t stored_size(const hm_bitgen_kind *kind, int what)
{
    return HEADER + 8 * (size_t)(what == AN_RNG ? kind->words : 1) + CHECKSUM;
}

size_t hm_random_stored_size(const hm_value *v)
{
    const hm_rng *rng = hm_rng_from_value(v);
    if (rng)
        return stored_size(rng->stream.bits.kind, AN_RNG);
    return stored_size(hm_generator_from_value(v)->kind, A_GENERATOR);
}

void hm_random_store(const hm_value *v, unsigned char *bytes)
{
    const hm_rng *rng = hm_rng_from_value(v);
    const hm_generator *generator = hm_generator_from_value(v);
    const hm_bitgen_kind *kind = rng ? rng->stream.bits.kind : generator->kind;
    const size_t size = hm_random_stored_size(v);
    uint64_t pending = 0;

    memcpy(bytes, magic, sizeof magic);
    put(bytes + 8, VERSION, 4);
    put(bytes + 12, (uint64_t)kind->number, 4);
    put(bytes + 16, rng ? AN_RNG : A_GENERATOR, 4);
    put(bytes + 20, rng && rng->stream.has_pending, 4);
    if (rng && rng->stream.has_pending)
        memcpy(&pending, &rng->stream.pending, sizeof pending);
    put(bytes + 24, pending, 8);
    if (rng)
        for (int i = 0; i < kind->words; i++)
            put(bytes + HEADER + 8 * i, rng->stream.bits.state.words[i], 8);
    else
        put(bytes + HEADER, generator->stream, 8);
    put(bytes + size - CHECKSUM, fnv1a(bytes, size - CHECKSUM), 8);
}

static hm_status refuse(hm_context *ctx, const unsigned char *bytes, int64_t at,
                        const char *requirement)
{
    return hm_fail_domain_int(ctx, "state", at, bytes[at], requirement);
}

static hm_status restore_rng(hm_context *ctx, const hm_bitgen_kind *kind,
                             const unsigned char *bytes, hm_value **out)
{
    hm_stream stream = {.bits.kind = kind, .has_pending = get(bytes + 20, 4) != 0};
    const uint64_t pending = get(bytes + 24, 8);
    memcpy(&stream.pending, &pending, sizeof pending);
    for (int i = 0; i < kind->words; i++)
        stream.bits.state.words[i] = get(bytes + HEADER + 8 * i, 8);

    /* Box-Muller cannot make a normal of 9: r is at most sqrt(-2 log 2^-53) = 8.57. */
    if (stream.has_pending ? !(fabs(stream.pending) < 9.0) : pending != 0)
        return refuse(ctx, bytes, 24, "a standard normal, or zero where none is pending");
    if (!kind->valid(&stream.bits.state))
        return refuse(ctx, bytes, HEADER, "a state that the generator can have");

    hm_rng *rng = NULL;
    hm_status st = hm_rng_create(ctx, &stream, &rng);
    if (st == HMATH_OK)
        *out = &rng->base;
    return st;
}

static hm_status restore_generator(hm_context *ctx, const hm_bitgen_kind *kind,
                                   const unsigned char *bytes, hm_value **out)
{
    const uint64_t stream = get(bytes + HEADER, 8);
    if (get(bytes + 20, 4) != 0 || get(bytes + 24, 8) != 0)
        return refuse(ctx, bytes, 20, "zero: a Generator has no pending normal");
    if (stream != 0 && !kind->has_stream)
        return refuse(ctx, bytes, HEADER, "zero: the generator has no streams");

    hm_generator *generator = NULL;
    hm_status st = hm_generator_create(ctx, kind, stream, &generator);
    if (st == HMATH_OK)
        *out = &generator->base;
    return st;
}

hm_status hm_random_restore(hm_context *ctx, const unsigned char *bytes, size_t size,
                            hm_value **out)
{
    if (size < HEADER + CHECKSUM)
        return hm_fail_dimension(ctx, "state", HEADER + CHECKSUM, (int64_t)size);
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return refuse(ctx, bytes, 0, "a stored random state");
    if (get(bytes + 8, 4) != VERSION)
        return refuse(ctx, bytes, 8, "version 1");
    const uint64_t number = get(bytes + 12, 4), what = get(bytes + 16, 4);
    const hm_bitgen_kind *kind =
        number <= INT32_MAX ? hm_bitgen_kind_by_number((int32_t)number) : NULL;
    if (!kind)
        return refuse(ctx, bytes, 12, "the number of a generator");
    if (what != AN_RNG && what != A_GENERATOR)
        return refuse(ctx, bytes, 16, "1 (an RNG) or 2 (a Generator)");
    if (size != stored_size(kind, (int)what))
        return hm_fail_dimension(ctx, "state", (int64_t)stored_size(kind, (int)what),
                                 (int64_t)size);
    if (get(bytes + size - CHECKSUM, 8) != fnv1a(bytes, size - CHECKSUM))
        return refuse(ctx, bytes, (int64_t)size - CHECKSUM,
                      "the checksum of what stands before it");
    if (get(bytes + 20, 4) > 1)
        return refuse(ctx, bytes, 20, "0 or 1");
    return what == AN_RNG ? restore_rng(ctx, kind, bytes, out)
                          : restore_generator(ctx, kind, bytes, out);
}
