/*
 * The whole test framework. A failed check is printed with its place (up to twenty of them) and
 * counted, and the test goes on:
 *
 *     int main(void)
 *     {
 *         RUN(test_pool__claims_every_chunk);
 *         return check_report();
 *     }
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int check_failures, check_passes;

/* Says which line failed. Evaluates its condition once; is true where that is. */
#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_INT(got, wanted) check_ints((got), (wanted), #got, __FILE__, __LINE__)
#define CHECK_BITS(got, wanted) check_bits((got), (wanted), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), #got, __FILE__, __LINE__)
#define RUN(test) \
    do { \
        int failures_before = check_failures; \
        test(); \
        printf("%s %s\n", check_failures == failures_before ? "ok  " : "FAIL", #test); \
    } while (0)

enum { CHECK_PRINTED = 20 };

static inline int check_that(int holds, const char *text, const char *file, int line)
{
    if (holds)
        check_passes++;
    else if (++check_failures <= CHECK_PRINTED)
        printf("%s:%d: %s\n", file, line, text);
    return holds;
}

static inline int check_ints(int64_t got, int64_t wanted, const char *text, const char *file,
                             int line)
{
    if (got != wanted && check_failures < CHECK_PRINTED)
        printf("got %" PRId64 ", wanted %" PRId64 ": ", got, wanted);
    return check_that(got == wanted, text, file, line);
}

/* Equal to the last bit; every NaN equals every other. */
static inline int same_bits(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline int check_bits(double got, double wanted, const char *text, const char *file,
                             int line)
{
    if (!same_bits(got, wanted) && check_failures < CHECK_PRINTED)
        printf("got %a, wanted %a: ", got, wanted);
    return check_that(same_bits(got, wanted), text, file, line);
}

static inline int check_text(const char *got, const char *wanted, const char *text,
                             const char *file, int line)
{
    int same = got && wanted ? strcmp(got, wanted) == 0 : got == wanted;
    if (!same && check_failures < CHECK_PRINTED)
        printf("got \"%s\", wanted \"%s\": ", got ? got : "(null)", wanted ? wanted : "(null)");
    return check_that(same, text, file, line);
}

static inline int check_report(void)
{
    printf("%d checks passed, %d failed\n", check_passes, check_failures);
    return check_failures != 0;
}

#endif
