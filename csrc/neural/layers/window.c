#include "neural/layers/window.h"

#include <stdio.h>

/* Products of two 64-bit numbers: nothing here can overflow. */
__extension__ typedef __int128 wide;

/*
 * Where the window reaches: positions, twice the padding included, must fit 64 bits as well. No step is
 * taken by a single window, and none between the taps of a kernel with one. So that everybody's products
 * of positions stay in range, such a step is the least for which there are no more windows (`slack`
 * positions are left behind the first) or taps: with it the formula for the extent still holds.
 */
static hm_status publish(hm_context *ctx, int axis, wide padded, wide needed, wide places,
                         wide windows, wide slack, hm_window *window)
{
    if (places < 1) {
        char expected[64], actual[96];
        snprintf(expected, sizeof expected, "an output extent of at least 1 on axis %d", axis);
        snprintf(actual, sizeof actual, "an extent of %.0f where %.0f are needed", (double)padded,
                 (double)needed);
        return hm_fail_shape(ctx, "input", expected, actual);
    }
    if (places > INT64_MAX || padded > INT64_MAX || needed > INT64_MAX)
        return hm_fail_memory(ctx);
    window->places = (int64_t)places;
    if (windows == 1 && window->stride > slack)
        window->stride = (int64_t)slack + 1;
    if (window->kernel == 1)
        window->dilation = 1;
    return HMATH_OK;
}

hm_status hm_window_slide(hm_context *ctx, int axis, hm_window *window)
{
    const wide padded = (wide)window->extent + 2 * (wide)window->padding;
    const wide needed = (wide)window->dilation * (window->kernel - 1) + 1;
    const wide places = padded < needed ? 0 : (padded - needed) / window->stride + 1;
    return publish(ctx, axis, padded, needed, places, places, padded - needed, window);
}

hm_status hm_window_spread(hm_context *ctx, int axis, int64_t output_padding, hm_window *window)
{
    const wide reach = ((wide)window->extent - 1) * window->stride +
                       (wide)window->dilation * (window->kernel - 1) + 1 + output_padding;
    const wide cropped = 2 * (wide)window->padding;
    return publish(ctx, axis, reach, cropped + 1, reach - cropped, window->extent, output_padding,
                   window);
}
