/*
 * Selectors and records of the layers: small immutable values, made without validation. The
 * operations that use a record check its fields, each under its own name ("options.stride").
 */
#ifndef HM_LAYERS_RECORD_H
#define HM_LAYERS_RECORD_H

#include "runtime/list.h"
#include "tensor/view.h"

/* 277: does a layer learn, or is it put to use? */
typedef struct hm_training {
    hm_value base;
    bool training;
} hm_training;

/* 281 */
typedef enum hm_pool_method { HM_POOL_MAX, HM_POOL_AVERAGE } hm_pool_method;

typedef struct hm_pool_mode {
    hm_value base;
    hm_pool_method method;
} hm_pool_mode;

/* 279 */
typedef enum hm_initializer_method {
    HM_XAVIER_UNIFORM,
    HM_XAVIER_NORMAL,
    HM_KAIMING_UNIFORM,
    HM_KAIMING_NORMAL,
    HM_ORTHOGONAL,
    HM_TRUNCATED_NORMAL,
} hm_initializer_method;

typedef struct hm_initializer {
    hm_value base;
    hm_initializer_method method;
    double scale;                           /* Orthogonal */
    double mean, standard_deviation, bound; /* TruncatedNormal */
} hm_initializer;

/* 280: one entry a spatial axis. */
typedef struct hm_conv_options {
    hm_value base;
    const hm_list *stride, *padding, *dilation; /* of Int */
    int64_t groups;
} hm_conv_options;

/* 278: one entry a channel. */
typedef struct hm_batch_norm_state {
    hm_value base;
    const hm_list *running_mean, *running_variance; /* of Double */
    int64_t batches_seen;
} hm_batch_norm_state;

hm_status hm_training_create(hm_context *ctx, bool training, hm_training **out);
hm_status hm_pool_mode_create(hm_context *ctx, hm_pool_method method, hm_pool_mode **out);

/* The fields of `like` that belong to its method, in a new value. */
hm_status hm_initializer_create(hm_context *ctx, const hm_initializer *like, hm_initializer **out);

hm_status hm_conv_options_create(hm_context *ctx, const hm_ints *stride, const hm_ints *padding,
                                 const hm_ints *dilation, int64_t groups, hm_conv_options **out);

/* DimensionMismatch where a view is no vector. */
hm_status hm_batch_norm_state_create(hm_context *ctx, const hm_doubles *running_mean,
                                     const hm_doubles *running_variance, int64_t batches_seen,
                                     hm_batch_norm_state **out);

/* The numbers of a record's list field. */
hm_ints hm_ints_of(const hm_list *list);
hm_doubles hm_doubles_of(const hm_list *list);

#endif
