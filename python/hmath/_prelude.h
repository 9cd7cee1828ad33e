#include "hmath_deeplearning.h"

#include "_bridge.h"
