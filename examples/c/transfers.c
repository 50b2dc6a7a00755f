/* Sends two messages over the network of a request file, and prints when they arrive.
 *
 *     shallows request examples/c/star.toml --out star.json
 *     cc -I crates/capi/include examples/c/transfers.c target/release/libshallows.a -lm -lpthread -ldl -o transfers
 *     ./transfers star.json
 */
#include <inttypes.h>
#include <shallows.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int64_t outcome) {
    if (outcome < 0) {
        fprintf(stderr, "%s\n", shallows_last_error());
        exit(1);
    }
}

int main(int count, char **arguments) {
    uint64_t network = shallows_open(count > 1 ? arguments[1] : "star.json");
    if (network == 0) {
        check(-1);
    }
    shallows_message messages[] = {
        {.src = 0, .dst = 1, .bytes = 4096, .start_ps = SHALLOWS_NOW},
        {.src = 2, .dst = 3, .bytes = 8192, .start_ps = SHALLOWS_NOW},
    };
    uint32_t first;
    check(shallows_send(network, messages, 2, &first));
    for (int arrived = 0; arrived < 2;) {
        int32_t state = shallows_advance_to_completion(network, 1000000000); /* 1 ms */
        check(state);
        if (state != SHALLOWS_COMPLETION) {
            fprintf(stderr, "no message has arrived within 1 ms\n");
            return 1;
        }
        shallows_completion ends[16];
        int64_t taken = shallows_completions(network, ends, 16);
        check(taken);
        for (int64_t at = 0; at < taken; at++) {
            if (!ends[at].at_sender) {
                uint32_t message = ends[at].message;
                printf("message %" PRIu32 ": %" PRIu64 " B after %" PRIu64 " ps\n", message, messages[message - first].bytes,
                       ends[at].time_ps);
                arrived++;
            }
        }
    }
    check(shallows_close(network));
    return 0;
}
