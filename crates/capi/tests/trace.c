/* Sends the messages of a trace at their starts, in slices of random length, and prints when they arrive.
 *
 * trace FILE SEED, with a line `src dst bytes start_ps` for each message on standard input, in the order of the starts. */
#include <inttypes.h>
#include <shallows.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t network, seed;

static void check(int holds) {
    if (!holds) {
        printf("%s\n", shallows_last_error());
        exit(1);
    }
}

static void print_ends(void) {
    shallows_completion ends[8];
    int64_t taken;
    while ((taken = shallows_completions(network, ends, 8)) > 0) {
        for (int64_t at = 0; at < taken; at++) {
            if (!ends[at].at_sender) {
                printf("%" PRIu32 " %" PRIu64 "\n", ends[at].message, ends[at].time_ps);
            }
        }
    }
    check(taken == 0);
}

/* Advances to a time in slices; a copy may take the place of the network. */
static void advance(uint64_t to) {
    uint64_t clock;
    check(shallows_time(network, &clock) == 0);
    while (clock < to) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t next = clock + 1 + (seed >> 33) % 3000000;
        next = next < to ? next : to;
        check((seed >> 20) % 2 ? shallows_advance_to_completion(network, next) >= 0 : shallows_advance_to(network, next) == 0);
        print_ends();
        if ((seed >> 21) % 8 == 0) {
            uint64_t copy = shallows_fork(network);
            check(copy != 0 && shallows_close(network) == 0);
            network = copy;
        }
        check(shallows_time(network, &clock) == 0);
    }
}

int main(int count, char **arguments) {
    network = shallows_open(arguments[1]);
    check(network != 0 && count == 3);
    seed = (uint64_t)atol(arguments[2]);
    shallows_message message = {0};
    uint32_t number;
    while (scanf("%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64, &message.src, &message.dst, &message.bytes,
                 &message.start_ps) == 4) {
        advance(message.start_ps);
        check(shallows_send(network, &message, 1, &number) == 0);
    }
    uint64_t whole = shallows_fork(network);
    check(whole != 0);
    advance(message.start_ps + 1000000000);
    shallows_result result; /* of a network that goes on until its last message has ended, and not longer */
    check(shallows_finish(whole, &result) == 0);
    printf("fingerprint %016" PRIx64 "\n", result.fingerprint);
    return 0;
}
