/* Convolutions of one channel by a 3 x 3 kernel: columns of vectors that go down the plane. */
#include "kernels/conv.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/tile.h"

bool HM_K(conv_plane)(const hm_conv_plane *p);

enum { STRIP_VECTORS = TILE_ROWS == 8 ? 4 : 1 };

/* Columns from top to bottom: where the next source row and result row lie, and the chains. */
typedef struct strip_job {
    vec weight[9], bias, poison;
    vec oldest[STRIP_VECTORS], middle[STRIP_VECTORS];
    int64_t x[STRIP_VECTORS]; /* the last vector goes back over pixels of the one before */
    const double *source;
    double *out;
} strip_job;

/*
 * Each source row is read once for the three result rows it belongs to, whose chains stand at different
 * ky: the oldest ends with it, the youngest begins. The first and the last rows belong to fewer.
 */
MATH_INLINE void strip_row(strip_job *s, const hm_conv_plane *p, const int vectors, const bool ends,
                           const bool goes_on, const bool begins)
{
    UNROLL (j, 0, vectors) {
        vec youngest = vec_of(0.0);
        UNROLL (k, 0, 3) {
            const vec v = vec_load(s->source + s->x[j] + k * p->tap);
            if (ends)
                s->oldest[j] = vec_fma(s->weight[6 + k], v, s->oldest[j]);
            if (goes_on)
                s->middle[j] = vec_fma(s->weight[3 + k], v, s->middle[j]);
            if (begins)
                youngest = vec_fma(s->weight[k], v, youngest);
        }
        if (ends) {
            const vec result = s->oldest[j] + s->bias + vec_of(0.0);
            s->poison = vec_taint(s->poison, result);
            vec_store(s->out + s->x[j], result);
        }
        s->oldest[j] = s->middle[j];
        s->middle[j] = youngest;
    }
    s->source += p->source_row;
    if (ends)
        s->out += p->out_row;
}

MATH_INLINE bool strip(const hm_conv_plane *plane, const int64_t first, const int vectors)
{
    const hm_conv_plane p = *plane; /* which results cannot overwrite */
    strip_job s = {.source = p.source, .out = p.out, .poison = vec_of(0.0)};
    s.bias = p.bias ? vec_broadcast(p.bias) : vec_of(0.0);
    UNROLL (k, 0, 9) {
        s.weight[k] = vec_broadcast(p.weights + k);
    }
    UNROLL (j, 0, vectors) {
        s.x[j] = (first + j) * VEC_WIDTH;
        s.x[j] = s.x[j] + VEC_WIDTH <= p.width ? s.x[j] : p.width - VEC_WIDTH;
        s.middle[j] = vec_of(0.0);
    }
    strip_row(&s, &p, vectors, false, false, true);
    strip_row(&s, &p, vectors, false, true, true);
    const double *next = p.next + first * VEC_WIDTH * p.rows;
    for (int64_t y = 1; y < p.rows - 1; y++, next += vectors * VEC_WIDTH) {
        UNROLL (j, 0, vectors) {
            __builtin_prefetch(next + j * VEC_WIDTH, 1);
        }
        strip_row(&s, &p, vectors, true, true, true);
    }
    if (p.rows > 1)
        strip_row(&s, &p, vectors, true, true, false);
    strip_row(&s, &p, vectors, true, false, false);
    return !vec_is_tainted(s.poison);
}

#define STRIP(vectors) \
    static \
        __attribute__((noinline)) bool strip_of_##vectors(const hm_conv_plane *p, int64_t first) \
    { \
        return strip(p, first, vectors); \
    }

STRIP(1)
#if defined(__AVX512F__) || defined(__aarch64__)
STRIP(2)
STRIP(3)
STRIP(4)
#endif

/* As wide as registers allow: a narrow strip waits for its own chains. */
bool HM_K(conv_plane)(const hm_conv_plane *p)
{
    static bool (*const strips[STRIP_VECTORS])(const hm_conv_plane *, int64_t) = {
        strip_of_1,
#if defined(__AVX512F__) || defined(__aarch64__)
        strip_of_2,
        strip_of_3,
        strip_of_4,
#endif
    };
    const int64_t vectors = (p->width + VEC_WIDTH - 1) / VEC_WIDTH;
    bool finite = true;
    for (int64_t j = 0; j < vectors; j += STRIP_VECTORS) {
        const int64_t wide = vectors - j < STRIP_VECTORS ? vectors - j : STRIP_VECTORS;
        finite &= strips[wide - 1](p, j);
    }
    return finite;
}
