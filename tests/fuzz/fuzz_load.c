/* Bytes that may come from anywhere as a Generator or RNG: what is taken is what save writes. */
#include <stdlib.h>
#include <string.h>

#include "hmath_random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int holds)
{
    if (!holds)
        abort();
}

/*
 * Most inputs are saved generators with some bytes changed: the first byte says which, then come pairs of a
 * position and a byte. The rest are taken as they are.
 */
static size_t change_saved(hmath_context *ctx, const uint8_t *data, size_t size, uint8_t *out)
{
    static hmath_status (*const plain[])(hmath_context *, hmath_value **) = {
        hmath_random_xoshiro256starstar_create, hmath_random_splitmix64_create,
        hmath_random_philox4x32_create, hmath_random_mt19937_create};
    hmath_value *generator = NULL, *rng = NULL;
    const unsigned which = data[0] % 6;
    hmath_status st = which < 4    ? plain[which](ctx, &generator)
                      : which == 4 ? hmath_random_pcg32_create(ctx, 54, &generator)
                                   : hmath_random_pcg64_create(ctx, 54, &generator);
    demand(st == HMATH_OK);
    demand(hmath_random_seed(ctx, generator, data[0], &rng) == HMATH_OK);
    const hmath_value *saved = data[0] & 64 ? generator : rng;
    const size_t bytes = (size_t)hmath_random_saved_size(saved);
    demand(hmath_random_save(saved, out, bytes) == HMATH_OK);
    for (size_t i = 1; i + 2 < size; i += 3)
        out[(data[i] << 8 | data[i + 1]) % bytes] = data[i + 2];
    hmath_release(rng);
    hmath_release(generator);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hmath_context *ctx;
    uint8_t changed[1 << 12], again[1 << 12];
    hmath_value *loaded = NULL;
    if (!ctx)
        demand(hmath_context_create(NULL, &ctx) == HMATH_OK);
    const int64_t alive = hmath_live_values();
    const int taken_as_it_is = size == 0 || data[0] >= 128;
    const uint8_t *bytes = taken_as_it_is ? data : changed;
    if (!taken_as_it_is)
        size = change_saved(ctx, data, size, changed);
    const hmath_status st = hmath_random_load(ctx, bytes, size, &loaded);
    demand(st == HMATH_OK || (st == HMATH_CHECKED && !loaded));
    if (st == HMATH_OK) {
        demand(hmath_random_saved_size(loaded) == (int64_t)size && size <= sizeof again);
        demand(hmath_random_save(loaded, again, size) == HMATH_OK);
        demand(memcmp(again, bytes, size) == 0);
        double x;
        hmath_value *next = NULL;
        if (hmath_kind(loaded) == HMATH_KIND_RNG) {
            demand(hmath_random_normal(ctx, loaded, &x, &next) == HMATH_OK && x == x);
            hmath_release(next);
        }
    }
    hmath_release(loaded);
    demand(hmath_live_values() == alive);
    return 0;
}
