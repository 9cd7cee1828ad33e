/*
<<<<<<< HEAD
 * The whole test framework: CHECK counts failures and goes on, check_report() is what main returns.
 *
 *     int main(void)
 *     {
 *         test_pool__claims_every_chunk();
 *         return check_report();
 *     }
=======
 * Checks for the C tests: a failed one is printed with its place and counted, and the test goes on.
 * A test program is a main() of RUN(test_...) lines that ends in `return check_result();`.
>>>>>>> 1b7d126 (runtime: contexts, values, packed lists, failures, pool, buffer cache; tensors and views)
 */
#ifndef CHECK_H
#define CHECK_H

<<<<<<< HEAD
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
=======
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int check_failed, check_passed;

static inline void check_that(int holds, const char *what, const char *file, int line)
{
    if (holds) {
        check_passed++;
        return;
    }
    check_failed++;
    printf("%s:%d: %s\n", file, line, what);
}

static inline void check_ints(int64_t got, int64_t wanted, const char *what, const char *file, int line)
{
    if (got != wanted)
        printf("got %" PRId64 ", wanted %" PRId64 ": ", got, wanted);
    check_that(got == wanted, what, file, line);
}

/* Equal to the last bit; every NaN equals every other. */
static inline int same_bits(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline void check_bits(double got, double wanted, const char *what, const char *file, int line)
{
    if (!same_bits(got, wanted))
        printf("got %a, wanted %a: ", got, wanted);
    check_that(same_bits(got, wanted), what, file, line);
}

static inline void check_text(const char *got, const char *wanted, const char *what, const char *file,
                              int line)
{
    int same = got && wanted ? strcmp(got, wanted) == 0 : got == wanted;
    if (!same)
        printf("got \"%s\", wanted \"%s\": ", got ? got : "(null)", wanted ? wanted : "(null)");
    check_that(same, what, file, line);
}

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(got, wanted) check_ints((got), (wanted), #got, __FILE__, __LINE__)
#define CHECK_BITS(got, wanted) check_bits((got), (wanted), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), #got, __FILE__, __LINE__)
#define RUN(test)                                                                                  \
    do {                                                                                           \
        int failed_before = check_failed;                                                          \
        test();                                                                                    \
        printf("%s %s\n", check_failed == failed_before ? "ok  " : "FAIL", #test);                 \
    } while (0)

static inline int check_result(void)
{
    printf("%d checks passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
>>>>>>> 1b7d126 (runtime: contexts, values, packed lists, failures, pool, buffer cache; tensors and views)
}

#endif
