/* hmath_random.h: the thin edge of csrc/random. */
#include "hmath_random.h"

#include <stdio.h>

#include "abi/edge.h"
#include "random/distributions.h"
#include "random/rng.h"
#include "random/shuffle.h"
#include "runtime/list.h"

/* ---------------------------------------------------------------- helpers */

static hm_status check_pointer(hm_context *ctx, const char *name, const void *p)
{
    return p ? HMATH_OK : hm_fail_argument(ctx, name, "is null");
}

/* The RNG argument as a stream to draw from. */
static hm_status thaw(hm_context *ctx, const hm_value *v, hm_stream *out)
{
    const hm_rng *rng;
    hm_status st = hm_arg_object(ctx, "rng", v, HMATH_KIND_RNG, &rng);
    if (st == HMATH_OK)
        hm_stream_copy(out, &rng->stream);
    return st;
}

static hm_status freeze(hm_context *ctx, const hm_stream *s, hm_value **out)
{
    hm_rng *rng = NULL;
    hm_status st = hm_rng_create(ctx, s, &rng);
    if (st == HMATH_OK)
        *out = &rng->base;
    return st;
}

/* What can be shuffled; hm_shuffle looks closer. */
static hm_status check_container(hm_context *ctx, const char *name, const hm_value *v)
{
    if (!v || !hm_value_alive(v))
        return hm_fail_argument(ctx, name, v ? "is a released handle" : "is null");
    const int32_t kind = hmath_kind(v);
    const bool fits = kind == HMATH_KIND_LIST || kind == HMATH_KIND_TENSOR_DOUBLE ||
                      kind == HMATH_KIND_TENSOR_FLOAT;
    return fits ? HMATH_OK : hm_fail_type(ctx, name, "List or Tensor", v);
}

/* Enter a call that returns a drawn value, or a drawn object, beside the next RNG. */
static hm_status enter_draw(hm_context *ctx, const char *operation, const char *name,
                            const void *drawn, hm_value **next)
{
    hm_status st = hm_enter(ctx, operation);
    if (st != HMATH_OK)
        return st;
    if ((st = check_pointer(ctx, name, drawn)) != HMATH_OK ||
        (st = check_pointer(ctx, "next", next)) != HMATH_OK)
        return hm_leave(ctx, st);
    return HMATH_OK;
}

/* ---------------------------------------------------------------- generators */

static hmath_status create(hmath_context *ctx, const char *operation, const hm_bitgen_kind *kind,
                           uint64_t stream, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    hm_generator *generator = NULL;
    if ((st = hm_generator_create(ctx, kind, stream, &generator)) == HMATH_OK)
        *out = &generator->base;
    return hm_leave(ctx, st);
}

#define HM_GENERATOR_WITH_STREAM(name) \
    hmath_status hmath_random_##name##_create(hmath_context *ctx, uint64_t stream, \
                                              hmath_value **out) \
    { \
        return create(ctx, "random." #name, &hm_##name, stream, out); \
    }

#define HM_GENERATOR(name) \
    hmath_status hmath_random_##name##_create(hmath_context *ctx, hmath_value **out) \
    { \
        return create(ctx, "random." #name, &hm_##name, 0, out); \
    }

HM_GENERATOR_WITH_STREAM(pcg32)
HM_GENERATOR_WITH_STREAM(pcg64)
HM_GENERATOR(xoshiro256starstar)
HM_GENERATOR(splitmix64)
HM_GENERATOR(philox4x32)
HM_GENERATOR(mt19937)

#undef HM_GENERATOR_WITH_STREAM
#undef HM_GENERATOR

hmath_status hmath_random_seed(hmath_context *ctx, const hmath_value *generator, uint64_t seed,
                               hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "random.seed_rng", out);
    if (st != HMATH_OK)
        return st;
    const hm_generator *g;
    if ((st = hm_arg_object(ctx, "generator", generator, HMATH_KIND_GENERATOR, &g)) == HMATH_OK) {
        hm_stream s;
        hm_stream_seed(&s, g->kind, g->stream, seed);
        st = freeze(ctx, &s, out);
    }
    return hm_leave(ctx, st);
}

hmath_status hmath_random_generator(hmath_context *ctx, const hmath_value *rng, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "random.generator", out);
    if (st != HMATH_OK)
        return st;
    const hm_rng *r;
    hm_generator *generator = NULL;
    if ((st = hm_arg_object(ctx, "rng", rng, HMATH_KIND_RNG, &r)) == HMATH_OK &&
        (st = hm_generator_create(ctx, r->stream.bits.kind, hm_stream_number(&r->stream),
                                  &generator)) == HMATH_OK)
        *out = &generator->base;
    return hm_leave(ctx, st);
}

static const hm_bitgen_kind *kind_of(const hm_value *v)
{
    const hm_rng *rng = hm_rng_from_value(v);
    const hm_generator *generator = hm_generator_from_value(v);
    return rng ? rng->stream.bits.kind : generator ? generator->kind : NULL;
}

const char *hmath_random_generator_name(const hmath_value *v)
{
    const hm_bitgen_kind *kind = kind_of(v);
    return kind ? kind->name : NULL;
}

hmath_status hmath_random_generator_stream(const hmath_value *v, uint64_t *out)
{
    const hm_bitgen_kind *kind = kind_of(v);
    if (!kind || !kind->has_stream || !out)
        return HMATH_BAD_ARGUMENT;
    const hm_rng *rng = hm_rng_from_value(v);
    *out = rng ? hm_stream_number(&rng->stream) : hm_generator_from_value(v)->stream;
    return HMATH_OK;
}

int32_t hmath_random_pending(const hmath_value *rng)
{
    const hm_rng *r = hm_rng_from_value(rng);
    return r ? r->stream.has_pending : -1;
}

/* ---------------------------------------------------------------- single draws */

hmath_status hmath_random_bits(hmath_context *ctx, const hmath_value *rng, uint64_t *value,
                               hmath_value **next)
{
    hm_status st = enter_draw(ctx, "random.bits", "value", value, next);
    if (st != HMATH_OK)
        return st;
    hm_stream s;
    if ((st = thaw(ctx, rng, &s)) == HMATH_OK) {
        const uint64_t drawn = hm_next(&s.bits);
        if ((st = freeze(ctx, &s, next)) == HMATH_OK)
            *value = drawn;
    }
    return hm_leave(ctx, st);
}

static hmath_status draw_double(hmath_context *ctx, const char *operation,
                                void (*draw)(const hm_context *, hm_stream *, double *, int64_t),
                                const hmath_value *rng, double *value, hmath_value **next)
{
    hm_status st = enter_draw(ctx, operation, "value", value, next);
    if (st != HMATH_OK)
        return st;
    hm_stream s;
    if ((st = thaw(ctx, rng, &s)) == HMATH_OK) {
        double drawn;
        draw(ctx, &s, &drawn, 1);
        if ((st = freeze(ctx, &s, next)) == HMATH_OK)
            *value = drawn;
    }
    return hm_leave(ctx, st);
}

hmath_status hmath_random_uniform(hmath_context *ctx, const hmath_value *rng, double *value,
                                  hmath_value **next)
{
    return draw_double(ctx, "random.uniform", hm_draw_uniforms, rng, value, next);
}

hmath_status hmath_random_normal(hmath_context *ctx, const hmath_value *rng, double *value,
                                 hmath_value **next)
{
    return draw_double(ctx, "random.normal", hm_draw_normals, rng, value, next);
}

hmath_status hmath_random_bounded(hmath_context *ctx, int64_t bound, const hmath_value *rng,
                                  int64_t *value, hmath_value **next)
{
    hm_status st = enter_draw(ctx, "random.bounded", "value", value, next);
    if (st != HMATH_OK)
        return st;
    hm_stream s;
    if ((st = thaw(ctx, rng, &s)) == HMATH_OK && bound < 1)
        st = hm_fail_domain_int(ctx, "bound", HM_SCALAR, bound, ">= 1");
    if (st == HMATH_OK) {
        const int64_t drawn = (int64_t)hm_draw_bounded(&s, (uint64_t)bound);
        if ((st = freeze(ctx, &s, next)) == HMATH_OK)
            *value = drawn;
    }
    return hm_leave(ctx, st);
}

/* ---------------------------------------------------------------- many draws */

/* Publishes an object and the RNG after it, or neither. Takes over the reference to `object`. */
static hm_status publish(hm_context *ctx, hm_value *object, const hm_stream *s, hm_value **out,
                         hm_value **next)
{
    hm_value *rng = NULL;
    hm_status st = freeze(ctx, s, &rng);
    if (st != HMATH_OK) {
        hm_release(object);
        return st;
    }
    *out = object;
    *next = rng;
    return HMATH_OK;
}

static hmath_status draw_tensor(hmath_context *ctx, const char *operation,
                                void (*draw)(const hm_context *, hm_stream *, double *, int64_t),
                                int32_t rank, const int64_t *extents, const hmath_value *rng,
                                hmath_value **out, hmath_value **next)
{
    hm_status st = enter_draw(ctx, operation, "out", out, next);
    if (st != HMATH_OK)
        return st;
    hm_stream s;
    hm_shape shape;
    hm_tensor *result = NULL;
    if ((st = rank == 0 ? HMATH_OK : check_pointer(ctx, "shape", extents)) == HMATH_OK &&
        (st = thaw(ctx, rng, &s)) == HMATH_OK &&
        (st = hm_shape_from_extents(ctx, "shape", rank, extents, &shape)) == HMATH_OK &&
        (st = hm_tensor_create(ctx, &shape, &result)) == HMATH_OK) {
        draw(ctx, &s, result->data, result->size);
        atomic_store_explicit(&result->known_finite, true, memory_order_relaxed);
        st = publish(ctx, &result->base, &s, out, next);
    }
    return hm_leave(ctx, st);
}

hmath_status hmath_random_uniform_tensor(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                         const hmath_value *rng, hmath_value **out,
                                         hmath_value **next)
{
    return draw_tensor(ctx, "random.uniform_tensor", hm_draw_uniforms, rank, shape, rng, out, next);
}

hmath_status hmath_random_normal_tensor(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                        const hmath_value *rng, hmath_value **out,
                                        hmath_value **next)
{
    return draw_tensor(ctx, "random.normal_tensor", hm_draw_normals, rank, shape, rng, out, next);
}

hmath_status hmath_random_permutation(hmath_context *ctx, int64_t n, const hmath_value *rng,
                                      hmath_value **out, hmath_value **next)
{
    hm_status st = enter_draw(ctx, "random.permutation", "out", out, next);
    if (st != HMATH_OK)
        return st;
    hm_stream s;
    hm_list *result = NULL;
    if ((st = thaw(ctx, rng, &s)) == HMATH_OK && n < 0)
        st = hm_fail_domain_int(ctx, "n", HM_SCALAR, n, ">= 0");
    if (st == HMATH_OK && (st = hm_list_reserve(ctx, HM_ELEMENT_INT, n, &result)) == HMATH_OK) {
        hm_draw_permutation(&s, result->data, n);
        st = publish(ctx, &result->base, &s, out, next);
    }
    return hm_leave(ctx, st);
}

hmath_status hmath_random_shuffle(hmath_context *ctx, const hmath_value *values,
                                  const hmath_value *rng, hmath_value **out, hmath_value **next)
{
    hm_status st = enter_draw(ctx, "random.shuffle", "out", out, next);
    if (st != HMATH_OK)
        return st;
    hm_stream s;
    hm_value *result = NULL;
    if ((st = check_container(ctx, "values", values)) == HMATH_OK &&
        (st = thaw(ctx, rng, &s)) == HMATH_OK &&
        (st = hm_shuffle(ctx, values, &s, &result)) == HMATH_OK)
        st = publish(ctx, result, &s, out, next);
    return hm_leave(ctx, st);
}

hmath_status hmath_random_jump(hmath_context *ctx, const hmath_value *rng, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "random.jump", out);
    if (st != HMATH_OK)
        return st;
    hm_stream s;
    if ((st = thaw(ctx, rng, &s)) == HMATH_OK && !s.bits.kind->jump) {
        char found[HM_TEXT];
        snprintf(found, sizeof found, "is %s", s.bits.kind->name);
        st = hm_fail_requirement(ctx, "rng", HM_SCALAR, found, "a generator that has a jump");
    }
    if (st == HMATH_OK) {
        s.bits.kind->jump(&s.bits.state);
        s.has_pending = false;
        s.pending = 0.0;
        st = freeze(ctx, &s, out);
    }
    return hm_leave(ctx, st);
}

/* ---------------------------------------------------------------- storing */

int64_t hmath_random_saved_size(const hmath_value *v)
{
    return kind_of(v) ? (int64_t)hm_random_stored_size(v) : -1;
}

hmath_status hmath_random_save(const hmath_value *v, void *bytes, size_t size)
{
    if (!kind_of(v) || !bytes || size != hm_random_stored_size(v))
        return HMATH_BAD_ARGUMENT;
    hm_random_store(v, bytes);
    return HMATH_OK;
}

hmath_status hmath_random_load(hmath_context *ctx, const void *bytes, size_t size,
                               hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "random.load", out);
    if (st != HMATH_OK)
        return st;
    if ((st = check_pointer(ctx, "bytes", bytes)) == HMATH_OK)
        st = hm_random_restore(ctx, bytes, size, out);
    return hm_leave(ctx, st);
}
