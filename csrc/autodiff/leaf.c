#include "autodiff/leaf.h"

#include <string.h>

#include "tensor/view.h"

/* ------------------------------------------------- variables */

enum { NAME = 32 };

typedef struct variable {
    hm_shape shape;
    char name[NAME]; /* cut off where it is longer */
} variable;

static hm_status variable_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const variable *)attributes)->shape;
    return HMATH_OK;
}

const hm_op hm_op_variable = {
    .name = "autodiff.variable", .flags = HM_OP_UNIQUE, .shape = variable_shape};

hm_node *hm_ad_variable(hm_graph *g, const char *name, const hm_shape *shape)
{
    variable attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.shape = *shape;
    size_t length = strlen(name);
    if (length >= NAME) {
        length = NAME - 1;
        while (length > 0 && ((unsigned char)name[length] & 0xC0) == 0x80)
            length--; /* not within a character of UTF-8 */
    }
    memcpy(attributes.name, name, length);
    return hm_graph_make(g, &hm_op_variable, &attributes, sizeof attributes, NULL, 0);
}

const char *hm_variable_name(const hm_node *node)
{
    return ((const variable *)hm_node_attributes(node))->name;
}

/* ------------------------------------------------- constants */

typedef struct constant {
    double number; /* where there is no tensor */
    const hm_tensor *tensor;
} constant;

static hm_status constant_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                const void *attributes, hm_shape *out)
{
    const constant *c = attributes;
    (void)inputs, (void)count;
    *out = c->tensor ? c->tensor->shape : (hm_shape){0};
    return c->tensor ? hm_check_tensor_finite(ctx, "value", c->tensor)
                     : hm_check_scalar_finite(ctx, "value", c->number);
}

static void constant_retain(void *attributes) { hm_retain(((constant *)attributes)->tensor); }

static void constant_dispose(void *attributes, hm_released *released)
{
    hm_release_later(released, ((constant *)attributes)->tensor);
}

const hm_op hm_op_constant = {.name = "autodiff.constant",
                              .shape = constant_shape,
                              .retain = constant_retain,
                              .dispose = constant_dispose};

hm_node *hm_ad_constant(hm_graph *g, double x)
{
    constant attributes = {.number = x};
    return hm_graph_make(g, &hm_op_constant, &attributes, sizeof attributes, NULL, 0);
}

hm_node *hm_ad_constant_tensor(hm_graph *g, const hm_tensor *tensor)
{
    if (tensor->shape.rank == 0)
        return hm_ad_constant(g, tensor->data[0]);
    constant attributes = {.tensor = tensor};
    return hm_graph_make(g, &hm_op_constant, &attributes, sizeof attributes, NULL, 0);
}

const double *hm_constant_data(const hm_node *node)
{
    const constant *c = hm_node_attributes(node);
    return c->tensor ? c->tensor->data : &c->number;
}
