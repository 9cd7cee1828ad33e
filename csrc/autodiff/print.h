/* Graphs for people to read. */
#ifndef HM_PRINT_H
#define HM_PRINT_H

#include "autodiff/node.h"

/* Graphviz: a box a node, an arrow from each input. */
hm_status hm_print_dot(hm_context *ctx, hm_node *const *outputs, int64_t n, hm_value **out);

/* A formula; "..." stands for what does not fit. */
hm_status hm_print_text(hm_context *ctx, const hm_node *node, hm_value **out);

/* The same in brief, for a message; empty where memory is wanting. */
enum { HM_BRIEF = 256 };
void hm_print_brief(const hm_node *node, char brief[HM_BRIEF]);

#endif
