/* A datacenter network that your program drives: it sends messages, advances the clock, and is told when they arrive.
 *
 * Generated from crates/capi/src/interface.rs: `cargo test -p shallows-capi -- --ignored` writes it anew. docs/driving-c.md has a tutorial.
 *
 * A function that returns int32_t or int64_t returns -1 on an error, and one that returns a network returns 0. shallows_last_error() then
 * says why; the network goes on as before. Networks are numbers: a closed one is an error. Calls of several threads on one network wait
 * for each other. */

#ifndef SHALLOWS_H
#define SHALLOWS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The start of a message that is sent at once. */
#define SHALLOWS_NOW UINT64_MAX

/* The size of a message that never ends. */
#define SHALLOWS_UNLIMITED UINT64_MAX

/* The clock is at the time that was asked for. */
#define SHALLOWS_REACHED 0

/* A message has arrived whole; the clock is 1 ps later. */
#define SHALLOWS_COMPLETION 1

/* The run has ended: its duration is over, or packets fill the memory. */
#define SHALLOWS_ENDED 2

/* A message: bytes from one host to another. */
typedef struct {
    /* The host that sends. Hosts are numbered as in the scenario, from 0. */
    uint32_t src;
    /* Another host, which receives. */
    uint32_t dst;
    /* Bytes, 1 or more, or SHALLOWS_UNLIMITED. */
    uint64_t bytes;
    /* When it is sent, in picoseconds: the clock or later, or SHALLOWS_NOW. */
    uint64_t start_ps;
    /* Its algorithm, by its number in the request file; `shallows request` prints them. */
    uint32_t algorithm;
    /* Its traffic class, by its number in the request file. */
    uint32_t traffic_class;
} shallows_message; /* 32 bytes */

/* The end of a message. */
typedef struct {
    /* When, in picoseconds. */
    uint64_t time_ps;
    /* The number of the message. */
    uint32_t message;
    /* 0: all bytes have arrived at the receiver. 1: the sender knows that. */
    uint32_t at_sender;
} shallows_completion; /* 16 bytes */

/* A link at the clock. */
typedef struct {
    /* Bytes in the queue of its port, the rest of a frame that is being sent included. */
    uint64_t queue_bytes;
    /* Packets that have arrived at its end so far. */
    uint64_t delivered;
    /* Packets that its port has dropped so far. */
    uint64_t dropped;
    /* Packets that faults of the link have lost so far. */
    uint64_t lost;
} shallows_link_state; /* 32 bytes */

/* What a message has done since it was last observed. */
typedef struct {
    /* Bytes that have arrived at the receiver, each counted once. */
    uint64_t delivered_bytes;
    /* Acknowledgements that the sender has received. */
    uint64_t acks;
    /* The mean of its smoothed round-trip time over them, in picoseconds; 0 without any. */
    uint64_t srtt_ps;
    /* Packets sent again. */
    uint64_t retransmits;
    /* Retransmission timeouts. */
    uint64_t timeouts;
    /* The number of the message. */
    uint32_t message;
    /* 1 once all bytes have arrived. */
    uint32_t finished;
} shallows_progress; /* 48 bytes */

/* The result of a whole run. */
typedef struct {
    /* A hash of everything that happened: that of `shallows run` for the same messages and the same end. */
    uint64_t fingerprint;
    /* When the run ended, in picoseconds. */
    uint64_t ended_ps;
    /* Packets received over one link. */
    uint64_t packet_hops;
} shallows_result; /* 24 bytes */

/* Opens the network of a file that `shallows request` has written, at time 0. Returns its number, or 0 on an error. */
uint64_t shallows_open(const char *file);

/* Closes a network. Its number is an error from then on. */
int32_t shallows_close(uint64_t network);

/* Sends messages, which are numbered in the order of the calls, and writes the number of the first of them. On an error none is sent. */
int32_t shallows_send(uint64_t network, const shallows_message *messages, size_t count, uint32_t *first);

/* Executes everything before a time in picoseconds, and nothing at that time. Returns SHALLOWS_REACHED or SHALLOWS_ENDED. */
int32_t shallows_advance_to(uint64_t network, uint64_t time_ps);

/* Like shallows_advance_to, but stops behind the instant at which a message arrives whole, and returns SHALLOWS_COMPLETION then. */
int32_t shallows_advance_to_completion(uint64_t network, uint64_t limit_ps);

/* Writes at most `capacity` ends of messages that were not written before, in the order of time, and returns their number.
 * Call it now and then: messages need memory until their ends were written. */
int64_t shallows_completions(uint64_t network, shallows_completion *ends, size_t capacity);

/* Writes the clock in picoseconds, before which everything has happened, and nothing else. */
int32_t shallows_time(uint64_t network, uint64_t *time_ps);

/* Copies a network as it is now, with all packets under way. Both go on by themselves. Returns the number of the copy, or 0 on an
 * error. */
uint64_t shallows_fork(uint64_t network);

/* Writes the number of a link by its name in Shallows, such as "h0->s0". */
int32_t shallows_link(uint64_t network, const char *name, uint32_t *link);

/* Writes the states of `count` links. */
int32_t shallows_observe_links(uint64_t network, const uint32_t *links, size_t count, shallows_link_state *states);

/* Observes all messages that have started and had not ended at the last observation. Writes at most `capacity` of them and returns
 * their number; the next calls write the others, before another observation is made. A message may have several rows. */
int64_t shallows_observe_messages(uint64_t network, shallows_progress *rows, size_t capacity);

/* Runs a network to its end without further messages, checks that all packets and bytes are accounted for, and closes it. The end is
 * that of the scenario, or that of the last message if the scenario has none ("until-done"). */
int32_t shallows_finish(uint64_t network, shallows_result *result);

/* Returns why the last call of this thread that failed did so, valid until its next call that fails. Empty if none has. */
const char *shallows_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
