#include "tensor/variance.h"

#include "tensor/along.h"
#include "tensor/arrange.h"
#include "tensor/reduce.h"
#include "tensor/view.h"

/* A set of axes that is no run of neighbours becomes one when the others are moved to the front. */
static hm_status kept_first(hm_context *ctx, const hm_tensor *input, uint32_t reduced,
                            hm_tensor **out)
{
    int64_t order[HM_MAX_RANK];
    int32_t n = 0;
    for (uint32_t wanted = 0; wanted <= 1; wanted++)
        for (int32_t axis = 0; axis < input->shape.rank; axis++)
            if ((reduced >> axis & 1) == wanted)
                order[n++] = axis;
    return hm_transpose(ctx, input, order, out);
}

static void moments(const hm_context *ctx, const hm_along *plan, const double *x, double divisor,
                    hm_tensor *variance, hm_tensor *mean)
{
    const int64_t outer = plan->is_box ? plan->outer : plan->results;
    const int64_t inner = plan->is_box ? plan->inner : 1;
    hm_axis_moments(ctx, x, outer, plan->extent, inner, divisor, mean->data, variance->data);
}

hm_status hm_var_mean(hm_context *ctx, const hm_tensor *input, int32_t count, const int64_t *axes,
                      int64_t correction, bool keep, hm_tensor **variance, hm_tensor **mean)
{
    uint32_t set;
    hm_status st = hm_axis_set(ctx, "axes", input->shape.rank, count, axes, &set);
    if (st != HMATH_OK)
        return st;
    const hm_along plan = hm_along_plan(&input->shape, set, keep);
    if (correction < 0)
        return hm_fail_domain_int(ctx, "correction", HM_SCALAR, correction, ">= 0");
    if (plan.extent == 0 && plan.results > 0)
        return hm_fail_empty(ctx, "input");
    if (correction >= plan.extent && plan.results > 0)
        return hm_fail_domain_int(ctx, "correction", HM_SCALAR, correction,
                                  "below the number of elements");

    hm_tensor *variances = NULL, *means = NULL, *moved = NULL;
    if ((st = hm_tensor_create(ctx, &plan.result, &variances)) != HMATH_OK ||
        (st = hm_tensor_create(ctx, &plan.result, &means)) != HMATH_OK ||
        (!plan.is_box && (st = kept_first(ctx, input, set, &moved)) != HMATH_OK))
        goto done;
    if (plan.results > 0)
        moments(ctx, &plan, moved ? moved->data : input->data, (double)(plan.extent - correction),
                variances, means);
    if (!hm_all_finite(ctx, variances->data, variances->size)) {
        st = hm_check_tensor_finite(ctx, "input", input);
        st = st != HMATH_OK ? st : hm_fail_overflow(ctx);
        goto done;
    }
    hm_tensor_remember_finite(variances);
    hm_tensor_remember_finite(means);
    *variance = variances;
    *mean = means;
    variances = means = NULL;
done:
    hm_release(moved);
    hm_release(variances);
    hm_release(means);
    return st;
}
