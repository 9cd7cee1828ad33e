/* Core, whole: the same bits on every instruction set and any number of threads, and no allocation
 * that may not fail. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hmath_deeplearning.h"
#include "runtime/alloc.h"

enum { LONG = 70001 };

static double target[LONG], prediction[LONG], logits[LONG], logs[600 * 7];
static const int64_t labels[] = {1, 2, 2, 6, 1, 3, 3, 5};

static uint64_t state = 5;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void fill(void)
{
    for (int i = 0; i < LONG; i++) {
        target[i] = i % 5 ? uniform() : i % 2;
        prediction[i] = 0x1p-40 + uniform() * (1 - 0x1p-39);
        logits[i] = 60 * uniform() - 30;
    }
    for (int i = 0; i < 600 * 7; i++)
        logs[i] = -8 * uniform();
}

/* ---- a digest of every Value that comes out ---- */

static uint64_t digest_doubles(uint64_t digest, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        digest = (digest ^ bits) * 0x100000001b3;
    }
    return digest;
}

static uint64_t digest_value(uint64_t digest, hmath_context *ctx, const hmath_value *v)
{
    const double *data;
    size_t rows, columns;
    double x;
    hmath_value *item = NULL;
    if (hmath_double_get(v, &x) == HMATH_OK)
        return digest_doubles(digest, &x, 1);
    if (hmath_list_doubles(v, &data, &columns) == HMATH_OK)
        return digest_doubles(digest, data, columns);
    if (hmath_rows_doubles(v, &data, &rows, &columns) == HMATH_OK)
        return digest_doubles(digest, data, rows * columns);
    if (hmath_tensor_data(v))
        return digest_doubles(digest, hmath_tensor_data(v), (size_t)hmath_tensor_size(v));
    for (int64_t i = 0; i < hmath_tuple_length(v); i++) {
        if (hmath_tuple_item(ctx, v, (size_t)i, &item) != HMATH_OK)
            return 0;
        digest = digest_value(digest, ctx, item);
        hmath_release(item);
    }
    return digest;
}

/* ---- every function of the namespace, on vectors of n ---- */

typedef struct inputs {
    hmath_value *target, *prediction, *classes, *signs, *logits, *logs, *matrix, *tensor, *labels;
    hmath_value *blank, *half, *two, *yes, *sum, *mean;
} inputs;

typedef struct run {
    hmath_context *ctx;
    uint64_t digest;
    hmath_status failed; /* the first status that was not OK */
} run;

/* Takes a result in, or notes the failure. */
static void take(run *r, hmath_status st, hmath_value **out)
{
    if (st == HMATH_OK)
        r->digest = digest_value(r->digest, r->ctx, *out);
    else if (r->failed == HMATH_OK)
        r->failed = st;
    hmath_release(*out);
    *out = NULL;
}

static void give_back(inputs *in)
{
    hmath_value **members = (hmath_value **)in;
    for (size_t i = 0; i < sizeof *in / sizeof *members; i++) {
        hmath_release(members[i]);
        members[i] = NULL;
    }
}

static hmath_status make(hmath_context *ctx, size_t n, inputs *in)
{
    static double classes[LONG], signs[LONG];
    for (size_t i = 0; i < n; i++) {
        classes[i] = target[i] > 0.5;
        signs[i] = target[i] > 0.5 ? 1 : -1;
    }
    const int64_t shape[] = {(int64_t)(n / 7), 7};
    hmath_status st;
    if ((st = hmath_list_from_doubles(ctx, target, n, &in->target)) ||
        (st = hmath_list_from_doubles(ctx, prediction, n, &in->prediction)) ||
        (st = hmath_list_from_doubles(ctx, classes, n, &in->classes)) ||
        (st = hmath_list_from_doubles(ctx, signs, n, &in->signs)) ||
        (st = hmath_list_from_doubles(ctx, logits, n, &in->logits)) ||
        (st = hmath_list_from_doubles(ctx, logs, 600 * 7 < n ? 600 * 7 : n, &in->logs)) ||
        (st = hmath_rows_from_doubles(ctx, logs, 600, 7, &in->matrix)) ||
        (st = hmath_tensor_create(ctx, 2, shape, logits, &in->tensor)) ||
        (st = hmath_list_from_ints(ctx, labels, 8, &in->labels)) ||
        (st = hmath_int_create(ctx, 0, &in->blank)) ||
        (st = hmath_double_create(ctx, 0.5, &in->half)) ||
        (st = hmath_double_create(ctx, 2, &in->two)) ||
        (st = hmath_bool_create(ctx, 1, &in->yes)) ||
        (st = hmath_neural_core_sum_create(ctx, &in->sum)))
        return st;
    return hmath_neural_core_mean_create(ctx, &in->mean);
}

static void run_losses(run *r, const inputs *in)
{
    typedef hmath_status plain(hmath_context *, hmath_value **);
    typedef hmath_status with_parameter(hmath_context *, const hmath_value *, hmath_value **);
    static plain *const makers[] = {hmath_neural_core_mean_squared_error_create,
                                    hmath_neural_core_mean_absolute_error_create,
                                    hmath_neural_core_binary_cross_entropy_create,
                                    hmath_neural_core_categorical_cross_entropy_create,
                                    hmath_neural_core_kl_divergence_create,
                                    hmath_neural_core_cosine_loss_create,
                                    hmath_neural_core_negative_log_likelihood_create};
    static with_parameter *const parametric[] = {hmath_neural_core_huber_create,
                                                 hmath_neural_core_smooth_l1_create,
                                                 hmath_neural_core_hinge_create};
    for (int m = 0; m < 10; m++) {
        hmath_value *method = NULL, *out = NULL;
        const hmath_status st =
            m < 7 ? makers[m](r->ctx, &method) : parametric[m - 7](r->ctx, in->half, &method);
        if (st != HMATH_OK) {
            take(r, st, &out);
            continue;
        }
        const hmath_value *t = m == 9 ? in->signs : in->target;
        const hmath_value *p = in->prediction;
        if (m ==
            6) { /* predictions are log-probabilities, and a softmax of something their targets */
            hmath_value *weights = NULL;
            if (hmath_neural_core_softmax(r->ctx, in->logs, &weights) == HMATH_OK)
                take(r, hmath_neural_core_loss(r->ctx, method, in->mean, weights, in->logs, &out),
                     &out);
            hmath_release(weights);
            hmath_release(method);
            continue;
        }
        take(r, hmath_neural_core_loss(r->ctx, method, in->mean, t, p, &out), &out);
        take(r, hmath_neural_core_loss(r->ctx, method, in->sum, t, p, &out), &out);
        take(r, hmath_neural_core_loss_gradient(r->ctx, method, in->mean, t, p, &out), &out);
        hmath_release(method);
    }
}

static void run_activations(run *r, const inputs *in)
{
    typedef hmath_status plain(hmath_context *, hmath_value **);
    static plain *const makers[] = {
        hmath_neural_core_sigmoid_create,     hmath_neural_core_tanh_create,
        hmath_neural_core_relu_create,        hmath_neural_core_selu_create,
        hmath_neural_core_gelu_create,        hmath_neural_core_silu_create,
        hmath_neural_core_mish_create,        hmath_neural_core_softplus_create,
        hmath_neural_core_softsign_create,    hmath_neural_core_hard_swish_create,
        hmath_neural_core_hard_sigmoid_create};
    for (int m = 0; m < 11; m++) {
        hmath_value *method = NULL, *out = NULL;
        const hmath_status st = makers[m](r->ctx, &method);
        if (st != HMATH_OK) {
            take(r, st, &out);
            continue;
        }
        take(r, hmath_neural_core_activation(r->ctx, method, in->tensor, &out), &out);
        take(r, hmath_neural_core_activation_derivative(r->ctx, method, in->tensor, &out), &out);
        take(r, hmath_neural_core_activation(r->ctx, method, in->two, &out), &out);
        hmath_release(method);
    }
}

static void run_all(run *r, const inputs *in)
{
    hmath_context *ctx = r->ctx;
    hmath_value *out = NULL, *weights = NULL;
    run_activations(r, in);
    run_losses(r, in);
    const hmath_value *const vectors[] = {in->logits, in->tensor};
    for (int v = 0; v < 2; v++) {
        take(r, hmath_neural_core_softmax(ctx, vectors[v], &out), &out);
        take(r, hmath_neural_core_log_softmax(ctx, vectors[v], &out), &out);
        take(r, hmath_neural_core_sparsemax(ctx, vectors[v], &out), &out);
    }
    take(r, hmath_neural_core_gated_linear_unit(ctx, in->target, in->logits, &out), &out);
    take(r,
         hmath_neural_core_binary_cross_entropy_logits(ctx, in->mean, in->target, in->logits, &out),
         &out);
    if (hmath_neural_core_softmax(ctx, in->prediction, &weights) == HMATH_OK)
        take(r, hmath_neural_core_categorical_cross_entropy_logits(ctx, weights, in->logits, &out),
             &out);
    hmath_release(weights);
    take(r, hmath_neural_core_regularization(ctx, in->half, in->two, in->logits, &out), &out);
    take(r, hmath_neural_core_contrastive_loss(ctx, in->two, in->yes, in->target, in->logits, &out),
         &out);
    take(r,
         hmath_neural_core_triplet_loss(ctx, in->two, in->target, in->logits, in->prediction, &out),
         &out);
    take(r, hmath_neural_core_focal_loss(ctx, in->half, in->two, in->classes, in->prediction, &out),
         &out);
    take(r, hmath_neural_core_dice_loss(ctx, in->half, in->target, in->prediction, &out), &out);
    take(r, hmath_neural_core_iou_loss(ctx, in->half, in->target, in->prediction, &out), &out);
    take(r, hmath_neural_core_ctc_loss(ctx, in->blank, in->labels, in->matrix, &out), &out);
    take(r, hmath_neural_core_ctc_loss_gradient(ctx, in->blank, in->labels, in->matrix, &out),
         &out);
}

static uint64_t digest_of(int32_t isa, int32_t threads, size_t n)
{
    const hmath_options options = {.struct_size = sizeof options, .threads = threads, .isa = isa};
    run r = {NULL, 0, HMATH_OK};
    if (hmath_context_create(&options, &r.ctx) != HMATH_OK)
        return 0; /* this processor does not have it */
    inputs in = {.target = NULL};
    CHECK(make(r.ctx, n, &in) == HMATH_OK);
    run_all(&r, &in);
    CHECK(r.failed == HMATH_OK);
    if (r.failed)
        fprintf(stderr, "%s\n", hmath_last_error(r.ctx) ? hmath_last_error(r.ctx)->message : "");
    give_back(&in);
    hmath_context_destroy(r.ctx);
    return r.digest;
}

static void test_core__same_bits(void)
{
    /* the baseline's fused multiply-add may be slow: short vectors there, long ones between the
     * others */
    const size_t lengths[] = {7, 77, 4095, 9002, LONG};
    for (int l = 0; l < 5; l++) {
        const int32_t first = lengths[l] > 10000 ? HMATH_ISA_AVX2 : HMATH_ISA_BASELINE;
        uint64_t right = 0;
        for (int32_t isa = first; isa <= HMATH_ISA_NEON; isa++)
            for (int32_t threads = 1; threads <= 4; threads++) {
                if (isa == HMATH_ISA_BASELINE && threads > 2)
                    continue;
                const uint64_t digest = digest_of(isa, threads, lengths[l]);
                right = right ? right : digest;
                CHECK(digest == 0 || digest == right);
            }
    }
}

/* Memory runs out at every allocation in turn: the status says so, nothing leaks, *out is left
 * alone. */
static void test_core__memory(void)
{
    const hmath_options options = {.struct_size = sizeof options, .threads = 1};
    run r = {NULL, 0, HMATH_OK};
    CHECK(hmath_context_create(&options, &r.ctx) == HMATH_OK);
    const int64_t before = hmath_live_values();
    for (int64_t n = 0; n < 4000; n++) {
        inputs in = {.target = NULL};
        hm_test_fail_allocation(n);
        hmath_status st = make(r.ctx, 77, &in);
        r.failed = HMATH_OK;
        if (st == HMATH_OK)
            run_all(&r, &in);
        const int failed = hm_test_allocation_failed();
        hm_test_fail_allocation(-1);
        CHECK(st == HMATH_OK || st == HMATH_NO_MEMORY);
        CHECK(r.failed == HMATH_OK || r.failed == HMATH_NO_MEMORY);
        give_back(&in);
        CHECK(hmath_live_values() == before);
        if (!failed)
            break;
    }
    hmath_context_destroy(r.ctx);
}

int main(void)
{
    fill();
    test_core__same_bits();
    test_core__memory();
    return check_report();
}
