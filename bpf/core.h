/* What an algorithm may learn, and the window most of them grow alike: the integer form.
 *
 * A *_core.h file is one algorithm in integer arithmetic: no kernel, no memory, no clock. It is compiled into
 * the eBPF programs beside it, and natively and to bytecode for the tests, which hold it to the algorithm of
 * crates/cc. crates/live/build.rs reads its structures: integers of the types below and other such structures,
 * without padding. Only unsigned division: eBPF has no other.
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
#define WINDOW_MOST (65535 * PACKET) /* times a delay of 32 bits stays below 2^64 */
#define NO_THRESHOLD (~0ULL)

/* event::Ack, as the kernel can tell it. */
struct core_ack {
	u64 now_us;
	u64 sent_us;        /* when the newest packet it covers left */
	u32 acked;          /* packets acknowledged for the first time */
	u32 marked;         /* those of them that were marked */
	u32 rtt_ns;         /* of stamps, without the time the receiver held it */
	u32 one_way_ns;     /* of stamps, modulo 2^32: the two clocks may differ */
	u32 samples;        /* packets that the two stand for; 0: there were no stamps */
	u32 round_trip_us;  /* as the kernel measured it; 0: it did not */
	u32 window_limited;
	u32 recovering;
};

/* event::Loss. */
struct core_loss {
	u64 now_us;
	u32 in_flight;      /* packets, the lost one included */
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

/* Whole packets; a flow may always have one in flight. */
CORE u32 window_packets(const struct core_window *w)
{
	return most(w->size / PACKET, 1);
}

/* A packet a packet in slow start, up to the threshold; a packet a window after. */
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

/* To `size`, but not below `floor`; ends slow start. */
CORE void window_cut(struct core_window *w, u64 size, u64 floor)
{
	w->size = most(size, floor);
	w->threshold = w->size;
}

/* Half of what is in flight, at least two packets (RFC 5681 eq. 4). */
CORE void window_halve(struct core_window *w, u32 in_flight)
{
	window_cut(w, least(in_flight * PACKET / 2, WINDOW_MOST), 2 * PACKET);
}

/* After a timeout: one packet, with that threshold. */
CORE void window_collapse(struct core_window *w, u32 in_flight)
{
	window_halve(w, in_flight);
	w->size = PACKET;
}

/* Once a round trip: when a packet sent after the round began is acknowledged. */
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
