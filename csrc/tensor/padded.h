/*
 * Images copied once into zeros, so that convolution never meets an edge.
 *
 * An axis of stride s is copied apart into phases: pixels s apart become neighbours. Output pixel q
 * of tap t reads the coordinate q*s + t*d of the padded image: it is pixel q + (t*d div s) of the
 * phase with residue t*d mod s, so that neighbouring output pixels read neighbouring doubles.
 */
#ifndef HM_PADDED_H
#define HM_PADDED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/arrange.h"

enum { HM_CONV_AXES = 3 };

typedef struct hm_padded_axis {
    int64_t image;  /* extent of the image */
    int64_t phases; /* residues that some tap needs */
    int64_t stride; /* between neighbours of a phase */
    int64_t
        dilation;   /* phase p holds the coordinates start + p*dilation mod stride, + stride, ... */
    int64_t start;  /* coordinate of the first padded pixel, seen from the image's first */
    int64_t extent; /* pixels of a phase */
} hm_padded_axis;

typedef struct hm_padded {
    hm_padded_axis axis[HM_CONV_AXES];
    int64_t plane;   /* doubles of one phase of all axes */
    int64_t channel; /* doubles of one channel: all phases */
    bool in_place;   /* the copy would equal the image */
} hm_padded;

/* Taps so far apart have the same residue: stride / gcd(stride, dilation). */
int64_t hm_stride_period(int64_t stride, int64_t dilation);

/* What a convolution reads along an axis for `output` pixels. */
hm_padded_axis hm_padded_forward(int64_t image, int64_t output, int64_t kernel, int64_t stride,
                                 int64_t padding, int64_t dilation);

/* The image with so many zeros in front and so many pixels altogether. */
hm_padded_axis hm_padded_plain(int64_t image, int64_t front, int64_t extent);

/* False where no memory has room for so many channels, so that offsets into them fit too. */
bool hm_padded_measure(hm_padded *padded, int64_t channels);

/* Offset, within a channel, of what tap (t0, t1, t2) adds to an output pixel of a convolution. */
int64_t hm_padded_tap(const hm_padded *padded, const int64_t tap[HM_CONV_AXES]);

/* One channel. Not `fresh`, the copy holds one already: its zeros stay. */
void hm_padded_copy(const hm_padded *padded, const hm_arrange_kernels *kernels, bool fresh,
                    const double *image, double *copy);

#endif
