/* Random sequences of calls, right and wrong, on networks and their copies: none may end the program, no message may be lost or end twice,
 * and no clock may go back.
 *
 * sequences FILE COUNT: a request file of four hosts without traffic. */
#include <inttypes.h>
#include <shallows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NETWORKS = 4, MESSAGES = 512, CALLS = 40 };

/* What a network should be. */
typedef struct {
    uint64_t number;
    uint64_t time;
    uint32_t sent;
    unsigned char ended[MESSAGES][2];
} model;

static uint64_t seed;

static uint64_t draw(uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static void expect(int holds, const char *what) {
    if (!holds) {
        printf("%s: %s\n", what, shallows_last_error());
        exit(1);
    }
}

static void take(model *one, size_t capacity) {
    shallows_completion ends[64];
    int64_t taken = shallows_completions(one->number, ends, capacity);
    expect(taken >= 0 && taken <= (int64_t)capacity, "completions");
    for (int64_t at = 0; at < taken; at++) {
        expect(ends[at].message < one->sent, "the end of a message that was not sent");
        expect(ends[at].time_ps < one->time, "an end at the clock or later");
        unsigned char *ended = &one->ended[ends[at].message][ends[at].at_sender];
        expect(!*ended, "a second end");
        *ended = 1;
    }
}

static void send(model *one) {
    uint32_t count = (uint32_t)draw(5), first = 0;
    shallows_message messages[5];
    int right = 1;
    for (uint32_t at = 0; at < count; at++) {
        shallows_message *message = &messages[at];
        memset(message, 0, sizeof *message);
        message->src = (uint32_t)draw(40) ? (uint32_t)draw(4) : 4;
        message->dst = (message->src + 1 + (uint32_t)draw(3)) % 4;
        message->bytes = draw(40) ? 1 + draw(100000) : 0;
        message->start_ps = draw(3) ? SHALLOWS_NOW : one->time + draw(5000000);
        right &= message->src < 4 && message->bytes > 0;
        if (!draw(40)) {
            message->algorithm = 1;
            right = 0;
        }
    }
    if (one->sent + count > MESSAGES) {
        return;
    }
    int32_t outcome = shallows_send(one->number, messages, count, &first);
    expect(outcome == (right ? 0 : -1), "send");
    if (right) {
        expect(first == one->sent, "a number");
        one->sent += count;
    }
}

static void advance(model *one) {
    uint64_t to = one->time + draw((uint64_t)1 << draw(25)), time = 0;
    int stops = (int)draw(2);
    int32_t state = stops ? shallows_advance_to_completion(one->number, to) : shallows_advance_to(one->number, to);
    expect(state == SHALLOWS_REACHED || (stops && state == SHALLOWS_COMPLETION), "advance");
    expect(shallows_time(one->number, &time) == 0, "time");
    expect(time >= one->time && (state == SHALLOWS_COMPLETION ? time <= to : time == to), "a clock");
    one->time = time;
    if (one->time > 0) {
        expect(shallows_advance_to(one->number, one->time - 1) == -1, "the past");
    }
}

static void observe(model *one) {
    uint32_t links[3] = {(uint32_t)draw(9), (uint32_t)draw(9), (uint32_t)draw(9)};
    size_t count = draw(4);
    int right = 1;
    shallows_link_state states[3];
    shallows_progress rows[16];
    for (size_t at = 0; at < count; at++) {
        right &= links[at] < 8;
    }
    expect(shallows_observe_links(one->number, links, count, states) == (right ? 0 : -1), "links");
    expect(shallows_observe_messages(one->number, rows, draw(17)) >= 0, "messages");
}

/* Runs a network until all messages have ended, and checks that each did. */
static void check_all(model *one) {
    shallows_result result;
    int32_t state = shallows_advance_to(one->number, one->time += 1000000000000);
    expect(state == SHALLOWS_REACHED, "a second");
    for (int at = 0; at < 32; at++) {
        take(one, 64);
    }
    for (uint32_t message = 0; message < one->sent; message++) {
        expect(one->ended[message][0] && one->ended[message][1], "a lost message");
    }
    expect(shallows_finish(one->number, &result) == 0, "finish");
}

static void one_sequence(const char *file) {
    static model all[NETWORKS];
    memset(all, 0, sizeof all);
    for (int call = 0; call < CALLS; call++) {
        model *one = &all[draw(NETWORKS)];
        if (one->number == 0) {
            const model *other = &all[draw(NETWORKS)];
            if (other->number != 0) {
                *one = *other;
                one->number = shallows_fork(other->number);
            } else {
                one->number = shallows_open(file);
            }
            expect(one->number != 0, "open");
        }
        switch (draw(10)) {
        case 0:
            expect(shallows_close(one->number) == 0, "close");
            expect(shallows_close(one->number) == -1, "closed");
            expect(shallows_advance_to(one->number, one->time) == -1, "advance a closed network");
            expect(shallows_fork(one->number) == 0, "copy a closed network");
            memset(one, 0, sizeof *one);
            break;
        case 1:
        case 2:
        case 3:
            send(one);
            break;
        case 4:
            observe(one);
            break;
        case 5:
            take(one, draw(65));
            break;
        default:
            advance(one);
        }
    }
    for (int at = 0; at < NETWORKS; at++) {
        if (all[at].number != 0) {
            check_all(&all[at]);
        }
    }
}

int main(int count, char **arguments) {
    long sequences = count > 2 ? atol(arguments[2]) : 100;
    for (long number = 0; number < sequences; number++) {
        seed = (uint64_t)number + 1;
        one_sequence(arguments[1]);
    }
    printf("%ld sequences\n", sequences);
    return 0;
}
