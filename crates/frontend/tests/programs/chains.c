/* Loops whose iterations wait for one another, and some that do not: chains LOOP ROUNDS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 512 };

static volatile double word = 1.0;
static double one[LENGTH], other[LENGTH];

static double volatile_sum(long rounds)
{
    for (long i = 0; i < rounds * LENGTH; i++)
        word += 1.0;
    return word;
}

static double product(long rounds)
{
    unsigned long x = 3;
    for (long i = 0; i < rounds * LENGTH; i++)
        x = x * x + i;
    return x;
}

static double quotient(long rounds)
{
    double x = 1.5;
    for (long i = 0; i < rounds * LENGTH; i++)
        x = 3.0 / x;
    return x;
}

/* No result is needed by the next iteration but for counts, each of which is one instruction. */
static double counts(long rounds)
{
    unsigned long a = 1, b = 2, c = 3, d = 4;
    for (long i = 0; i < rounds * LENGTH; i++) {
        a += b & 1 ? i : 7;
        c ^= i;
        d -= i;
        b += 3;
    }
    return a + b + c + d;
}

static double dot(long rounds)
{
    double sum = 0;
    for (long round = 0; round < rounds; round++)
        for (long i = 0; i < LENGTH; i++)
            sum += one[i] * other[i];
    return sum;
}

static double dot_of_four(long rounds)
{
    double sums[4] = {0, 0, 0, 0};
    for (long round = 0; round < rounds; round++) {
        double a = sums[0], b = sums[1], c = sums[2], d = sums[3];
        for (long i = 0; i < LENGTH; i += 4) {
            a += one[i] * other[i];
            b += one[i + 1] * other[i + 1];
            c += one[i + 2] * other[i + 2];
            d += one[i + 3] * other[i + 3];
        }
        sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        double (*loop)(long);
    } loops[] = {
        {"volatile", volatile_sum}, {"product", product}, {"quotient", quotient},
        {"counts", counts},         {"dot", dot},         {"dot-of-four", dot_of_four},
    };
    if (count != 3)
        return 2;
    for (int i = 0; i < LENGTH; i++) {
        one[i] = i;
        other[i] = 1.0 / (i + 1);
    }
    for (unsigned i = 0; i < sizeof loops / sizeof *loops; i++)
        if (!strcmp(arguments[1], loops[i].name)) {
            printf("%g\n", loops[i].loop(atol(arguments[2])));
            return 0;
        }
    return 2;
}
