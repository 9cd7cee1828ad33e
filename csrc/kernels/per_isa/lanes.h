/*
 * The 32 lanes of the numerics contract, as loops over vectors of the machine's width. `step` is an
 * inline function that takes one vector of lanes over one vector of elements, so that each kernel
 * built on these loops is one formula.
 */
#ifndef HM_PER_ISA_LANES_H
#define HM_PER_ISA_LANES_H

#include "kernels/per_isa/unroll.h"
#include "kernels/vec/vec.h"

/* How many lanes of the vector that starts at element `at` lie before n. */
VEC_INLINE size_t lanes_before(int64_t n, int64_t at)
{
    const int64_t left = n - at;
    return left <= 0 ? 0 : left < VEC_WIDTH ? (size_t)left : (size_t)VEC_WIDTH;
}

/* How many of n elements lie before the first vector at p that is aligned; a double's alignment is given. */
VEC_INLINE int64_t lanes_to_alignment(const double *p, int64_t n)
{
    const int64_t lanes = (int64_t)(-((uintptr_t)p / sizeof *p) % VEC_WIDTH);
    return lanes < n ? lanes : n;
}

/* True in the first `count` lanes. */
VEC_INLINE vec_mask first_lanes(size_t count)
{
    static const double number[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return vec_less(vec_load(number), vec_of((double)count));
}

typedef vec lane_step(vec lanes, vec x, vec y, const vec *constants);

/* Take every lane through its elements of x and y in increasing order; the tail leaves other lanes
 * be. */
VEC_INLINE void over_lanes(lane_step *step, const vec *constants, const double *x, const double *y,
                           int64_t n, vec lanes[VEC_PER_CONTRACT])
{
    int64_t i = 0;
    for (; i + VEC_CONTRACT_LANES <= n; i += VEC_CONTRACT_LANES)
        UNROLL (k, 0, VEC_PER_CONTRACT)
            lanes[k] = step(lanes[k], vec_load(x + i + k * VEC_WIDTH),
                            vec_load(y + i + k * VEC_WIDTH), constants);
    for (; i < n; i += VEC_CONTRACT_LANES) /* once; GCC unrolls early inside of loops alone */
        UNROLL (k, 0, VEC_PER_CONTRACT) {
            const size_t count = lanes_before(n, i + k * VEC_WIDTH);
            if (count == 0)
                continue;
            const vec next = step(lanes[k], vec_load_partial(x + i + k * VEC_WIDTH, count),
                                  vec_load_partial(y + i + k * VEC_WIDTH, count), constants);
            lanes[k] = vec_select(first_lanes(count), next, lanes[k]);
        }
}

/* Four vectors of two sets of lanes, from vector `from` on, over `whole` rows of lanes. */
VEC_INLINE void over_four_twice(lane_step *one, lane_step *other, const vec *constants,
                                const double *x, int64_t whole, int from, vec *first, vec *second)
{
    for (int64_t i = from * VEC_WIDTH; i < whole; i += VEC_CONTRACT_LANES)
        UNROLL (k, from, from + 4) {
            const vec v = vec_load(x + i + (k - from) * VEC_WIDTH);
            first[k] = one(first[k], v, v, constants);
            second[k] = other(second[k], v, v, constants);
        }
}

/* Two sets of lanes over one reading of x: no more of them at a time than there are registers for. */
VEC_INLINE void over_lanes_twice(lane_step *one, lane_step *other, const vec *constants,
                                 const double *x, int64_t n, vec first[VEC_PER_CONTRACT],
                                 vec second[VEC_PER_CONTRACT])
{
    const int64_t whole = n / VEC_CONTRACT_LANES * VEC_CONTRACT_LANES;
    over_four_twice(one, other, constants, x, whole, 0, first, second);
    if (VEC_PER_CONTRACT > 4)
        over_four_twice(one, other, constants, x, whole, 4, first, second);
    if (VEC_PER_CONTRACT > 8) {
        over_four_twice(one, other, constants, x, whole, 8, first, second);
        over_four_twice(one, other, constants, x, whole, 12, first, second);
    }
    over_lanes(one, constants, x + whole, x + whole, n - whole, first);
    over_lanes(other, constants, x + whole, x + whole, n - whole, second);
}

/*
 * Several sums over the same elements go piece by piece, so that what the first fetches from afar the
 * others find in the first cache; the second gives no more bytes a cycle than the third (Zen 4, a
 * million elements: x*x, y*y and x*y 384 to 238 us). A piece is whole rows of lanes; two take 8 KB.
 */
enum { LANES_PIECE = 512 };

VEC_INLINE int64_t lanes_piece(int64_t n, int64_t at)
{
    return n - at < LANES_PIECE ? n - at : LANES_PIECE;
}

/* The same from +0, folded. */
VEC_INLINE double sum_over_lanes(lane_step *step, const vec *constants, const double *x,
                                 const double *y, int64_t n)
{
    vec lanes[VEC_PER_CONTRACT] = {{0}};
    over_lanes(step, constants, x, y, n, lanes);
    return vec_fold_add(lanes);
}

#endif
