/* hmath_autodiff.h: the nodes of neural operations. */
#include "abi/autodiff_edge.h"
#include "hmath_autodiff.h"
#include "neural/graph/graph.h"
#include "primitives/elementwise.h"

hmath_status hmath_autodiff_activation(hmath_context *ctx, const hmath_value *method,
                                       const hmath_value *value, hmath_value **out)
{
    hm_graph g;
    const hm_activation *how = NULL;
    hm_node *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.activation", out, &g);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_arg_object(ctx, "method", method, HMATH_KIND_ACTIVATION, &how)) == HMATH_OK)
        result = hm_ad_activation(&g, how->formula, how->parameter, hm_arg_node(&g, "value", value));
    else
        hm_graph_fail(&g, st);
    return hm_graph_leave(&g, result, out);
}
