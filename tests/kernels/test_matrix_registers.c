/*
 * What AMX asks of the system: that it is asked once, may refuse, and finds nothing in use between calls. Each
 * case runs in a process of its own, as a permission lasts for the process's life. Products go the way that
 * users' do; their sums are integers.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "hmath.h"
#include "hmath_deeplearning.h"
#include "hmath_tensor.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"

enum { M = 70, K = 130, N = 90 };

static hmath_value *quantized(hmath_context *ctx, int64_t rows, int64_t columns, const int8_t *q)
{
    const int64_t shape[] = {rows, columns}, zero = 0;
    const double one = 1;
    hmath_value *v = NULL;
    CHECK_INT(hmath_quantized_tensor_create(ctx, HMATH_QUANTIZATION_SYMMETRIC, -1, 2, shape, q,
                                            &one, &zero, &v),
              HMATH_OK);
    return v;
}

/* Is a product right that is worth the registers? */
static bool product_is_exact(void)
{
    static int8_t left[M * K], right[K * N];
    hmath_context *ctx = NULL;
    hmath_value *out = NULL;
    CHECK_INT(hmath_context_create(NULL, &ctx), HMATH_OK);
    for (int i = 0; i < M * K; i++)
        left[i] = (int8_t)(i * 37 % 255 - 127);
    for (int i = 0; i < K * N; i++)
        right[i] = (int8_t)(i * 91 % 253 - 126);
    hmath_value *l = quantized(ctx, M, K, left), *r = quantized(ctx, K, N, right);
    CHECK_INT(hmath_neural_precision_int8_gemm(ctx, l, r, &out), HMATH_OK);
    bool exact = out != NULL;
    for (int i = 0; exact && i < M; i++)
        for (int j = 0; j < N; j++) {
            int64_t sum = 0;
            for (int k = 0; k < K; k++)
                sum += left[i * K + k] * right[k * N + j];
            exact &= hmath_tensor_data(out)[i * N + j] == (double)sum;
        }
    hmath_release(l);
    hmath_release(r);
    hmath_release(out);
    hmath_context_destroy(ctx);
    return exact;
}

/* Runs a case in a process of its own, which answers how many of its checks failed. */
static int failures_of(void (*test)(void))
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        check_failures = 0;
        test();
        fflush(stdout);
        _exit(check_failures > 100 ? 100 : check_failures);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool have_registers(void)
{
    return hm_cpu_has_amx_int8() && hm_kernels_for(HMATH_ISA_AVX512) &&
           hm_kernels_for(HMATH_ISA_AVX512)->int8_matrix;
}

/* A signal's frame would not fit this stack with the registers in it: the system says no. */
static void refused(void)
{
    static char small[4096];
    const stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
    CHECK_INT(sigaltstack(&stack, NULL), 0);
    CHECK(product_is_exact());
    CHECK(!hm_cpu_grants_tiles());
    const stack_t none = {.ss_flags = SS_DISABLE};
    CHECK_INT(sigaltstack(&none, NULL), 0);
    CHECK(!hm_cpu_grants_tiles()); /* asked once */
    CHECK(product_is_exact());
}

/* The parts of this thread's state that are in use: XGETBV with 1. */
static bool tiles_in_use(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & 3u << 17) != 0;
#else
    return false;
#endif
}

static void *in_thread(void *unused)
{
    CHECK(product_is_exact());
    if (have_registers())
        CHECK(!tiles_in_use());
    return unused;
}

static void forked(void)
{
    CHECK(product_is_exact());
    if (have_registers())
        CHECK(hm_cpu_grants_tiles());
}

static void granted(void)
{
    const bool ask = have_registers() && hm_cpu_grants_tiles();
    CHECK(product_is_exact());
    if (ask)
        CHECK(!tiles_in_use());
    pthread_t thread;
    const int started = pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL); /* before the next check: both threads count theirs in one place */
    CHECK_INT(started, 0);
    if (ask)
        CHECK_INT(failures_of(forked), 0);
}

static void test_matrix_registers__refused(void) { CHECK_INT(failures_of(refused), 0); }

static void test_matrix_registers__granted(void) { CHECK_INT(failures_of(granted), 0); }

static void capped(void)
{
    CHECK_INT(setenv("HMATH_ISA", "avx2", 1), 0);
    CHECK(hm_kernels_default()->int8_matrix == NULL);
    CHECK(product_is_exact());
}

static void test_matrix_registers__only_with_avx512(void) { CHECK_INT(failures_of(capped), 0); }

int main(void)
{
    printf("AMX: %s\n", have_registers() ? "yes" : "no");
    RUN(test_matrix_registers__refused);
    RUN(test_matrix_registers__granted);
    RUN(test_matrix_registers__only_with_avx512);
    return check_report();
}
