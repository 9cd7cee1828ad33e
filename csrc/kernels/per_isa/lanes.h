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
    if (i < n)
        UNROLL (k, 0, VEC_PER_CONTRACT) {
            const size_t count = lanes_before(n, i + k * VEC_WIDTH);
            const vec next = step(lanes[k], vec_load_partial(x + i + k * VEC_WIDTH, count),
                                  vec_load_partial(y + i + k * VEC_WIDTH, count), constants);
            lanes[k] = vec_select(first_lanes(count), next, lanes[k]);
        }
}

/* Two sets of lanes over one reading of x. */
VEC_INLINE void over_lanes_twice(lane_step *one, lane_step *other, const vec *constants,
                                 const double *x, int64_t n, vec first[VEC_PER_CONTRACT],
                                 vec second[VEC_PER_CONTRACT])
{
    int64_t i = 0;
    for (; i + VEC_CONTRACT_LANES <= n; i += VEC_CONTRACT_LANES)
        UNROLL (k, 0, VEC_PER_CONTRACT) {
            const vec v = vec_load(x + i + k * VEC_WIDTH);
            first[k] = one(first[k], v, v, constants);
            second[k] = other(second[k], v, v, constants);
        }
    if (i < n) {
        over_lanes(one, constants, x + i, x + i, n - i, first);
        over_lanes(other, constants, x + i, x + i, n - i, second);
    }
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
