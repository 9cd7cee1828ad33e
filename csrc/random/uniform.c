/*
 * Uniform doubles, and whatever is made of them on the way. A long fill is cut into chunks that
 * jump ahead to their own place in the stream; inside a chunk it goes by batches that stay in the
 * nearest cache between being drawn and being used.
 */
#include "random/distributions.h"
#include "runtime/pool.h"

enum {
    BATCH = 1024,      /* 8 KB; even, since normals come in pairs */
    CHUNK = 32 * BATCH /* takes 30 to 250 microseconds, against 0.1 to 4 for finding its place */
};

typedef struct uniform_fill {
    const hm_random_kernels *kernels;
    const hm_bitgen *start; /* NULL: the uniforms are drawn already */
    double *out;
    int64_t n;
    hm_uniforms_use use;
    void *user;
} uniform_fill;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void draw_range(const uniform_fill *fill, hm_bitgen *g, int64_t first, int64_t end)
{
    for (int64_t at = first; at < end; at += BATCH) {
        const int64_t count = least(end - at, BATCH);
        if (g)
            g->kind->uniforms(fill->kernels, &g->state, fill->out + at, (size_t)count);
        if (fill->use)
            fill->use(fill->user, fill->out + at, at, count);
    }
}

static void draw_chunk(void *task, int64_t chunk)
{
    const uniform_fill *fill = task;
    const int64_t first = chunk * CHUNK, end = least(fill->n, first + CHUNK);
    if (!fill->start) {
        draw_range(fill, NULL, first, end);
        return;
    }
    hm_bitgen g;
    hm_bitgen_copy(&g, fill->start);
    g.kind->advance(&g.state, (hm_uint128)first * (unsigned)hm_outputs_per_uniform(g.kind));
    draw_range(fill, &g, first, end);
}

void hm_draw_uniforms_for(const hm_context *ctx, hm_stream *s, double *out, int64_t n,
                          hm_uniforms_use use, void *user)
{
    hm_bitgen *g = &s->bits;
    uniform_fill fill = {
        .kernels = hm_context_kernels(ctx)->random, .out = out, .n = n, .use = use, .user = user};
    if (n <= CHUNK) {
        draw_range(&fill, g, 0, n);
        return;
    }
    if (g->kind->advance)
        fill.start = g;
    else
        g->kind->uniforms(fill.kernels, &g->state, out, (size_t)n);
    if (fill.start || use)
        hm_parallel_for(ctx, (n - 1) / CHUNK + 1, draw_chunk, &fill);
    if (fill.start)
        g->kind->advance(&g->state, (hm_uint128)n * (unsigned)hm_outputs_per_uniform(g->kind));
}

void hm_draw_uniforms(const hm_context *ctx, hm_stream *s, double *out, int64_t n)
{
    hm_draw_uniforms_for(ctx, s, out, n, NULL, NULL);
}
