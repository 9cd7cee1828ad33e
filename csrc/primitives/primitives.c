#include "primitives/primitives.h"

#include <stddef.h>

const hm_op *const hm_all_ops[] = {
#define HM_OP(name) &hm_op_##name,
#include "ops.def"
#undef HM_OP
    NULL,
};
