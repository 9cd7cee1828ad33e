/*
 * A main for fuzzers where libFuzzer brings none: `fuzz_calls 2000` runs that many inputs of a fixed sequence,
 * `fuzz_calls file...` what was found.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4096 };

static int run_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    const size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(data, size) == 0;
}

/* Bytes by splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int main(int argc, char **argv)
{
    char *end = argc == 2 ? argv[1] : "";
    const long count = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    if (argc < 2 || *end || count <= 0) {
        for (int i = 1; i < argc; i++)
            if (!run_file(argv[i]))
                return fprintf(stderr, "%s could not be read\n", argv[i]), 1;
        return 0;
    }
    for (long i = 0; i < count; i++) {
        uint64_t state = (uint64_t)i;
        uint8_t data[MOST];
        const size_t size = next(&state) % MOST;
        for (size_t k = 0; k < size; k++)
            data[k] = (uint8_t)(next(&state) >> 56);
        LLVMFuzzerTestOneInput(data, size);
    }
    return 0;
}
