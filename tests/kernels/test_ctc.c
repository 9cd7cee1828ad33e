/* The steps of CTC: every table gives the bits of the baseline's, through whole problems of awkward
 * sizes. */
#include <stdlib.h>

#include "tables.h"

typedef struct problem {
    int64_t labels, frames, width;
    double *rows, *skip, *frame; /* rows: now, next, shares */
} problem;

static hm_ctc_row row_at(const problem *p, int i)
{
    double *base = p->rows + 4 * i * p->width;
    return (hm_ctc_row){base, base + p->width, base + 2 * p->width + HM_CTC_BEFORE,
                        base + 3 * p->width + HM_CTC_BEFORE};
}

static void clear(const problem *p)
{
    for (int i = 0; i < 2; i++) {
        const hm_ctc_row row = row_at(p, i);
        for (int64_t s = 0; s < p->width; s++) {
            row.blank_level[s] = row.label_level[s - HM_CTC_BEFORE] = HM_CTC_NOWHERE;
            row.blank_rest[s] = row.label_rest[s - HM_CTC_BEFORE] = 0;
        }
    }
}

static void draw_frame(const problem *p, uint64_t *state, double spread)
{
    for (int64_t s = 0; s < p->width; s++)
        p->frame[s] = s < p->labels ? -spread * next_uniform(state) : HM_CTC_NOWHERE;
}

/* Forwards, then backwards from the last states; the digest sees every state on the way. */
static uint64_t run(const hm_ctc_kernels *k, const problem *p, double spread)
{
    uint64_t state = 21, digest = 0;
    hm_ctc_row now = row_at(p, 0), next = row_at(p, 1);
    clear(p);
    for (int64_t s = 0; s < p->width; s++)
        p->skip[s] = s > 0 && s < p->labels && next_word(&state) % 4 ? INFINITY : HM_CTC_NOWHERE;
    now.blank_level[0] = -1;
    if (p->labels > 0)
        now.label_level[0] = -2;
    double taken = 0;
    for (int64_t t = 1; t < 2 * p->frames; t++) {
        const double blank = -spread * next_uniform(&state);
        draw_frame(p, &state, spread);
        if (t < p->frames) {
            k->forward(&now, p->labels, p->skip, blank, p->frame, &next);
        } else {
            k->backward(&now, p->labels, p->skip, blank, p->frame, &next);
        }
        if (t % HM_CTC_STEPS == 0)
            taken += k->settle(&next, p->labels);
        double *shares = p->rows + 8 * p->width;
        k->share(&next, &next, p->labels, next.blank_level[0], shares, shares + p->width);
        for (int64_t s = 0; s <= p->labels; s++) {
            const double seen[] = {
                next.blank_level[s],
                next.blank_rest[s],
                shares[s],
                s < p->labels ? next.label_level[s] : 0,
                s < p->labels ? next.label_rest[s] : 0,
                s < p->labels ? shares[p->width + s] : 0,
                k->log_total(next.blank_level[s], next.blank_rest[s], taken, 0.5)};
            for (int i = 0; i < 7; i++) {
                uint64_t bits;
                memcpy(&bits, &seen[i], sizeof bits);
                digest = (digest ^ bits) * 0x100000001b3;
                CHECK(!isnan(seen[i]));
            }
        }
        const hm_ctc_row swap = now;
        now = next;
        next = swap;
    }
    return digest;
}

int main(void)
{
    const double spreads[] = {1e-3, 3, 300, 1e308};
    for (int64_t labels = 0; labels < 40; labels += labels < 18 ? 1 : 7)
        for (int s = 0; s < 4; s++) {
            problem p = {.labels = labels, .frames = 70, .width = HM_CTC_WIDTH(labels)};
            p.rows = calloc((size_t)(12 * p.width), sizeof *p.rows);
            p.skip = calloc((size_t)p.width, sizeof *p.skip);
            p.frame = calloc((size_t)p.width, sizeof *p.frame);
            const uint64_t right = run(hm_kernels_for(HMATH_ISA_BASELINE)->ctc, &p, spreads[s]);
            int isa = 0;
            for (const hm_kernels *k; (k = next_table(&isa));)
                CHECK(run(k->ctc, &p, spreads[s]) == right);
            free(p.rows), free(p.skip), free(p.frame);
        }
    return check_report();
}
