/* hmath_ad_*: the older handles. A handle is a node, counted together with its Value. */
#include "abi/autodiff_edge.h"
#include "autodiff/leaf.h"
#include "hmath_autodiff.h"

static hmath_ad *as_handle(const hm_value *v) { return (hmath_ad *)(uintptr_t)v; }

static hm_value *as_value(hmath_ad *handle) { return (hm_value *)handle; }

/* Both ways: one more reference to the same node under the other name. */
hmath_status hmath_ad_value_import(hmath_context *ctx, hmath_ad *handle, hmath_value **out)
{
    hm_graph g;
    hm_status st = hm_graph_enter(ctx, "ad_value_import", out, &g);
    return st != HMATH_OK ? st
                          : hm_graph_leave(&g, hm_arg_node(&g, "handle", as_value(handle)), out);
}

hmath_status hmath_ad_value_export(hmath_context *ctx, const hmath_value *value, hmath_ad **out)
{
    hm_graph g;
    hm_value *node = NULL;
    hm_status st = hm_graph_enter(ctx, "ad_value_export", out ? &node : NULL, &g);
    if (st != HMATH_OK)
        return st;
    if (value && hm_value_alive(value) && !hm_node_from_value(value))
        hm_graph_fail(&g, hm_fail_type(ctx, "value", "ADExpr or ADTensor", value));
    st = hm_graph_leave(&g, hm_arg_node(&g, "value", value), &node);
    if (st == HMATH_OK)
        *out = as_handle(node);
    return st;
}

hmath_ad *hmath_ad_retain(hmath_ad *handle) { return as_handle(hm_retain(handle)); }

void hmath_ad_release(hmath_ad *handle) { hm_release(handle); }

hmath_status hmath_ad_variable(hmath_context *ctx, const char *name, hmath_ad **out)
{
    hm_value *node = NULL;
    hm_status st = hmath_autodiff_variable(ctx, name, 0, NULL, out ? &node : NULL);
    if (st == HMATH_OK)
        *out = as_handle(node);
    return st;
}

hmath_status hmath_ad_constant(hmath_context *ctx, double value, hmath_ad **out)
{
    hm_graph g;
    hm_value *node = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.constant", out ? &node : NULL, &g);
    if (st != HMATH_OK)
        return st;
    st = hm_graph_leave(&g, hm_ad_constant(&g, value), &node);
    if (st == HMATH_OK)
        *out = as_handle(node);
    return st;
}
