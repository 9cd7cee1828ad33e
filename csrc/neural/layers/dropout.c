/*
 * N. Srivastava, G. Hinton, A. Krizhevsky, I. Sutskever, R. Salakhutdinov, "Dropout", JMLR 15
 * (2014); spatial: J. Tompson, R. Goroshin, A. Jain, Y. LeCun, C. Bregler, CVPR 2015.
 */
#include "neural/layers/dropout.h"

#include "random/distributions.h"
#include "runtime/pool.h"

enum { SPREAD_LEAST = 32768 }; /* elements worth a thread: about 30 microseconds */

/*
 * A mask has left the caches before a backward pass wants it, sooner than a result before anybody does (2M elements,
 * Zen 3: the pass takes 2.9 ms, with the mask past the caches 2.2, with both 1.75; one plain result 2.2).
 */
enum { LASTING_MASK = 1 << 20 };

typedef struct dropout_job {
    const hm_random_kernels *kernels;
    double probability, scale;
    const double *input, *plane_mask;
    double *output, *mask;
    int64_t planes, plane_size, planes_per_chunk;
    atomic_bool spoiled; /* some product is not finite */
} dropout_job;

static void note(dropout_job *job, bool finite)
{
    if (!finite)
        atomic_store_explicit(&job->spoiled, true, memory_order_relaxed);
}

/* Uniforms become the mask in place, and the output beside it. */
static void drop_elements(void *user, double *part, int64_t first, int64_t count)
{
    dropout_job *job = user;
    note(job, job->kernels->drop(job->input + first, count, job->probability, job->scale, part,
                                 job->output + first));
}

static void mask_planes(void *user, double *part, int64_t first, int64_t count)
{
    const dropout_job *job = user;
    (void)first;
    for (int64_t i = 0; i < count; i++)
        part[i] = part[i] >= job->probability ? job->scale : 0.0;
}

static void spread_planes(void *user, int64_t chunk)
{
    dropout_job *job = user;
    const int64_t first = chunk * job->planes_per_chunk, left = job->planes - first;
    const int64_t planes = left < job->planes_per_chunk ? left : job->planes_per_chunk;
    const int64_t start = first * job->plane_size, size = job->planes * job->plane_size;
    const int aside = (size >= LASTING_MASK) + (size >= HM_LASTING);
    note(job,
         job->kernels->spread(job->input + start, planes, job->plane_size, job->plane_mask + first,
                              aside, job->mask + start, job->output + start));
}

static hm_status drop_planes(hm_context *ctx, hm_stream *s, const hm_shape *shape, dropout_job *job)
{
    job->planes = hm_shape_span(shape, 0, 2);
    job->plane_size = hm_shape_span(shape, 2, shape->rank);
    double *plane_mask = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)job->planes, sizeof *plane_mask, &plane_mask);
    if (st != HMATH_OK)
        return st;
    hm_draw_uniforms_for(ctx, s, plane_mask, job->planes, mask_planes, job);
    job->plane_mask = plane_mask;
    if (job->planes > 0 && job->plane_size > 0) {
        job->planes_per_chunk = (SPREAD_LEAST - 1) / job->plane_size + 1;
        hm_parallel_for(ctx, (job->planes - 1) / job->planes_per_chunk + 1, spread_planes, job);
    }
    hm_scratch_release(ctx, plane_mask);
    return HMATH_OK;
}

static void know_finite(hm_tensor *tensor)
{
    atomic_store_explicit(&tensor->known_finite, true, memory_order_relaxed);
}

static hm_status train(hm_context *ctx, double probability, bool spatial, const hm_rng *rng,
                       const hm_tensor *input, hm_dropped *out)
{
    hm_status st;
    hm_tensor *output = NULL, *mask = NULL;
    hm_rng *next = NULL;
    if ((st = hm_tensor_like(ctx, input, &output)) != HMATH_OK ||
        (st = hm_tensor_like(ctx, input, &mask)) != HMATH_OK)
        goto done;

    hm_stream s;
    hm_stream_copy(&s, &rng->stream);
    dropout_job job = {.kernels = hm_context_kernels(ctx)->random,
                       .probability = probability,
                       .scale = 1.0 / (1.0 - probability),
                       .input = input->data,
                       .output = output->data,
                       .mask = mask->data};
    if (!spatial)
        hm_draw_uniforms_for(ctx, &s, mask->data, mask->size, drop_elements, &job);
    else if ((st = drop_planes(ctx, &s, &input->shape, &job)) != HMATH_OK)
        goto done;
    if (atomic_load(&job.spoiled)) {
        st = hm_check_tensor_finite(ctx, "input", input);
        st = st != HMATH_OK ? st : hm_fail_overflow(ctx);
        goto done;
    }
    if ((st = hm_rng_create(ctx, &s, &next)) != HMATH_OK)
        goto done;

    know_finite(output);
    know_finite(mask);
    *out = (hm_dropped){output, mask, next};
    output = mask = NULL;
done:
    hm_release(output);
    hm_release(mask);
    return st;
}

static hm_status infer(hm_context *ctx, const hm_rng *rng, const hm_tensor *input, hm_dropped *out)
{
    hm_tensor *mask = NULL;
    hm_status st;
    if ((st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK ||
        (st = hm_tensor_like(ctx, input, &mask)) != HMATH_OK)
        return st;
    for (int64_t i = 0; i < mask->size; i++)
        mask->data[i] = 1.0;
    know_finite(mask);
    *out = (hm_dropped){hm_retain(input), mask, hm_retain(rng)};
    return HMATH_OK;
}

static hm_status drop(hm_context *ctx, const hm_training *mode, double probability, bool spatial,
                      const hm_rng *rng, const hm_tensor *input, hm_dropped *out)
{
    hm_status st = hm_check_scalar_finite(ctx, "probability", probability);
    if (st != HMATH_OK)
        return st;
    if (!(probability >= 0.0 && probability < 1.0))
        return hm_fail_domain(ctx, "probability", HM_SCALAR, probability, ">= 0 and < 1");
    if (spatial && input->shape.rank < 3) {
        char rank[] = "rank 0";
        rank[5] = (char)('0' + input->shape.rank);
        return hm_fail_shape(ctx, "input", "rank >= 3", rank);
    }
    return mode->training ? train(ctx, probability, spatial, rng, input, out)
                          : infer(ctx, rng, input, out);
}

hm_status hm_dropout(hm_context *ctx, const hm_training *mode, double probability,
                     const hm_rng *rng, const hm_tensor *input, hm_dropped *out)
{
    return drop(ctx, mode, probability, false, rng, input, out);
}

hm_status hm_spatial_dropout(hm_context *ctx, const hm_training *mode, double probability,
                             const hm_rng *rng, const hm_tensor *input, hm_dropped *out)
{
    return drop(ctx, mode, probability, true, rng, input, out);
}
