/*
 * Convolution and its two gradients, bit by bit against the sums that define them: every table, one
 * to four threads, geometries that reach every phase, run and path.
 */
#include <stdlib.h>

#include "runtime/context.h"
#include "tables.h"
#include "tensor/conv.h"

static uint64_t state = 2;

static int64_t pick(int64_t least, int64_t most)
{
    return least + (int64_t)(next_word(&state) % (uint64_t)(most - least + 1));
}

/* Operands end where their memory ends, so that the address sanitizer sees every read beyond. */
static double *numbers(int64_t n)
{
    double *p = malloc((size_t)(n ? n : 1) * sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = next_spread(&state, 12);
    return p;
}

static int64_t product(const int64_t extent[HM_CONV_AXES])
{
    return extent[0] * extent[1] * extent[2];
}

/* ---- the definitions ---- */

/* Flat place in the input of tap t at output pixel o; -1 in the padding. */
static int64_t reads(const hm_conv *c, int64_t o, int64_t t)
{
    const int64_t pixel[] = {o / (c->output[1] * c->output[2]), o / c->output[2] % c->output[1],
                             o % c->output[2]};
    const int64_t tap[] = {t / (c->kernel[1] * c->kernel[2]), t / c->kernel[2] % c->kernel[1],
                           t % c->kernel[2]};
    int64_t flat = 0;
    for (int a = 0; a < HM_CONV_AXES; a++) {
        const int64_t i = pixel[a] * c->stride[a] + tap[a] * c->dilation[a] - c->padding[a];
        if (i < 0 || i >= c->input[a])
            return -1;
        flat = flat * c->input[a] + i;
    }
    return flat;
}

typedef struct problem {
    hm_conv conv;
    double *input, *weights, *output; /* operands, whichever are */
    double *in_bias, *out_bias;
    int64_t input_size, weights_size, output_size;
} problem;

static void reference_forward(const problem *p, const double *bias, double *out)
{
    const hm_conv *c = &p->conv;
    const int64_t in = c->in_channels / c->groups, over = c->out_channels / c->groups;
    const int64_t taps = product(c->kernel), pixels = product(c->output), plane = product(c->input);
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t o = 0; o < c->out_channels; o++)
            for (int64_t pixel = 0; pixel < pixels; pixel++) {
                double acc = 0.0;
                for (int64_t i = 0; i < in; i++)
                    for (int64_t t = 0; t < taps; t++) {
                        const int64_t at = reads(c, pixel, t);
                        const int64_t channel = n * c->in_channels + o / over * in + i;
                        if (at >= 0)
                            acc = fma(p->weights[(o * in + i) * taps + t],
                                      p->input[channel * plane + at], acc);
                    }
                out[(n * c->out_channels + o) * pixels + pixel] =
                    (bias ? acc + bias[o] : acc) + 0.0;
            }
}

/* Terms scattered in the order of their chains: all pixels of an output channel reached by one tap.
 */
static void reference_adjoint(const problem *p, const double *bias, double *out)
{
    const hm_conv *c = &p->conv;
    const int64_t in = c->in_channels / c->groups, over = c->out_channels / c->groups;
    const int64_t taps = product(c->kernel), pixels = product(c->output), plane = product(c->input);
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t i = 0; i < c->in_channels; i++) {
            double *to = out + (n * c->in_channels + i) * plane;
            for (int64_t q = 0; q < plane; q++)
                to[q] = 0.0;
            for (int64_t o = i / in * over; o < (i / in + 1) * over; o++)
                for (int64_t t = 0; t < taps; t++)
                    for (int64_t pixel = 0; pixel < pixels; pixel++) {
                        const int64_t at = reads(c, pixel, t);
                        if (at >= 0)
                            to[at] =
                                fma(p->weights[(o * in + i % in) * taps + t],
                                    p->output[(n * c->out_channels + o) * pixels + pixel], to[at]);
                    }
            for (int64_t q = 0; q < plane; q++)
                to[q] = (bias ? to[q] + bias[i] : to[q]) + 0.0;
        }
}

static void reference_weights(const problem *p, double *out)
{
    const hm_conv *c = &p->conv;
    const int64_t in = c->in_channels / c->groups, over = c->out_channels / c->groups;
    const int64_t taps = product(c->kernel), pixels = product(c->output), plane = product(c->input);
    for (int64_t o = 0; o < c->out_channels; o++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t t = 0; t < taps; t++) {
                double acc = 0.0;
                for (int64_t n = 0; n < c->batch; n++)
                    for (int64_t pixel = 0; pixel < pixels; pixel++) {
                        const int64_t at = reads(c, pixel, t);
                        const int64_t channel = n * c->in_channels + o / over * in + i;
                        if (at >= 0)
                            acc = fma(p->output[(n * c->out_channels + o) * pixels + pixel],
                                      p->input[channel * plane + at], acc);
                    }
                out[(o * in + i) * taps + t] = acc + 0.0;
            }
}

/* ---- comparison ---- */

enum { THREADS = 4 };

static hm_context *contexts[ISA_LAST + 1][THREADS + 1];

typedef enum direction { FORWARD, ADJOINT, WEIGHTS } direction;
static const char *const direction_name[] = {"forward", "adjoint", "weights"};

static hm_status apply(hm_context *ctx, const problem *p, direction d, bool biased, double *out,
                       bool *finite)
{
    switch (d) {
    case FORWARD:
        return hm_convolve(ctx, &p->conv, p->input, p->weights, biased ? p->out_bias : NULL, out,
                           finite);
    case ADJOINT:
        return hm_convolve_adjoint(ctx, &p->conv, p->output, p->weights, biased ? p->in_bias : NULL,
                                   out, finite);
    case WEIGHTS: return hm_convolve_weights(ctx, &p->conv, p->input, p->output, out, finite);
    }
    return HMATH_BAD_ARGUMENT;
}

static void print_problem(const hm_conv *c, direction d, int isa, int threads)
{
    printf("%s isa %d threads %d: batch %d groups %d channels %d -> %d", direction_name[d], isa,
           threads, (int)c->batch, (int)c->groups, (int)c->in_channels, (int)c->out_channels);
    for (int a = 0; a < HM_CONV_AXES; a++)
        printf(" | %d -> %d k%d s%d p%d d%d", (int)c->input[a], (int)c->output[a],
               (int)c->kernel[a], (int)c->stride[a], (int)c->padding[a], (int)c->dilation[a]);
    printf("\n");
}

static void check_direction(const problem *p, direction d, bool biased, bool finite)
{
    const int64_t sizes[] = {p->output_size, p->input_size, p->weights_size}, size = sizes[d];
    double *wanted = numbers(size), *got = numbers(size);
    if (d == FORWARD)
        reference_forward(p, biased ? p->out_bias : NULL, wanted);
    else if (d == ADJOINT)
        reference_adjoint(p, biased ? p->in_bias : NULL, wanted);
    else
        reference_weights(p, wanted);
    int isa = 0;
    while (next_table(&isa))
        for (int threads = 1; threads <= THREADS; threads++) {
            for (int64_t i = 0; i < size; i++)
                got[i] = NAN;
            bool all_finite = !finite;
            CHECK_INT(apply(contexts[isa][threads], p, d, biased, got, &all_finite), HMATH_OK);
            int64_t wrong = 0;
            for (int64_t i = 0; i < size; i++)
                wrong += memcmp(&got[i], &wanted[i], sizeof *got) != 0 &&
                         !(isnan(wanted[i]) && isnan(got[i]) && !finite);
            bool good = CHECK_INT(wrong, 0);
            good &= CHECK_INT(all_finite, finite);
            if (!good)
                print_problem(&p->conv, d, isa, threads);
        }
    free(got);
    free(wanted);
}

static problem make_problem(hm_conv c)
{
    problem p = {.conv = c};
    p.input_size = c.batch * c.in_channels * product(c.input);
    p.output_size = c.batch * c.out_channels * product(c.output);
    p.weights_size = c.out_channels * (c.in_channels / c.groups) * product(c.kernel);
    p.input = numbers(p.input_size);
    p.output = numbers(p.output_size);
    p.weights = numbers(p.weights_size);
    p.in_bias = numbers(c.in_channels);
    p.out_bias = numbers(c.out_channels);
    return p;
}

static void free_problem(problem *p)
{
    free(p->input);
    free(p->output);
    free(p->weights);
    free(p->in_bias);
    free(p->out_bias);
}

static void check_conv(hm_conv c)
{
    problem p = make_problem(c);
    for (direction d = FORWARD; d <= WEIGHTS; d++)
        check_direction(&p, d, pick(0, 1), true);
    free_problem(&p);
}

/* An axis with room for at least one output pixel; sometimes less of the output than there is room
 * for. */
static void set_axis(hm_conv *c, int a, int64_t input, int64_t kernel, int64_t stride,
                     int64_t padding, int64_t dilation)
{
    const int64_t reach = (kernel - 1) * dilation + 1;
    if (input + 2 * padding < reach)
        input = reach - 2 * padding > 0 ? reach - 2 * padding : 1;
    c->input[a] = input;
    c->kernel[a] = kernel;
    c->stride[a] = stride;
    c->padding[a] = padding;
    c->dilation[a] = dilation;
    c->output[a] = (input + 2 * padding - reach) / stride + 1;
}

static hm_conv plain(int64_t batch, int64_t groups, int64_t in, int64_t out)
{
    hm_conv c = {.batch = batch, .groups = groups, .in_channels = in, .out_channels = out};
    for (int a = 0; a < HM_CONV_AXES; a++)
        set_axis(&c, a, 1, 1, 1, 0, 1);
    return c;
}

/* ---- tests ---- */

/* Drawn one after the other, so that every compiler draws the same. */
static void set_random_axis(hm_conv *c, int a, int64_t longest)
{
    const int64_t input = pick(1, longest);
    const int64_t kernel = pick(1, 4);
    const int64_t stride = pick(0, 1) ? 1 : pick(1, 4);
    const int64_t padding = pick(0, 1) ? 0 : pick(0, 4);
    set_axis(c, a, input, kernel, stride, padding, pick(0, 1) ? 1 : pick(1, 4));
}

static void random_shapes(int axes, int64_t longest, int count)
{
    for (int n = 0; n < count; n++) {
        const int64_t groups = pick(0, 2) ? 1 : pick(1, 3);
        const int64_t in = pick(1, 4), out = pick(1, 11);
        hm_conv c = plain(1 + n % 3, groups, groups * in, groups * out);
        for (int a = HM_CONV_AXES - axes; a < HM_CONV_AXES; a++)
            set_random_axis(&c, a, longest);
        check_conv(c);
    }
}

static void test_conv__one_axis(void) { random_shapes(1, 60, 300); }

static void test_conv__two_axes(void) { random_shapes(2, 22, 200); }

static void test_conv__three_axes(void) { random_shapes(3, 8, 80); }

static void test_conv__pointwise(void)
{
    for (int n = 0; n < 20; n++) {
        const int64_t groups = pick(1, 2);
        const int64_t in = pick(1, 20), out = pick(1, 20);
        hm_conv c = plain(1 + n % 3, groups, groups * in, groups * out);
        set_axis(&c, 1, pick(1, 9), 1, 1, 0, 1);
        set_axis(&c, 2, pick(1, 9), 1, 1, 0, 1);
        check_conv(c);
    }
}

static void test_conv__depthwise(void)
{
    for (int n = 0; n < 20; n++) {
        const int64_t groups = pick(2, 12);
        hm_conv c = plain(1 + n % 2, groups, groups, groups * (1 + n / 2 % 3));
        set_random_axis(&c, 1, 20);
        set_random_axis(&c, 2, 80);
        check_conv(c);
    }
}

/* The path of its own that 3 x 3 kernels on single channels have, at every width from its least on.
 */
static void test_conv__planes(void)
{
    for (int64_t width = 1; width < 76; width += width < 36 ? 1 : 3) {
        const int64_t groups = pick(3, 9), padding = pick(0, 2);
        hm_conv c = plain(1 + width % 3, groups, groups, groups * (1 + width % 2));
        set_axis(&c, 1, pick(1, 9), 3, 1, padding, 1);
        set_axis(&c, 2, width, 3, 1, padding, 1);
        check_conv(c);
    }
    for (int64_t rows = 1; rows < 4; rows++) {
        hm_conv c = plain(2, 3, 3, 6);
        set_axis(&c, 1, rows, 3, 1, 1, 1);
        set_axis(&c, 2, 19, 3, 1, 1, 1);
        check_conv(c);
    }
}

/* Packed weights, several panels and bands, several images in flight, strides beyond the kernel. */
static void test_conv__larger(void)
{
    hm_conv c = plain(1, 1, 24, 40);
    set_axis(&c, 1, 28, 3, 1, 1, 1);
    set_axis(&c, 2, 28, 3, 1, 1, 1);
    check_conv(c);
    c = plain(9, 1, 20, 27);
    set_axis(&c, 1, 14, 3, 2, 1, 1);
    set_axis(&c, 2, 15, 3, 2, 1, 1);
    check_conv(c);
    c = plain(1, 1, 2, 3);
    set_axis(&c, 2, 9000, 5, 1, 2, 1); /* more runs than a band */
    check_conv(c);
    c = plain(2, 1, 3, 9);
    set_axis(&c, 1, 33, 2, 7, 3, 1);
    set_axis(&c, 2, 40, 3, 5, 1, 3);
    check_conv(c);
    c = plain(2, 1, 500, 9); /* weights too long to pack in a panel */
    set_axis(&c, 1, 6, 3, 1, 1, 1);
    set_axis(&c, 2, 9, 3, 1, 1, 1);
    check_conv(c);
    c = plain(1, 1, 3, 250); /* more output channels than a block of the weight gradient */
    set_axis(&c, 1, 20, 3, 1, 0, 1);
    set_axis(&c, 2, 20, 3, 1, 0, 1);
    check_conv(c);
}

/* Runs that go on in the next row, which whole tiles of rows have: at every place of the fold, with
 * weights packed and in place, results side by side and apart, over one plane and several. */
static void test_conv__folded_rows(void)
{
    for (int64_t width = 7; width < 32; width++) {
        hm_conv c = plain(1 + width % 2, 1, 8, 16);
        set_axis(&c, 1, pick(2, 6), 3, 1, 1, 1);
        set_axis(&c, 2, width, 3, 1, 1, 1);
        check_conv(c);
        set_axis(&c, 1, width % 3 ? 7 : 800 / width, 3, 1, 2, 2);
        set_axis(&c, 2, width, 2, 1, pick(0, 1), 1);
        check_conv(c);
        set_axis(&c, 1, 2 * pick(3, 7), 4, 2, 1, 1);
        set_axis(&c, 2, 2 * width - width % 2, 4, 2, 1, 1);
        check_conv(c);
    }
    hm_conv c = plain(2, 2, 16, 16);
    set_axis(&c, 0, 4, 2, 1, 1, 1);
    set_axis(&c, 1, 5, 3, 1, 1, 1);
    set_axis(&c, 2, 13, 3, 1, 1, 1);
    check_conv(c);
    c = plain(1, 1, 8, 8); /* in cuts, for threads that share an image */
    set_axis(&c, 1, 90, 3, 1, 1, 1);
    set_axis(&c, 2, 28, 3, 1, 1, 1);
    check_conv(c);
}

/* Few images with pixels enough that each thread copies what its own results read. */
static void test_conv__windows_for_threads(void)
{
    hm_conv c = plain(1, 1, 5, 9);
    set_axis(&c, 2, 4100, 3, 1, 1, 1);
    check_conv(c);
    set_axis(&c, 2, 4100, 4, 2, 1, 3);
    check_conv(c);
    c = plain(2, 1, 3, 10);
    set_axis(&c, 1, 61, 3, 1, 2, 2);
    set_axis(&c, 2, 37, 3, 1, 1, 1);
    check_conv(c);
    set_axis(&c, 1, 90, 4, 2, 1, 1);
    set_axis(&c, 2, 91, 3, 2, 1, 1);
    check_conv(c);
    c = plain(1, 1, 4, 5);
    set_axis(&c, 0, 13, 3, 1, 1, 1);
    set_axis(&c, 1, 12, 3, 1, 2, 2);
    set_axis(&c, 2, 17, 3, 1, 1, 1);
    check_conv(c);
    set_axis(&c, 0, 17, 2, 3, 1, 1);
    set_axis(&c, 1, 30, 3, 2, 1, 1);
    check_conv(c);
}

/* Sources beyond a cache, of which the results of some rows read a part: along each axis that can be
 * the outermost, the last window smaller and within the padding, weights packed and in place. */
static void test_conv__windows_for_caches(void)
{
    hm_conv c = plain(2, 1, 70, 12);
    set_axis(&c, 2, 1500, 3, 1, 2, 1);
    check_conv(c);
    c = plain(1, 1, 90, 2);
    set_axis(&c, 1, 41, 3, 1, 1, 1);
    set_axis(&c, 2, 29, 3, 1, 3, 2);
    check_conv(c);
    c = plain(1, 1, 33, 33);
    set_axis(&c, 1, 51, 3, 2, 1, 1);
    set_axis(&c, 2, 60, 2, 2, 1, 1);
    check_conv(c);
    c = plain(1, 2, 80, 16);
    set_axis(&c, 0, 13, 2, 1, 1, 2);
    set_axis(&c, 1, 9, 3, 1, 1, 1);
    set_axis(&c, 2, 14, 1, 1, 0, 1);
    check_conv(c);
    c = plain(1, 1, 1, 4); /* planes of one channel */
    set_axis(&c, 1, 300, 3, 1, 1, 1);
    set_axis(&c, 2, 301, 3, 1, 1, 1);
    check_conv(c);
}

/* A stride that no loop may run over; rows of the result that no tap reaches. */
static void test_conv__huge_stride(void)
{
    hm_conv c = plain(2, 1, 2, 3);
    set_axis(&c, 1, 5, 2, (int64_t)1 << 40, 0, 1);
    set_axis(&c, 2, 11, 1, 6, 0, 1);
    check_conv(c);
}

static void test_conv__nothing(void)
{
    hm_conv c = plain(0, 1, 2, 3);
    set_axis(&c, 2, 9, 3, 1, 1, 1);
    check_conv(c);
    c.batch = 2;
    c.in_channels = 0; /* empty chains: the bias alone */
    check_conv(c);
    c.in_channels = 2;
    c.out_channels = 0;
    check_conv(c);
}

/* Tiny times tiny of the other sign rounds to -0; results are +0, in the padding and out of it. */
static void test_conv__zeros(void)
{
    hm_conv c = plain(1, 1, 2, 9);
    set_axis(&c, 1, 9, 3, 1, 1, 1);
    set_axis(&c, 2, 20, 3, 1, 1, 1);
    problem p = make_problem(c);
    for (int64_t i = 0; i < p.input_size; i++)
        p.input[i] = -0x1p-700;
    for (int64_t i = 0; i < p.output_size; i++)
        p.output[i] = -0x1p-600;
    for (int64_t i = 0; i < p.weights_size; i++)
        p.weights[i] = 0x1p-600;
    for (int64_t i = 0; i < c.out_channels; i++)
        p.out_bias[i] = -0.0;
    for (direction d = FORWARD; d <= WEIGHTS; d++)
        check_direction(&p, d, d == FORWARD, true);
    free_problem(&p);
}

/* An overflow is noticed in a result, and not where a vector hangs over into pixels that are none.
 */
static void test_conv__overflow(void)
{
    for (int64_t width = 4; width < 24; width++) {
        hm_conv c = width % 2 ? plain(1, 1, 2, 5) : plain(4, 2, 2, 2);
        set_axis(&c, 1, 6, 3, 1, 0, 1);
        set_axis(&c, 2, width, 3, 1, 0, 1);
        problem p = make_problem(c);
        /* A window holds the first column of a row or the last one, which is finite, but both only
           where it goes over the row's end. */
        for (int64_t i = 0; i < p.input_size; i++)
            p.input[i] = i % width == 0 || i % width == width - 1 ? 0x1.6ap1022 : 0.0;
        for (int64_t i = 0; i < p.weights_size; i++)
            p.weights[i] = 0.25;
        check_direction(&p, FORWARD, false, true);
        p.input[pick(0, p.input_size - 1)] = 0x1.8p1023;
        for (int64_t i = 0; i < p.weights_size; i++)
            p.weights[i] = 2.0;
        check_direction(&p, FORWARD, false, false);
        p.output[pick(0, p.output_size - 1)] = 0x1.8p1023;
        check_direction(&p, ADJOINT, false, false);
        for (int64_t i = 0; i < p.input_size; i++)
            p.input[i] = 3.0;
        check_direction(&p, WEIGHTS, false, false);
        free_problem(&p);
    }
}

int main(void)
{
    int isa = 0;
    while (next_table(&isa))
        for (int threads = 1; threads <= THREADS; threads++) {
            const hmath_options options = {
                .struct_size = sizeof options, .threads = threads, .isa = isa};
            CHECK_INT(hmath_context_create(&options, &contexts[isa][threads]), HMATH_OK);
            CHECK_INT(hm_enter(contexts[isa][threads], "test"), HMATH_OK);
        }
    RUN(test_conv__one_axis);
    RUN(test_conv__two_axes);
    RUN(test_conv__three_axes);
    RUN(test_conv__pointwise);
    RUN(test_conv__depthwise);
    RUN(test_conv__planes);
    RUN(test_conv__larger);
    RUN(test_conv__folded_rows);
    RUN(test_conv__windows_for_threads);
    RUN(test_conv__windows_for_caches);
    RUN(test_conv__huge_stride);
    RUN(test_conv__nothing);
    RUN(test_conv__zeros);
    RUN(test_conv__overflow);
    for (int i = 0; i <= ISA_LAST; i++)
        for (int threads = 1; threads <= THREADS; threads++)
            if (contexts[i][threads]) {
                CHECK_INT(hm_leave(contexts[i][threads], HMATH_OK), HMATH_OK);
                hmath_context_destroy(contexts[i][threads]);
            }
    return check_report();
}
