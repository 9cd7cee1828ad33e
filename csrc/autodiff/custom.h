/* Nodes whose value and derivative are callbacks. */
#ifndef HM_CUSTOM_H
#define HM_CUSTOM_H

#include "autodiff/node.h"
#include "hmath_autodiff.h"

typedef struct hm_callbacks {
    hmath_custom_forward forward;
    hmath_custom_reverse reverse; /* NULL: the node has no derivative */
    void *user;
    void (*destroy)(void *); /* NULL: nothing to do */
} hm_callbacks;

/* destroy(user) is called when the node is gone; not on failure. */
hm_node *hm_ad_custom(hm_graph *g, hm_node *const *inputs, int32_t count, const hm_shape *shape,
                      const hm_callbacks *callbacks);

#endif
