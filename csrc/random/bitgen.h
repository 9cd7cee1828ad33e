/*
 * A bit generator: a state and the functions that work on it.
 *
 * A kind of generator is one constant hm_bitgen_kind, defined in the file of that name; its state
 * is plain words, so that states are copied, compared, stored and checked without knowing the kind.
 * The unit of every count is one *output*: 32 bits or 64 bits, whatever the generator was published
 * with.
 *
 * The order of outputs is a contract: next, words and uniforms walk the same stream, and advance(n)
 * leaves the state that n calls of next leave.
 */
#ifndef HM_BITGEN_H
#define HM_BITGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/random.h"

__extension__ typedef unsigned __int128 hm_uint128;

enum { HM_MT19937_KEYS = 624, HM_BIT_STATE_WORDS = HM_MT19937_KEYS / 2 + 1 };

/* What a generator remembers; `words` of it are in use, the rest is not even initialised. */
typedef union hm_bit_state {
    uint64_t words[HM_BIT_STATE_WORDS];
    struct {
        uint64_t state, increment;
    } pcg32;
    struct {
        uint64_t state[2], increment[2]; /* low word first */
    } pcg64;
    uint64_t xoshiro256[4];
    uint64_t splitmix64;
    struct {
        uint64_t counter[2]; /* of the block that holds the next output; low word first */
        uint64_t key;
        uint64_t position; /* of the next output in its block, 0 to 3 */
    } philox;
    struct {
        uint32_t key[HM_MT19937_KEYS];
        uint32_t position; /* of the next output, 1 to 624; at 624 the keys are to be renewed */
        uint32_t unused;   /* always 0: every bit of a state has a meaning */
    } mt19937;
} hm_bit_state;

typedef struct hm_bitgen_kind {
    const char *name;
    int32_t number;      /* in serialised states: never reused */
    int32_t output_bits; /* 32 or 64 */
    int32_t words;       /* of hm_bit_state in use */
    bool has_stream;     /* seed looks at `stream` */

    void (*seed)(hm_bit_state *s, uint64_t stream, uint64_t seed); /* the published procedure */
    uint64_t (*next)(hm_bit_state *s);                             /* one output, zero-extended */
    /* n doubles in [0, 1); the table is for those that have a kernel, and changes nothing */
    void (*uniforms)(const hm_random_kernels *kernels, hm_bit_state *s, double *out, size_t n);
    void (*advance)(hm_bit_state *s, hm_uint128 outputs); /* NULL: only by drawing */
    void (*jump)(hm_bit_state *s); /* by the generator's own great distance; NULL: it has none */
    bool (*valid)(const hm_bit_state *s); /* could these words have come from seed and next? */
} hm_bitgen_kind;

typedef struct hm_bitgen {
    const hm_bitgen_kind *kind;
    hm_bit_state state;
} hm_bitgen;

extern const hm_bitgen_kind hm_pcg32, hm_pcg64, hm_xoshiro256starstar, hm_splitmix64, hm_philox4x32,
    hm_mt19937;

/* The kind with that number or name, or NULL. */
const hm_bitgen_kind *hm_bitgen_kind_by_number(int32_t number);
const hm_bitgen_kind *hm_bitgen_kind_by_name(const char *name);

/* Copies the words in use only: a state is 8 to 2,504 bytes long. */
void hm_bitgen_copy(hm_bitgen *to, const hm_bitgen *from);

static inline uint64_t hm_next(hm_bitgen *g) { return g->kind->next(&g->state); }

/* 64 random bits from either kind: two outputs of a 32-bit generator, the high word first. */
static inline uint64_t hm_next64(hm_bitgen *g)
{
    uint64_t x = hm_next(g);
    return g->kind->output_bits == 64 ? x : x << 32 | hm_next(g);
}

/* How many outputs a double takes. */
static inline int hm_outputs_per_uniform(const hm_bitgen_kind *kind)
{
    return kind->output_bits == 64 ? 1 : 2;
}

/* A double in [0, 1), a multiple of 2^-53, from its random bits. */
static inline double hm_uniform_from_64(uint64_t x) { return (double)(int64_t)(x >> 11) * 0x1p-53; }

static inline double hm_uniform_from_32(uint32_t high, uint32_t low)
{
    return (double)((int64_t)(high >> 5) << 26 | (int64_t)(low >> 6)) * 0x1p-53;
}

#endif
