/* One recorded failure: the public structure and the room its texts need. */
#ifndef HM_FAILURE_H
#define HM_FAILURE_H

#include "runtime/status.h"

enum { HM_NUMBER = 40, HM_TEXT = 128, HM_MESSAGE = 640 };

typedef struct hm_failure {
    hmath_error error;
    char expected[HM_TEXT];
    char actual[HM_TEXT];
    char message[HM_MESSAGE];
} hm_failure;

/* The shortest decimal that reads back as x, written with a point in every locale: 0.5, 3, 1e-05, inf. */
const char *hm_number_text(double x, char text[HM_NUMBER]);

/* A copy whose texts are its own. */
void hm_failure_copy(hm_failure *to, const hm_failure *from);

/* The MathError value (kind 7). */
hm_status hm_math_error_create(const hm_failure *failure, hm_value **out);

/* The failure inside a MathError value; NULL where v is none. */
const hm_failure *hm_math_error_failure(const hm_value *v);

#endif
