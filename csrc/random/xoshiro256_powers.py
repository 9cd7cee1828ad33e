"""Print xoshiro256_powers.h: x^(2^k) mod P for the linear engine of xoshiro256.

P is found, not copied: Berlekamp-Massey on 512 values of one state bit gives the recurrence of that
bit, and a recurrence of length 256 is the reversed characteristic polynomial of the engine. Polynomials
are Python integers, bit i the coefficient of x^i.

    python3 xoshiro256_powers.py > xoshiro256_powers.h
"""

MASK = (1 << 64) - 1


def step(s: list[int]) -> None:
    t = s[1] << 17 & MASK
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << 45 | s[3] >> 19) & MASK


def characteristic_polynomial() -> int:
    s, bits = [1, 2, 3, 4], []
    for _ in range(512):
        bits.append(s[0] & 1)
        step(s)
    c, b, length, gap = 1, 1, 0, 1
    for n in range(len(bits)):
        discrepancy = 0
        for i in range(length + 1):
            discrepancy ^= (c >> i & 1) & bits[n - i]
        if not discrepancy:
            gap += 1
        elif 2 * length <= n:
            c, b, length, gap = c ^ b << gap, c, n + 1 - length, 1
        else:
            c ^= b << gap
            gap += 1
    assert length == 256
    return int(format(c, "0257b")[::-1], 2)


def square_mod(a: int, p: int) -> int:
    result = 0
    for i in range(256):
        if a >> i & 1:
            result ^= 1 << 2 * i
    for i in range(510, 255, -1):
        if result >> i & 1:
            result ^= p << i - 256
    return result


def main() -> None:
    p, power = characteristic_polynomial(), 2
    print(
        "/* Written by xoshiro256_powers.py: x^(2^k) mod P, coefficients of x^0 first, for k = 0 to 128. */"
    )
    print("static const uint64_t power_of_x[129][4] = {")
    for _ in range(129):
        words = ", ".join(f"0x{power >> 64 * i & MASK:016x}" for i in range(4))
        print(f"    {{{words}}},")
        power = square_mod(power, p)
    print("};")


if __name__ == "__main__":
    main()
