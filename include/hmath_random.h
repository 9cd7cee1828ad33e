/**
 * hmath_random.h: random numbers as values.
 *
 * A *generator* (kind 239) names an algorithm, and of some algorithms one of many streams. Seeding
 * it gives an *RNG* (kind 240): an immutable continuation, which is the algorithm, its state, and
 * the standard normal that the latest draw may have left over. Every draw returns what was drawn
 * and the next RNG; the old one stays what it was and draws the same again. There is no hidden
 * state and no global generator. In a few lines:
 *
 *     hmath_value *generator = NULL, *rng = NULL, *next = NULL;
 *     double u;
 *     if (hmath_random_pcg32_create(ctx, 54, &generator) == HMATH_OK &&
 *         hmath_random_seed(ctx, generator, 42, &rng) == HMATH_OK &&
 *         hmath_random_uniform(ctx, rng, &u, &next) == HMATH_OK)
 *         printf("%.16g\n", u);                     // 0.6303102186438938; go on with next
 *     hmath_release(next);
 *     hmath_release(rng);
 *     hmath_release(generator);
 *
 * The streams are a contract: the same seed gives the same draws, to the last bit, in every version
 * with the same hmath_numerics_version(), on every machine, for every number of threads. Drawing n
 * numbers at once is drawing them one by one.
 *
 * Statuses that every function here can return are not repeated: HMATH_BAD_ARGUMENT (a pointer is
 * NULL), HMATH_BUSY, HMATH_NO_MEMORY, and HMATH_CHECKED with TypeMismatch where a value is of
 * another kind than its parameter says. All outputs are untouched on failure.
 */
#ifndef HMATH_RANDOM_H
#define HMATH_RANDOM_H

#include "hmath.h"

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

/* ---------------------------------------------------------------- generators */

/*
 * Each reproduces its published reference output for its published seeding procedure.
 *
 *   name                output  period    jump    source
 *   pcg32               32 bits 2^64      2^32    PCG-XSH-RR 64/32, O'Neill 2014
 *   pcg64               64 bits 2^128     2^64    PCG-XSL-RR 128/64, O'Neill 2014
 *   xoshiro256starstar  64 bits 2^256-1   2^128   Blackman and Vigna 2021
 *   splitmix64          64 bits 2^64      2^32    Steele, Lea and Flood 2014; Vigna 2015
 *   philox4x32          32 bits 2^130     2^64    Philox4x32-10, Salmon et al. 2011
 *   mt19937             32 bits 2^19937-1 none    Matsumoto and Nishimura 1998, seeding of 2002
 *
 * pcg32 and pcg64 have a stream for every number (pcg32 ignores the topmost bit of it); 54 is the
 * stream of the published demonstrations.
 */
HMATH_CALL hmath_random_pcg32_create(hmath_context *ctx, uint64_t stream, hmath_value **out);
HMATH_CALL hmath_random_pcg64_create(hmath_context *ctx, uint64_t stream, hmath_value **out);
HMATH_CALL hmath_random_xoshiro256starstar_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_random_splitmix64_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_random_philox4x32_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_random_mt19937_create(hmath_context *ctx, hmath_value **out);

/**
 * Seed a generator: pcg32 and pcg64 by srandom(seed, stream) of their authors; xoshiro256starstar
 * by four outputs of splitmix64; splitmix64 by taking the seed as its state; philox4x32 by taking
 * it as its 64-bit key, with counter 0; mt19937 by init_genrand for seeds below 2^32, else by
 * init_by_array {low, high}.
 * @param generator  a Generator
 * @param out        the RNG before its first draw
 */
HMATH_CALL hmath_random_seed(hmath_context *ctx, const hmath_value *generator, uint64_t seed,
                             hmath_value **out);

/** The generator of an RNG, its stream included. */
HMATH_CALL hmath_random_generator(hmath_context *ctx, const hmath_value *rng, hmath_value **out);

/** The name, in the table above, of a Generator or an RNG; static. NULL for any other value. */
HMATH_API const char *hmath_random_generator_name(const hmath_value *v);

/** The stream of a Generator or an RNG. HMATH_BAD_ARGUMENT: v is neither, or has no streams. */
HMATH_CALL hmath_random_generator_stream(const hmath_value *v, uint64_t *out);

/** 1 where an RNG holds a pending normal, 0 where it holds none, -1 where the value is no RNG. */
HMATH_API int32_t hmath_random_pending(const hmath_value *rng);

/* ---------------------------------------------------------------- draws */

/**
 * The generator's next output as it is: 32 or 64 bits. This is the published sequence.
 * @param value  the output; the upper half is 0 for 32-bit generators
 * @param next   the RNG after the draw; a pending normal stays pending
 */
HMATH_CALL hmath_random_bits(hmath_context *ctx, const hmath_value *rng, uint64_t *value,
                             hmath_value **next);

/**
 * U[0, 1): a multiple of 2^-53. One output x of 64 bits, (x >> 11) * 2^-53, or two of 32, a then b,
 * ((a >> 5) * 2^26 + (b >> 6)) * 2^-53. A pending normal stays pending.
 */
HMATH_CALL hmath_random_uniform(hmath_context *ctx, const hmath_value *rng, double *value,
                                hmath_value **next);

/**
 * N(0, 1) by Box and Muller (1958): with two uniforms u1 and u2, sqrt(-2 log(1 - u1)) cos(2 pi u2);
 * the sine of the same pair is pending and is the next normal, which then takes no uniforms.
 */
HMATH_CALL hmath_random_normal(hmath_context *ctx, const hmath_value *rng, double *value,
                               hmath_value **next);

/**
 * An integer of 0 ... bound - 1, each equally likely, by Lemire (2019). Takes 64 bits, or 32 where
 * the generator gives 32 and bound <= 2^32; 64 bits of a 32-bit generator are two outputs, the high
 * word first. Draws again with probability below bound / 2^64 (bound / 2^32). A bound of 1 draws as
 * well.
 * @return also HMATH_CHECKED: DomainError, bound < 1
 */
HMATH_CALL hmath_random_bounded(hmath_context *ctx, int64_t bound, const hmath_value *rng,
                                int64_t *value, hmath_value **next);

/**
 * A Double tensor of uniforms, filled row-major: element i is draw i.
 * @param rank, shape  0 to 8 extents, each >= 0; shape may be NULL where rank is 0
 * @return also HMATH_CHECKED: DomainError, a negative extent; DimensionMismatch, more than 8 axes
 */
HMATH_CALL hmath_random_uniform_tensor(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                       const hmath_value *rng, hmath_value **out,
                                       hmath_value **next);

/** The same of standard normals; the first is the pending one, if there is one. */
HMATH_CALL hmath_random_normal_tensor(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                      const hmath_value *rng, hmath_value **out,
                                      hmath_value **next);

/**
 * A list of the integers 0 ... n - 1 in random order, by Fisher and Yates from the end: position i
 * = n - 1 ... 1 changes places with position bounded(i + 1). n = 0 and n = 1 draw nothing.
 * @return also HMATH_CHECKED: DomainError, n < 0
 */
HMATH_CALL hmath_random_permutation(hmath_context *ctx, int64_t n, const hmath_value *rng,
                                    hmath_value **out, hmath_value **next);

/**
 * The elements of a list, or the rows of a tensor (its slices along axis 0), in the order that
 * hmath_random_permutation gives: out[i] = values[permutation[i]]. Elements are moved, never looked
 * at.
 * @param values  a List, or a tensor of rank >= 1
 * @return also HMATH_CHECKED: DimensionMismatch, a tensor of rank 0
 */
HMATH_CALL hmath_random_shuffle(hmath_context *ctx, const hmath_value *values,
                                const hmath_value *rng, hmath_value **out, hmath_value **next);

/**
 * Skip as many outputs as the table above says, to a part of the stream that no one else will
 * reach. A pending normal is dropped.
 * @return also HMATH_CHECKED: DomainError, the generator (mt19937) has no jump
 */
HMATH_CALL hmath_random_jump(hmath_context *ctx, const hmath_value *rng, hmath_value **out);

/* ---------------------------------------------------------------- storing */

/*
 * Generators and RNGs as bytes, the same on every machine: what was saved can be loaded by this and
 * every later version. Equal bytes mean equal draws.
 */

/** How many bytes hmath_random_save writes (48 to 2,544); -1: v is neither Generator nor RNG. */
HMATH_API int64_t hmath_random_saved_size(const hmath_value *v);

/** HMATH_BAD_ARGUMENT: v is neither, or `size` is not what hmath_random_saved_size says. */
HMATH_CALL hmath_random_save(const hmath_value *v, void *bytes, size_t size);

/**
 * The Generator or RNG that was saved. The bytes may come from anywhere: nothing but what save can
 * have written is taken.
 * @return also HMATH_CHECKED: DimensionMismatch, a wrong size; DomainError, any other fault, with
 * the position of the first offending byte as index
 */
HMATH_CALL hmath_random_load(hmath_context *ctx, const void *bytes, size_t size, hmath_value **out);

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
