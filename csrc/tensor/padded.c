#include "tensor/padded.h"

#include <string.h>

#include "runtime/checked.h"
#include "tensor/extent.h"

int64_t hm_stride_period(int64_t stride, int64_t dilation)
{
    int64_t a = stride, b = dilation; /* Euclid: a becomes their greatest common divisor */
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return stride / a;
}

hm_padded_axis hm_padded_forward(int64_t image, int64_t output, int64_t kernel, int64_t stride,
                                 int64_t padding, int64_t dilation)
{
    const int64_t period = hm_stride_period(stride, dilation);
    return (hm_padded_axis){
        .image = image,
        .phases = kernel < period ? kernel : period,
        .stride = stride,
        .dilation = dilation,
        .start = -padding,
        .extent = output + (kernel - 1) * dilation / stride,
    };
}

hm_padded_axis hm_padded_plain(int64_t image, int64_t front, int64_t extent)
{
    return (hm_padded_axis){
        .image = image, .phases = 1, .stride = 1, .dilation = 1, .start = -front, .extent = extent};
}

bool hm_padded_measure(hm_padded *p, int64_t channels)
{
    const int64_t most = (int64_t)1 << 48; /* doubles: more than any address space, with room for
                                              a copy a thread in 64 bits */
    int64_t all;
    p->plane = p->channel = 1;
    p->in_place = true;
    for (int a = 0; a < HM_CONV_AXES; a++) {
        const hm_padded_axis *axis = &p->axis[a];
        if (!hm_multiply_int(p->plane, axis->extent, &p->plane) ||
            !hm_multiply_int(p->channel, axis->phases, &p->channel))
            return false;
        p->in_place &= axis->stride == 1 && axis->start == 0 && axis->extent == axis->image;
    }
    return hm_multiply_int(p->channel, p->plane, &p->channel) &&
           hm_multiply_int(p->channel, channels, &all) && all <= most;
}

int64_t hm_padded_tap(const hm_padded *p, const int64_t tap[HM_CONV_AXES])
{
    int64_t phase = 0, pixel = 0;
    for (int a = 0; a < HM_CONV_AXES; a++) {
        const hm_padded_axis *axis = &p->axis[a];
        phase = phase * axis->phases + tap[a] % axis->phases;
        pixel = pixel * axis->extent + tap[a] * axis->dilation / axis->stride;
    }
    return phase * p->plane + pixel;
}

/* The pixels of a phase that lie in the image: begin up to end; pixel i is the image's first + i * stride.
 */
typedef struct span {
    int64_t first, begin, end;
} span;

static span span_of(const hm_padded_axis *axis, int64_t phase)
{
    const int64_t first = axis->start + phase * axis->dilation % axis->stride;
    span s = {.first = first};
    s.begin = first >= 0 ? 0 : (-first - 1) / axis->stride + 1;
    s.end = first >= axis->image ? 0 : (axis->image - 1 - first) / axis->stride + 1;
    s.begin = hm_least(s.begin, axis->extent);
    s.end = hm_most(s.begin, hm_least(s.end, axis->extent));
    return s;
}

static void zeros(double *out, int64_t n) { memset(out, 0, (size_t)n * sizeof *out); }

/* Around the box of pixels, its rows' gaps included. */
static void clear_margins(const hm_padded_axis axis[2], span y, span x, double *out)
{
    const int64_t width = axis[1].extent, all = axis[0].extent * width;
    if (y.begin == y.end || x.begin == x.end) {
        zeros(out, all);
        return;
    }
    zeros(out, y.begin * width + x.begin);
    for (int64_t row = y.begin; row + 1 < y.end; row++)
        zeros(out + row * width + x.end, width - (x.end - x.begin));
    const int64_t last = (y.end - 1) * width + x.end;
    zeros(out + last, all - last);
}

/* A plane of a phase. */
static void copy_plane(const hm_arrange_kernels *kernels, const hm_padded_axis axis[2], span y,
                       span x, const double *image, double *out)
{
    const int64_t width = axis[1].extent, stride = axis[1].stride;
    const int64_t rows = y.end - y.begin, pitch = axis[0].stride * axis[1].image;
    if (rows == 0 || x.begin == x.end)
        return;
    image += (y.first + y.begin * axis[0].stride) * axis[1].image;
    out += y.begin * width;
    if (stride == 1) {
        kernels->copy_rows(rows, x.end - x.begin, image + x.first + x.begin, pitch, out + x.begin,
                           width);
        return;
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = x.begin; i < x.end; i++)
            out[row * width + i] = image[row * pitch + x.first + i * stride];
}

/* Planes of one phase of all axes. */
static void copy_phase(const hm_padded *p, const hm_arrange_kernels *kernels, bool fresh,
                       const span s[HM_CONV_AXES], const double *image, double *copy)
{
    const hm_padded_axis *axis = p->axis;
    const int64_t image_plane = axis[1].image * axis[2].image;
    const int64_t plane = axis[1].extent * axis[2].extent;
    for (int64_t z = 0; z < axis[0].extent; z++, copy += plane) {
        const bool inside = z >= s[0].begin && z < s[0].end;
        if (fresh && inside)
            clear_margins(axis + 1, s[1], s[2], copy);
        else if (fresh)
            zeros(copy, plane);
        if (inside)
            copy_plane(kernels, axis + 1, s[1], s[2],
                       image + (s[0].first + z * axis[0].stride) * image_plane, copy);
    }
}

void hm_padded_copy(const hm_padded *p, const hm_arrange_kernels *kernels, bool fresh,
                    const double *image, double *copy)
{
    const hm_padded_axis *axis = p->axis;
    span s[HM_CONV_AXES];
    for (int64_t z = 0; z < axis[0].phases; z++)
        for (int64_t y = 0; y < axis[1].phases; y++)
            for (int64_t x = 0; x < axis[2].phases; x++, copy += p->plane) {
                s[0] = span_of(&axis[0], z);
                s[1] = span_of(&axis[1], y);
                s[2] = span_of(&axis[2], x);
                copy_phase(p, kernels, fresh, s, image, copy);
            }
}
