/*
 * The whole test framework: CHECK counts failures and goes on, check_report() is what main returns.
 *
 *     int main(void)
 *     {
 *         test_pool__claims_every_chunk();
 *         return check_report();
 *     }
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int check_failures;

/* Says which line failed, up to twenty times. Evaluates its condition once; is true where that is.
 */
#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

static inline int check_that(int holds, const char *text, const char *file, int line)
{
    if (!holds && ++check_failures <= 20)
        fprintf(stderr, "%s:%d: %s\n", file, line, text);
    return holds;
}

static inline int check_report(void)
{
    if (check_failures)
        fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures != 0;
}

#endif
