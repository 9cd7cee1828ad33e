/* HM_VERSION is the project's version, handed in by the build; a test compares it with the header's. */
#include "hmath.h"

const char *hmath_version(void) { return HM_VERSION; }

int32_t hmath_abi_version(void) { return HMATH_ABI_VERSION; }

int32_t hmath_numerics_version(void) { return HMATH_NUMERICS_VERSION; }
