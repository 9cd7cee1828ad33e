/*
 * What the machine itself allows: the limits of docs/rooflines.md.
 *
 *     cc -O3 -march=native -mprefer-vector-width=512 bench/limits.c -o limits && ./limits
 *
 * Vectors are of the machine's own width: 512 bits, or 256 where there is no AVX-512. Each loop does nothing
 * but move the data of an operation or issue its arithmetic. Memory is warm: the same buffers again and
 * again, as results come from a cache of buffers; the best of many rounds counts.
 */
#define _GNU_SOURCE
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__AVX512F__)
#define BITS "512"
#define REGISTER "%%zmm"
enum { WIDTH = 8 };
#else
#define BITS "256"
#define REGISTER "%%ymm"
enum { WIDTH = 4 };
#endif

typedef double vec __attribute__((vector_size(8 * WIDTH)));
typedef double vec_unaligned __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));

/* SUMS vectors of sums, enough not to wait for additions, take STEP elements. */
enum { ROUNDS = 40, MOST = 1 << 21, SUMS = 8, STEP = SUMS * WIDTH };

static volatile double sink;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* On huge pages; the first element `offset` bytes behind the start of a line. */
static double *buffer(size_t offset)
{
    const size_t huge = (size_t)2 << 20, bytes = (MOST * sizeof(double) / huge + 2) * huge;
    char *block = aligned_alloc(huge, bytes);
    if (!block)
        exit(1);
    madvise(block, bytes, MADV_HUGEPAGE);
    double *data = (double *)(block + 64 + offset);
    for (size_t i = 0; i < MOST; i++)
        data[i] = 1e-6 * (double)i;
    return data;
}

static inline vec load(const double *p) { return *(const vec_unaligned *)p; }

static inline void store(double *p, vec x) { *(vec_unaligned *)p = x; }

/* Past the caches; to whole lines. */
static inline void store_aside(double *p, vec x)
{
#if defined(__AVX512F__)
    _mm512_stream_pd(p, x);
#elif defined(__AVX2__)
    _mm256_stream_pd(p, x);
#else
    store(p, x);
#endif
}

static inline vec total(const vec sum[SUMS])
{
    vec all = sum[0];
    for (size_t k = 1; k < SUMS; k++)
        all += sum[k];
    return all;
}

static void read_one(const double *x, const double *unused, size_t n, double *out, double *other)
{
    (void)unused, (void)out, (void)other;
    vec sum[SUMS] = {{0}};
    for (size_t i = 0; i < n; i += STEP)
        for (size_t k = 0; k < SUMS; k++)
            sum[k] += load(x + i + WIDTH * k);
    sink = total(sum)[0];
}

static void read_two(const double *x, const double *y, size_t n, double *out, double *other)
{
    (void)out, (void)other;
    vec sum[SUMS] = {{0}};
    for (size_t i = 0; i < n; i += STEP)
        for (size_t k = 0; k < SUMS; k++) {
            const vec e = load(x + i + WIDTH * k) - load(y + i + WIDTH * k);
            sum[k] += e * e;
        }
    sink = total(sum)[0];
}

static void pass(const double *x, const double *unused, size_t n, double *out, double *other)
{
    (void)unused, (void)other;
    for (size_t i = 0; i < n; i += WIDTH)
        store(out + i, load(x + i) * 1.5);
}

/* Dropout: two results. */
static void pass_twice(const double *x, const double *unused, size_t n, double *out, double *other)
{
    (void)unused;
    const vec factor = (vec){0} + 1.5;
    for (size_t i = 0; i < n; i += WIDTH) {
        store(out + i, load(x + i) * factor);
        store(other + i, factor);
    }
}

static void pass_and_aside(const double *x, const double *unused, size_t n, double *out,
                           double *other)
{
    (void)unused;
    const vec factor = (vec){0} + 1.5;
    for (size_t i = 0; i < n; i += WIDTH) {
        store(out + i, load(x + i) * factor);
        store_aside(other + i, factor);
    }
}

/* Groups of normalisation: a sum, squares about the mean, and the result, a group staying in L2. */
enum { GROUP = 6272 };

static void normalize(const double *x, const double *unused, size_t n, double *out, double *other)
{
    (void)unused, (void)other;
    for (size_t at = 0; at + GROUP <= n; at += GROUP) {
        vec sum[SUMS] = {{0}}, squares[SUMS] = {{0}};
        for (size_t i = at; i < at + GROUP; i += STEP)
            for (size_t k = 0; k < SUMS; k++)
                sum[k] += load(x + i + WIDTH * k);
        const vec mean = total(sum) / GROUP;
        for (size_t i = at; i < at + GROUP; i += STEP)
            for (size_t k = 0; k < SUMS; k++) {
                const vec d = load(x + i + WIDTH * k) - mean;
                squares[k] += d * d;
            }
        const vec by = 1.0 / total(squares);
        for (size_t i = at; i < at + GROUP; i += WIDTH)
            store(out + i, (load(x + i) - mean) * by);
    }
}

typedef void loop(const double *x, const double *y, size_t n, double *out, double *other);

/* doubles: how many an element are read or written, not counting what the caches do beside it */
static void measure(const char *name, loop *body, size_t n, double doubles, const double *x,
                    const double *y, double *out, double *other)
{
    double best = 1;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = seconds();
        body(x, y, n, out, other);
        const double took = seconds() - start;
        best = took < best ? took : best;
    }
    printf("%-44s %8.1f us %7.1f GB/s\n", name, 1e6 * best, 8e-9 * doubles * (double)n / best);
}

/* The arithmetic of GELU on two vectors: 86 fused multiply-adds and 4 divisions, none waiting for another. */
static void arithmetic(void)
{
#if defined(__AVX2__)
#define OPERANDS(k) " " REGISTER "14, " REGISTER "15, " REGISTER #k "\n"
#define FMA(k) "vfmadd231pd" OPERANDS(k)
#define DIVISION(k) "vdivpd" OPERANDS(k)
#define FMAS FMA(0) FMA(1) FMA(2) FMA(3) FMA(4) FMA(5) FMA(6) FMA(7) FMA(8) FMA(9)
    enum { TIMES = 1 << 16 };
    double best = 1;
    const double one = 1;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = seconds();
        for (int i = 0; i < TIMES; i++)
            __asm__ volatile(
                "vbroadcastsd %0, " REGISTER "14\nvbroadcastsd %0, " REGISTER
                "15\n" FMAS FMAS DIVISION(10) FMAS FMAS DIVISION(11) FMAS FMAS DIVISION(12)
                    FMAS FMAS DIVISION(13) FMA(0) FMA(1) FMA(2) FMA(3) FMA(4) FMA(5)
                :
                : "m"(one)
                : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                  "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
        const double took = (seconds() - start) / TIMES;
        best = took < best ? took : best;
    }
    printf("%-44s %8.1f us\n", "GELU's arithmetic, 1M elements",
           best * (1 << 20) / (2 * WIDTH) * 1e6);
#endif
}

/*
 * What products can reach: one instruction on registers again and again, into sums that do not wait for each
 * other. `work` counts multiplications and additions of one instruction.
 */
#define PEAK(name, instruction, work) \
    do { \
        enum { TIMES = 1 << 18 }; \
        double best = 1; \
        for (int round = 0; round < ROUNDS; round++) { \
            const double start = seconds(); \
            for (int i = 0; i < TIMES; i++) \
                __asm__ volatile( \
                    "vpxor %%xmm14, %%xmm14, %%xmm14\n" \
                    "vpxor %%xmm15, %%xmm15, %%xmm15\n" /* the factors */ \
                    instruction(0) instruction(1) instruction(2) instruction(3) instruction(4) \
                        instruction(5) instruction(6) instruction(7) instruction(8) instruction(9) \
                            instruction(10) instruction(11) instruction(12) "" :: \
                                : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", \
                                  "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
                                  "xmm13", "xmm14", "xmm15"); \
            const double took = (seconds() - start) / TIMES; \
            best = took < best ? took : best; \
        } \
        printf("%-44s %8.1f G/s\n", name, 13e-9 * (work) / best); \
    } while (0)

static void products(void)
{
#if defined(__AVX2__)
#define PAIRS(k) "vpmaddwd %%ymm14, %%ymm15, %%ymm13\nvpaddd %%ymm13, %%ymm" #k ", %%ymm" #k "\n"
    PEAK("16-bit pairs, 256 bits (vpmaddwd, vpaddd)", PAIRS, 32);
#endif
#if defined(__FMA__)
#define FLOATS(k) "vfmadd231ps" OPERANDS(k)
    PEAK("binary32, " BITS " bits (vfmadd231ps)", FLOATS, 4 * WIDTH);
#define DOUBLES(k) "vfmadd231pd" OPERANDS(k)
    PEAK("binary64, " BITS " bits (vfmadd231pd)", DOUBLES, 2 * WIDTH);
#endif
#if defined(__AVX512VNNI__)
#define BYTES(k) "vpdpbusd %%zmm14, %%zmm15, %%zmm" #k "\n"
    PEAK("bytes, 512 bits (vpdpbusd)", BYTES, 128);
#endif
#if defined(__AVX512BF16__)
#define HALVES(k) "vdpbf16ps %%zmm14, %%zmm15, %%zmm" #k "\n"
    PEAK("bfloat16, 512 bits (vdpbf16ps)", HALVES, 64);
#endif
}

/* Products of AMX, whose registers the system has to be asked for: 16 x 64 bytes times 64 x 16, four sums. */
static void matrix_registers(void)
{
#if defined(__AMX_INT8__) || defined(__AMXINT8__) /* the latter is Clang's of old */
    enum {
        ARCH_REQ_XCOMP_PERM = 0x1023,
        XFEATURE_XTILEDATA = 18,
        TIMES = 1 << 16,
        WORK = 4 * 32768
    };
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } c = {.palette = 1};
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA))
        return;
    for (int i = 0; i < 8; i++) {
        c.rows[i] = 16;
        c.row_bytes[i] = 64;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(c));
    double bytes = 1, halves = 1;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = seconds();
        for (int i = 0; i < TIMES; i++)
            __asm__ volatile("tdpbssd %tmm6, %tmm4, %tmm0\ntdpbssd %tmm7, %tmm4, %tmm1\n"
                             "tdpbssd %tmm6, %tmm5, %tmm2\ntdpbssd %tmm7, %tmm5, %tmm3");
        const double middle = seconds();
        for (int i = 0; i < TIMES; i++)
            __asm__ volatile("tdpbf16ps %tmm6, %tmm4, %tmm0\ntdpbf16ps %tmm7, %tmm4, %tmm1\n"
                             "tdpbf16ps %tmm6, %tmm5, %tmm2\ntdpbf16ps %tmm7, %tmm5, %tmm3");
        const double end = seconds();
        bytes = middle - start < bytes ? middle - start : bytes;
        halves = end - middle < halves ? end - middle : halves;
    }
    __asm__ volatile("tilerelease");
    printf("%-44s %8.1f G/s\n", "bytes, AMX (tdpbssd)", 1e-9 * WORK * TIMES / bytes);
    printf("%-44s %8.1f G/s\n", "bfloat16, AMX (tdpbf16ps)", 1e-9 * WORK / 2 * TIMES / halves);
#endif
}

int main(void)
{
    double *x = buffer(0), *y = buffer(0), *askew = buffer(16), *out = buffer(0),
           *other = buffer(0);
    measure("read, 1M", read_one, 1 << 20, 1, x, y, out, other);
    measure("read two, 1M", read_two, 1 << 20, 2, x, y, out, other);
    measure("pass, 1M", pass, 1 << 20, 2, x, y, out, other);
    measure("pass, 1024 x 768", pass, 1024 * 768, 2, x, y, out, other);
    measure("pass, 1024 x 768, 16 bytes off the lines", pass, 1024 * 768, 2, askew, y, out, other);
    measure("pass, 32 x 64 x 28 x 28", pass, 32 * 64 * 28 * 28, 2, x, y, out, other);
    measure("groups, 32 x 64 x 28 x 28", normalize, 32 * 64 * 28 * 28, 2, x, y, out, other);
    measure("pass with two results, 32 x 64 x 32 x 32", pass_twice, 32 * 64 * 32 * 32, 3, x, y, out,
            other);
    measure("the second of them past the caches", pass_and_aside, 32 * 64 * 32 * 32, 3, x, y, out,
            other);
    arithmetic();
    products();
    matrix_registers();
    return 0;
}
