/*
 * The two recursions of connectionist temporal classification (Graves et al. 2006), one time step a
 * call.
 *
 * An alignment walks through blank 0, label 0, blank 1, ..., label L-1, blank L. What all
 * alignments that end in a state come to is kept as e^level (1 + rest): `level` began as the best
 * alignment's log-probability, `rest` is what the others add to it. So nothing is lost where one
 * alignment has almost everything, and no logarithm is taken on the way.
 *
 * Arrays of states are a row of four: levels and rests of blanks 0 ... L, levels and rests of
 * labels 0 ... L-1. Each has room for HM_CTC_WIDTH(L) doubles; labels start HM_CTC_BEFORE doubles
 * into theirs. Everything around the states is unreachable: level HM_CTC_NOWHERE, rest 0.
 */
#ifndef HM_CTC_KERNELS_H
#define HM_CTC_KERNELS_H

#include <float.h>
#include <stdint.h>

#define HM_CTC_NOWHERE (-DBL_MAX)

enum { HM_CTC_BEFORE = 8 };

#define HM_CTC_WIDTH(labels) ((((labels) + 8) / 8 * 8) + 16)

typedef struct hm_ctc_row {
    double *blank_level, *blank_rest, *label_level, *label_rest; /* labels: at label 0 */
} hm_ctc_row;

typedef struct hm_ctc_kernels {
    /*
     * From the states at one time to the next: stay, come from the state before, or, where skip[s]
     * is +infinity, come to label s from label s - 1; HM_CTC_NOWHERE forbids it. Then the next
     * frame's log-probabilities are added: `blank`, and label[s], HM_CTC_NOWHERE beyond the last
     * one.
     */
    void (*forward)(const hm_ctc_row *now, int64_t labels, const double *skip, double blank,
                    const double *label, const hm_ctc_row *next);

    /*
     * The same from the end: what alignments go on to from each state, given the states after it
     * and their frame's log-probabilities.
     */
    void (*backward)(const hm_ctc_row *next, int64_t labels, const double *skip, double blank,
                     const double *label, const hm_ctc_row *now);

    /*
     * Takes rests above 1 into their levels, and a whole number out of all levels, which it
     * returns. Needed every HM_CTC_STEPS steps, before rests can overflow.
     */
    double (*settle)(const hm_ctc_row *row, int64_t labels);

    /* e^(level + level - total) (1 + rest)(1 + rest): the share of alignments through each state.
     */
    void (*share)(const hm_ctc_row *before, const hm_ctc_row *after, int64_t labels, double total,
                  double *blank, double *label);

    /* level + ln(1 + rest) of two states together. */
    double (*log_total)(double level, double rest, double other_level, double other_rest);
} hm_ctc_kernels;

enum { HM_CTC_STEPS = 16 };

#endif
