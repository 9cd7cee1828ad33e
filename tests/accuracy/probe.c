/* The bare elementwise kernels of one table, by name, for measure.py. */
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

#define VISIBLE __attribute__((visibility("default")))

#define NAME(name) #name,
static const char *const unary_names[] = {HM_UNARY_LIST(NAME)};
static const char *const binary_names[] = {HM_BINARY_LIST(NAME)};
static const char *const activation_names[] = {HM_ACTIVATION_LIST(NAME)};

static int find(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* Each returns 1 where all is finite, 0 where not, -1 without such a table or kernel. */
VISIBLE int probe_unary(int32_t isa, const char *name, size_t n, const double *x, double *out);
VISIBLE int probe_binary(int32_t isa, const char *name, size_t n, const double *a, const double *b,
                         double *out);
VISIBLE int probe_activation(int32_t isa, const char *name, int derivative, size_t n,
                             double parameter, const double *x, double *out);
VISIBLE int probe_turn(int32_t isa, size_t n, double position, const double *high,
                       const double *low, double *sines, double *cosines);

int probe_unary(int32_t isa, const char *name, size_t n, const double *x, double *out)
{
    const hm_kernels *k = hm_kernels_for(isa);
    const int slot = find(unary_names, HM_UNARY_COUNT, name);
    return k && slot >= 0 ? k->elementwise->unary[slot](n, x, out) : -1;
}

int probe_binary(int32_t isa, const char *name, size_t n, const double *a, const double *b,
                 double *out)
{
    const hm_kernels *k = hm_kernels_for(isa);
    const int slot = find(binary_names, HM_BINARY_COUNT, name);
    return k && slot >= 0 ? k->elementwise->binary[slot](n, a, 1, b, 1, out) : -1;
}

int probe_activation(int32_t isa, const char *name, int derivative, size_t n, double parameter,
                     const double *x, double *out)
{
    const hm_kernels *k = hm_kernels_for(isa);
    const int slot = find(activation_names, HM_ACTIVATION_COUNT, name);
    if (!k || slot < 0)
        return -1;
    return (derivative ? k->elementwise->activation_derivative
                       : k->elementwise->activation)[slot](n, parameter, x, out);
}

int probe_turn(int32_t isa, size_t n, double position, const double *high, const double *low,
               double *sines, double *cosines)
{
    const hm_kernels *k = hm_kernels_for(isa);
    if (!k)
        return -1;
    k->elementwise->turn(n, position, high, low, sines, cosines);
    return 1;
}
