/* Events for an algorithm, and the window that most algorithms share, in integer arithmetic.
 *
 * A *_core.h file is one algorithm in integer arithmetic, without kernel calls, memory or clock. It is compiled into
 * the eBPF programs beside it, and natively and to bytecode for the tests, which compare it with the algorithm of
 * crates/cc. crates/live/build reads its structures: they have integers of the types below and other such structures,
 * without padding. Division is unsigned, because eBPF has no other.
 *
 * A sender NAME has NAME_params, NAME_state, NAME_init, NAME_ack, NAME_loss and NAME_packets, called as in steps.h.
 *
 * Windows are in 65536ths of a packet, times in microseconds of the sender's clock, delays in nanoseconds.
 */
#ifndef SHALLOWS_CORE_H
#define SHALLOWS_CORE_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define CORE static inline __attribute__((always_inline))

#define PACKET 65536ULL              /* one packet of window */
#define WINDOW_MOST (65535 * PACKET) /* the product with a delay of 32 bits stays below 2^64 */
#define NO_THRESHOLD (~0ULL)

/* The fields of event::Ack that the kernel knows. */
struct core_ack {
	u64 now_us;
	u64 sent_us;        /* send time of the newest packet that it covers */
	u32 acked;          /* packets acknowledged for the first time */
	u32 marked;         /* those of them that were marked */
	u32 rtt_ns;         /* by timestamps, without the receiver's delay */
	u32 one_way_ns;     /* by timestamps, modulo 2^32: the two clocks may differ */
	u32 samples;        /* packets behind these two values; 0: no timestamps */
	u32 round_trip_us;  /* measured by the kernel; 0: not measured */
	u32 window_limited;
	u32 recovering;
};

/* event::Loss. */
struct core_loss {
	u64 now_us;
	u32 in_flight;      /* packets, including the lost one */
	u32 timeout;
};

/* window::Window. */
struct core_window {
	u64 size;
	u64 threshold;      /* ssthresh */
};

CORE u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

CORE u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

CORE void window_init(struct core_window *w, u32 packets)
{
	w->size = least(most(packets, 1) * PACKET, WINDOW_MOST);
	w->threshold = NO_THRESHOLD;
}

CORE int window_slow_start(const struct core_window *w)
{
	return w->size < w->threshold;
}

/* The window in whole packets, at least one. */
CORE u32 window_packets(const struct core_window *w)
{
	return most(w->size / PACKET, 1);
}

/* Grows by one packet per acknowledged packet up to the threshold (slow start), then by one packet per window. */
CORE void window_grow(struct core_window *w, const struct core_ack *ack)
{
	u64 acked = ack->acked * PACKET, step;

	if (!ack->window_limited || ack->recovering)
		return;
	if (window_slow_start(w)) {
		step = least(acked, w->threshold - w->size);
		w->size += step;
		acked -= step;
	}
	if (!window_slow_start(w))
		w->size += acked * PACKET / w->size;
	w->size = least(w->size, WINDOW_MOST);
}

/* Sets the window to `size`, at least `floor`, and ends slow start. */
CORE void window_cut(struct core_window *w, u64 size, u64 floor)
{
	w->size = most(size, floor);
	w->threshold = w->size;
}

/* Half of the packets in flight, at least two (RFC 5681 eq. 4). */
CORE void window_halve(struct core_window *w, u32 in_flight)
{
	window_cut(w, least(in_flight * PACKET / 2, WINDOW_MOST), 2 * PACKET);
}

/* After a timeout: a window of one packet, with the threshold above. */
CORE void window_collapse(struct core_window *w, u32 in_flight)
{
	window_halve(w, in_flight);
	w->size = PACKET;
}

/* True once per round trip: when a packet sent after the round began is acknowledged. */
CORE int round_ends(u64 *start_us, const struct core_ack *ack)
{
	if (ack->sent_us < *start_us)
		return 0;
	*start_us = ack->now_us;
	return 1;
}

/* draws::Draws: SplitMix64. */
#define GAMMA 0x9e3779b97f4a7c15ULL

CORE u64 draws_scramble(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

CORE u64 draws_init(u64 seed)
{
	return draws_scramble(seed) ^ draws_scramble(GAMMA);
}

CORE u64 draws_bits(u64 *state)
{
	*state += GAMMA;
	return draws_scramble(*state);
}

#endif
