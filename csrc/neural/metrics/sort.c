/*
 * Radix sort, from the lowest byte of a key to the highest; bytes that all keys share are skipped.
 */
#include "neural/metrics/sort.h"

enum { BYTES = 8, VALUES = 256, FEW = 32 };

static void insert_each(uint64_t *keys, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const uint64_t key = keys[i];
        int64_t place = i;
        for (; place > 0 && keys[place - 1] > key; place--)
            keys[place] = keys[place - 1];
        keys[place] = key;
    }
}

void hm_sort_keys(uint64_t *keys, uint64_t *room, int64_t n)
{
    if (n <= FEW) {
        insert_each(keys, n);
        return;
    }
    int64_t counts[BYTES][VALUES] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int b = 0; b < BYTES; b++)
            counts[b][keys[i] >> (8 * b) & 0xff]++;

    uint64_t *from = keys, *to = room;
    for (int b = 0; b < BYTES; b++) {
        if (counts[b][from[0] >> (8 * b) & 0xff] == n)
            continue;
        int64_t begins[VALUES], next = 0;
        for (int v = 0; v < VALUES; v++) {
            begins[v] = next;
            next += counts[b][v];
        }
        for (int64_t i = 0; i < n; i++)
            to[begins[from[i] >> (8 * b) & 0xff]++] = from[i];
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)n * sizeof *keys);
}
