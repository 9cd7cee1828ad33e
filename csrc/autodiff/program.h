/*
 * A program: a graph made ready to run many times. An immutable Value (kind 300).
 *
 * Compiling drops dead nodes, shares equal ones, computes what is constant, gathers elementwise nodes
 * of one shape into groups that run tile by tile in one pass, and gives every result its place in one
 * workspace by liveness. Running allocates the workspace, the outputs, and nothing per node. Nothing in
 * a program changes when it runs, so any number of threads may run it at once.
 */
#ifndef HM_PROGRAM_H
#define HM_PROGRAM_H

#include "autodiff/node.h"
#include "tensor/tensor.h"

typedef struct hm_program hm_program;

/*
 * A program that computes `outputs` from values for `inputs`, which are variables. Every variable that
 * the outputs depend on has to be among them (DomainError else); others may be.
 */
hm_status hm_program_create(hm_context *ctx, hm_node *const *outputs, int64_t output_count,
                            hm_node *const *inputs, int64_t input_count, hm_program **out);

int64_t hm_program_input_count(const hm_program *program);
int64_t hm_program_output_count(const hm_program *program);
const hm_node *hm_program_input(const hm_program *program, int64_t i);
hm_shape hm_program_input_shape(const hm_program *program, int64_t i);
hm_shape hm_program_output_shape(const hm_program *program, int64_t i);

/* What compiling came to, for the curious and for tests. */
typedef struct hm_program_facts {
    int64_t nodes;     /* reachable from the outputs */
    int64_t steps;     /* what a run executes one after the other */
    int64_t groups;    /* steps that run several nodes in one pass */
    int64_t workspace; /* bytes that a run allocates besides its outputs */
} hm_program_facts;

hm_program_facts hm_program_describe(const hm_program *program);

/* v as a program, or NULL. */
const hm_program *hm_program_from_value(const hm_value *v);

/*
 * inputs[i] holds the finite numbers of input i, contiguous; outputs[i] has room for those of output i.
 * On failure the outputs hold anything.
 */
hm_status hm_program_run(hm_context *ctx, const hm_program *program, const double *const *inputs,
                         double *const *outputs);

#endif
