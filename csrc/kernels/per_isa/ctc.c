#include "kernels/ctc.h"
#include "kernels/math/log.h"
#include "kernels/per_isa/decay.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"

typedef struct states {
    vec level, rest;
} states;

VEC_INLINE states load_states(const double *level, const double *rest)
{
    return (states){vec_load(level), vec_load(rest)};
}

/* Both together: the larger level stays, the other state is weighed against it. */
VEC_INLINE states join(states a, states b)
{
    const vec_mask lower = vec_less(a.level, b.level);
    const vec high = vec_max(b.level, a.level), low = vec_min(a.level, b.level);
    const vec rest = vec_select(lower, b.rest, a.rest), other = vec_select(lower, a.rest, b.rest);
    const vec weight = decay_or_nothing(low - high);
    return (states){high, rest + vec_fma(weight, other, weight)};
}

/* A state that cannot be reached has no rest, so that what stands around the states stays as it is.
 */
VEC_INLINE void store_states(states x, double *level, double *rest)
{
    vec_store(level, x.level);
    vec_store(rest, vec_keep(vec_greater(x.level, vec_of(HM_CTC_NOWHERE)), x.rest));
}

VEC_INLINE states add_level(states x, vec log_probability)
{
    return (states){vec_max(x.level + log_probability, vec_of(HM_CTC_NOWHERE)), x.rest};
}

static void forward(const hm_ctc_row *now, int64_t labels, const double *skip, double blank,
                    const double *label, const hm_ctc_row *next)
{
    const vec blank_frame = vec_of(blank);
    for (int64_t s = 0; s <= labels; s += VEC_WIDTH) {
        const states here = load_states(now->label_level + s, now->label_rest + s);
        const states blanks = load_states(now->blank_level + s, now->blank_rest + s);
        states last = load_states(now->label_level + s - 1, now->label_rest + s - 1);
        const states to_blank = join(blanks, last);
        last.level = vec_min(last.level, vec_load(skip + s));
        const states to_label = join(join(here, blanks), last);
        store_states(add_level(to_blank, blank_frame), next->blank_level + s, next->blank_rest + s);
        store_states(add_level(to_label, vec_load(label + s)), next->label_level + s,
                     next->label_rest + s);
    }
}

static void backward(const hm_ctc_row *next, int64_t labels, const double *skip, double blank,
                     const double *label, const hm_ctc_row *now)
{
    const vec blank_frame = vec_of(blank);
    for (int64_t s = 0; s <= labels; s += VEC_WIDTH) {
        const states here = add_level(load_states(next->label_level + s, next->label_rest + s),
                                      vec_load(label + s));
        const states blanks =
            add_level(load_states(next->blank_level + s, next->blank_rest + s), blank_frame);
        const states after = add_level(
            load_states(next->blank_level + s + 1, next->blank_rest + s + 1), blank_frame);
        states beyond = add_level(load_states(next->label_level + s + 1, next->label_rest + s + 1),
                                  vec_load(label + s + 1));
        beyond.level = vec_min(beyond.level, vec_load(skip + s + 1));
        store_states(join(blanks, here), now->blank_level + s, now->blank_rest + s);
        store_states(join(join(here, after), beyond), now->label_level + s, now->label_rest + s);
    }
}

VEC_INLINE void settle_states(double *level, double *rest, double taken)
{
    const vec r = vec_load(rest), l = vec_load(level), nowhere = vec_of(HM_CTC_NOWHERE);
    const vec_mask large = vec_greater(r, vec_of(1.0));
    const vec settled = vec_max((l + vec_log1p(vec_keep(large, r))) - taken, nowhere);
    vec_store(level, vec_select(vec_equal(l, nowhere), nowhere, settled));
    vec_store(rest, vec_select(large, vec_of(0.0), r));
}

static double settle(const hm_ctc_row *row, int64_t labels)
{
    vec most = vec_of(HM_CTC_NOWHERE);
    for (int64_t s = 0; s <= labels; s += VEC_WIDTH)
        most =
            vec_max(most, vec_max(vec_load(row->blank_level + s), vec_load(row->label_level + s)));
    const double top = vec_largest(most);
    const double whole = top > -0x1p51 ? (top + 0x1.8p52) - 0x1.8p52 : top;
    for (int64_t s = 0; s <= labels; s += VEC_WIDTH) {
        settle_states(row->blank_level + s, row->blank_rest + s, whole);
        settle_states(row->label_level + s, row->label_rest + s, whole);
    }
    return whole;
}

VEC_INLINE vec share_of(states a, states b, vec total)
{
    const vec weight = decay_or_nothing(vec_min((a.level - total) + b.level, vec_of(0.0)));
    return weight * (1.0 + a.rest) * (1.0 + b.rest);
}

static void share(const hm_ctc_row *before, const hm_ctc_row *after, int64_t labels, double total,
                  double *blank, double *label)
{
    const vec t = vec_of(total);
    for (int64_t s = 0; s <= labels; s += VEC_WIDTH) {
        vec_store(blank + s,
                  share_of(load_states(before->blank_level + s, before->blank_rest + s),
                           load_states(after->blank_level + s, after->blank_rest + s), t));
        vec_store(label + s,
                  share_of(load_states(before->label_level + s, before->label_rest + s),
                           load_states(after->label_level + s, after->label_rest + s), t));
    }
}

static double log_total(double level, double rest, double other_level, double other_rest)
{
    const states sum = join((states){vec_of(level), vec_of(rest)},
                            (states){vec_of(other_level), vec_of(other_rest)});
    return (sum.level + vec_log1p(sum.rest))[0];
}

extern const hm_ctc_kernels HM_K(ctc);
const hm_ctc_kernels HM_K(ctc) = {
    .forward = forward,
    .backward = backward,
    .settle = settle,
    .share = share,
    .log_total = log_total,
};
