/* Moved elements arrive with all of their bits, and nothing beside them is touched. */
#include "tables.h"

enum { MOST = 40, PITCH = 45, ROOM = MOST * PITCH };

static const uint64_t untouched = 0x7ff0000000abcdef; /* a signalling NaN */

static uint64_t from[ROOM], wanted[ROOM], got[ROOM];

static void begin(void)
{
    uint64_t state = 7;
    for (int i = 0; i < ROOM; i++) {
        from[i] = next_word(&state);
        wanted[i] = got[i] = untouched;
    }
}

static void check_moved(const hm_kernels *k, int64_t rows, int64_t columns, int64_t pitch)
{
    if (!CHECK(memcmp(got, wanted, sizeof got) == 0))
        printf("  %s, %d x %d, pitch %d\n", k->name, (int)rows, (int)columns, (int)pitch);
}

/* Both sides begin at addresses that are aligned for doubles only. */
static void test_arrange__transpose(void)
{
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (int64_t rows = 0; rows < MOST; rows++)
            for (int64_t columns = 0; columns < MOST; columns++) {
                begin();
                for (int64_t r = 0; r < rows; r++)
                    for (int64_t c = 0; c < columns; c++)
                        wanted[1 + r * PITCH + c] = from[3 + c * (rows + 2) + r];
                k->arrange->transpose(rows, columns, (const double *)from + 3, rows + 2,
                                      (double *)got + 1, PITCH);
                check_moved(k, rows, columns, PITCH);
            }
}

static void test_arrange__copy_rows(void)
{
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (int64_t n = 0; n < MOST; n++)
            for (int64_t pitch = n; pitch < PITCH; pitch += 3) {
                begin();
                for (int64_t r = 0; r < MOST - 1; r++)
                    for (int64_t i = 0; i < n; i++)
                        wanted[1 + r * pitch + i] = from[3 + r * (n + 1) + i];
                k->arrange->copy_rows(MOST - 1, n, (const double *)from + 3, n + 1,
                                      (double *)got + 1, pitch);
                check_moved(k, MOST - 1, n, pitch);
            }
}

int main(void)
{
    RUN(test_arrange__transpose);
    RUN(test_arrange__copy_rows);
    return check_report();
}
