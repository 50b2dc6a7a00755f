/* Each wrong use is one clear error, and the network goes on as before. Prints what is not as expected.
 *
 * wrong FILE: a request file of four hosts without traffic. */
#include <shallows.h>
#include <stdio.h>
#include <string.h>

static uint64_t network;

/* The call must have failed with an error that contains `expected`, and the network must still answer. */
static void refused(int failed, const char *call, const char *expected) {
    uint64_t time;
    if (!failed) {
        printf("%s: expected an error\n", call);
    } else if (strstr(shallows_last_error(), expected) == NULL) {
        printf("%s: %s\n", call, shallows_last_error());
    }
    if (network != 0 && shallows_time(network, &time) != 0) {
        printf("%s: the network does not go on: %s\n", call, shallows_last_error());
    }
}

#define REFUSED(call, expected) refused((call) == -1, #call, expected)

static int32_t send(shallows_message message) {
    uint32_t first;
    return shallows_send(network, &message, 1, &first);
}

static void damaged(const char *text, size_t length, const char *expected) {
    const char *file = "damaged.json";
    FILE *stream = fopen(file, "wb");
    fwrite(text, 1, length, stream);
    fclose(stream);
    refused(shallows_open(file) == 0, "shallows_open(damaged)", expected);
    remove(file);
}

int main(int count, char **arguments) {
    static char whole[1 << 16], text[1 << 16];
    (void)count;
    FILE *stream = fopen(arguments[1], "rb");
    size_t length = fread(whole, 1, sizeof whole - 1, stream);
    fclose(stream);

    refused(shallows_open(NULL) == 0, "shallows_open(NULL)", "file: expected a text, not a null pointer");
    refused(shallows_open("missing.json") == 0, "shallows_open(missing)", "missing.json: No such file");
    damaged("", 0, "no request file");
    damaged("duration = \"1s\"\n", 16, "no request file");
    damaged("\xff\xfe", 2, "no request file");
    damaged("{\"kind\": \"run\", \"version\": 1}", 29, "kind = \"run\"");
    damaged("{\"kind\": \"request\", \"version\": 2, \"news\": 0}", 44, "version = 2: expected 1");
    damaged("{\"kind\": \"request\", \"version\": 1}", 32, "damaged.json: no request file");
    damaged("{\"kind\": \"request\", \"version\": 1}", 33, "a damaged request file (missing field");
    for (size_t at = 0; at + 2 < length; at += 7) {
        damaged(whole, at, "damaged.json: ");
    }
    const char *damage[][3] = {
        {"\"hosts\": 4", "\"hosts\": 9", "expected"},
        {"\"dctcp\"", "\"dctpc\"", "no algorithm is called"},
        {"\"mtu_bytes\"", "\"mtu_bites\"", "unknown field `mtu_bites`"},
        {"\"h0->s0\", ", "", "links: 7 names of 8 links"},
        {"\"nodes\": 5", "\"nodes\": -5", "damaged request"},
        {"\"receiver\": null", "\"user_algorithm\": 0", "no class 0"},
    };
    for (size_t at = 0; at < sizeof damage / sizeof *damage; at++) {
        char *place = strstr(whole, damage[at][0]);
        int before = (int)(place - whole);
        int size = snprintf(text, sizeof text, "%.*s%s%s", before, whole, damage[at][1], place + strlen(damage[at][0]));
        damaged(text, (size_t)size, damage[at][2]);
    }

    uint32_t number;
    uint64_t time;
    shallows_completion end;
    shallows_link_state state;
    shallows_progress progress;
    shallows_result result;
    REFUSED(shallows_close(0), "network 0: expected a number");
    REFUSED(shallows_advance_to(7777, 0), "network 7777: expected a number");
    network = shallows_open(arguments[1]);
    if (network == 0) {
        printf("%s\n", shallows_last_error());
        return 1;
    }
    REFUSED(send((shallows_message){.src = 4, .dst = 1, .bytes = 1}), "flows.src[0] = 4: expected one of 4 hosts");
    REFUSED(send((shallows_message){.src = 1, .dst = 4, .bytes = 1}), "flows.dst[0] = 4");
    REFUSED(send((shallows_message){.src = 1, .dst = 1, .bytes = 1}), "flows.dst[0] = 1: expected another one of 4 hosts");
    REFUSED(send((shallows_message){.src = 0, .dst = 1, .bytes = 0}), "flows.bytes[0] = 0");
    REFUSED(send((shallows_message){.src = 0, .dst = 1, .bytes = UINT64_MAX - 1}), "flows.bytes[0]");
    REFUSED(send((shallows_message){.src = 0, .dst = 1, .bytes = 1, .algorithm = 1}), "expected one of 1");
    REFUSED(send((shallows_message){.src = 0, .dst = 1, .bytes = 1, .traffic_class = 1}), "flows.class[0] = 1");
    REFUSED(send((shallows_message){.src = 0, .dst = 1, .bytes = 1, .start_ps = UINT64_MAX - 1}), "flows.start_ps[0]");
    REFUSED(shallows_send(network, NULL, 1, &number), "messages: expected 1 elements, not a null pointer");
    REFUSED(shallows_send(network, NULL, 0, NULL), "first: expected an address");
    REFUSED(shallows_advance_to(network, UINT64_MAX), "the longest simulated time");
    REFUSED(shallows_completions(network, NULL, 1), "ends: expected 1 elements");
    REFUSED(shallows_completions(network, &end, SIZE_MAX), "expected what fits into memory");
    REFUSED(shallows_time(network, NULL), "time_ps: expected an address");
    REFUSED(shallows_link(network, "h0->h1", &number), "link \"h0->h1\": expected one of the 8");
    REFUSED(shallows_link(network, "\xff", &number), "name: expected UTF-8");
    REFUSED(shallows_link(network, NULL, &number), "name: expected a text");
    number = 8;
    REFUSED(shallows_observe_links(network, &number, 1, &state), "link 8: expected one of 8");
    REFUSED(shallows_observe_messages(network, NULL, 1), "rows: expected 1 elements");
    REFUSED(shallows_finish(network, NULL), "result: expected an address");
    if (shallows_advance_to(network, 1000) != SHALLOWS_REACHED || shallows_observe_messages(network, &progress, 1) != 0) {
        printf("after errors: %s\n", shallows_last_error());
    }
    REFUSED(shallows_advance_to(network, 999), "in the past");
    REFUSED(send((shallows_message){.src = 0, .dst = 1, .bytes = 1, .start_ps = 999}), "expected 0.001us, the clock, or later");

    uint64_t copy = shallows_fork(network);
    if (send((shallows_message){.src = 0, .dst = 1, .bytes = SHALLOWS_UNLIMITED, .start_ps = SHALLOWS_NOW}) != 0) {
        printf("unlimited: %s\n", shallows_last_error());
    }
    REFUSED(shallows_finish(network, &result), "expected a scenario with a duration");
    if (shallows_close(network) != 0) {
        printf("close: %s\n", shallows_last_error());
    }
    uint64_t closed = network;
    network = copy;
    REFUSED(shallows_close(closed), "expected a number that shallows_open or shallows_fork returned");
    REFUSED(shallows_advance_to(closed, 2000), "that is not closed");
    REFUSED(shallows_time(closed, &time), "that is not closed");
    refused(shallows_fork(closed) == 0, "shallows_fork(closed)", "that is not closed");
    if (shallows_finish(copy, &result) != 0) {
        printf("finish: %s\n", shallows_last_error());
    }
    network = 0;
    REFUSED(shallows_finish(copy, &result), "that is not closed");
    return 0;
}
