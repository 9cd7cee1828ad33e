#include "tensor/padded.h"

#include <string.h>

#include "runtime/checked.h"

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

/* Where phase p begins, and which of its pixels lie in the image: those from *begin up to *end. */
static int64_t phase_start(const hm_padded_axis *axis, int64_t p, int64_t *begin, int64_t *end)
{
    const int64_t start = axis->start + p * axis->dilation % axis->stride;
    *begin = start >= 0 ? 0 : (-start - 1) / axis->stride + 1;
    *end = start >= axis->image ? 0 : (axis->image - 1 - start) / axis->stride + 1;
    if (*begin > axis->extent)
        *begin = axis->extent;
    if (*end > axis->extent)
        *end = axis->extent;
    if (*end < *begin)
        *end = *begin;
    return start;
}

static void zeros(double *out, int64_t n) { memset(out, 0, (size_t)n * sizeof *out); }

/* A row of a phase. */
static void copy_row(const hm_padded_axis *axis, int64_t phase, const double *image, double *out)
{
    int64_t begin, end;
    const int64_t start = phase_start(axis, phase, &begin, &end);
    zeros(out, begin);
    if (axis->stride == 1 && begin < end)
        memcpy(out + begin, image + start + begin, (size_t)(end - begin) * sizeof *out);
    else
        for (int64_t i = begin; i < end; i++)
            out[i] = image[start + i * axis->stride];
    zeros(out + end, axis->extent - end);
}

/* A plane of a phase: rows that lie in the image, between rows of zeros. */
static void copy_plane(const hm_padded_axis axis[2], const int64_t phase[2], const double *image,
                       double *out)
{
    int64_t begin, end;
    const int64_t start = phase_start(&axis[0], phase[0], &begin, &end), width = axis[1].extent;
    zeros(out, begin * width);
    for (int64_t y = begin; y < end; y++)
        copy_row(&axis[1], phase[1], image + (start + y * axis[0].stride) * axis[1].image,
                 out + y * width);
    zeros(out + end * width, (axis[0].extent - end) * width);
}

void hm_padded_copy(const hm_padded *p, const double *image, double *copy)
{
    const hm_padded_axis *axis = p->axis;
    const int64_t image_plane = axis[1].image * axis[2].image;
    const int64_t plane = axis[1].extent * axis[2].extent;
    for (int64_t pz = 0; pz < axis[0].phases; pz++)
        for (int64_t py = 0; py < axis[1].phases; py++)
            for (int64_t px = 0; px < axis[2].phases; px++, copy += p->plane) {
                const int64_t phase[2] = {py, px};
                int64_t begin, end;
                const int64_t start = phase_start(&axis[0], pz, &begin, &end);
                zeros(copy, begin * plane);
                for (int64_t z = begin; z < end; z++)
                    copy_plane(axis + 1, phase, image + (start + z * axis[0].stride) * image_plane,
                               copy + z * plane);
                zeros(copy + end * plane, (axis[0].extent - end) * plane);
            }
}
