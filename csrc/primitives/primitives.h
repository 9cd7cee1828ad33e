/* The roll-call as declarations: extern const hm_op hm_op_NAME for every name in ops.def. */
#ifndef HM_PRIMITIVES_H
#define HM_PRIMITIVES_H

#include "autodiff/op.h"

#define HM_OP(name) extern const hm_op hm_op_##name;
#include "ops.def"
#undef HM_OP

/* All of them, by name, NULL at the end. */
extern const hm_op *const hm_all_ops[];

#endif
