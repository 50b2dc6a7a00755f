/* TCP Inigo, the receiver: detects congestion by one-way delays that grow from packet to packet, and reacts in place of
 * the sender. It marks as a switch would, or shrinks the advertised window.
 *
 * Source: TCP Inigo §3, Algorithms 8 and 9, with the interpretation of crates/cc/src/receiver/inigo.rs. Shares are in 2^20ths,
 * the threshold in 65536ths of the smallest round trip, times in microseconds of the receiver's clock.
 *
 * Differs: a Linux sender's timestamps have ticks of a millisecond, while the receiver's clock is fine. So only the first
 * packet of each tick is compared with that of the tick before. It left later than its tick by at most the gap to the
 * packet before it, and by at most one tick. This much of the delay is uncertain and is not counted.
 * A round trip is the time from the first acknowledgement with a timestamp to the first packet that echoes it: one per
 * round, while the packet world has one per packet.
 */
#ifndef SHALLOWS_INIGO_RECEIVER_CORE_H
#define SHALLOWS_INIGO_RECEIVER_CORE_H

#include "core.h"

#define INIGO_RECEIVER_FLOOR (2 * PACKET)
#define INIGO_RECEIVER_NO_RTT (~0U)
#define INIGO_RECEIVER_TOTAL_MOST (1LL << 40)

struct inigo_receiver_params {
	u32 threshold;
	u32 g;
	u32 sub_window;             /* packets; 0: one reaction per window */
	u32 initial;                /* packets */
	u32 tick_us;                /* of the sender's timestamps */
	u32 mark;                   /* mark instead of limiting the window */
};

/* A received packet: with payload, or an acknowledgement only. */
struct inigo_receiver_data {
	u64 now_us;
	u32 sent;                   /* its timestamp, in the sender's ticks */
	u32 answers;                /* the timestamp that it echoes, in the receiver's ticks */
	u32 payload;                /* bytes */
	u32 segment;                /* bytes of a full packet, if GRO merged several */
};

struct inigo_receiver_state {
	u64 window;                 /* advertised, in 65536ths of a packet */
	u64 since_answer;           /* 65536ths of a packet */
	u64 bytes;                  /* of this round */
	u64 late;                   /* the late ones among them */
	u64 arrived_us;             /* arrival of the last packet with payload */
	u64 compared_us;            /* arrival of the packet with which the next is compared */
	u64 asked_us;               /* send time of the acknowledgement whose echo ends the round */
	s64 total_us;               /* D_total */
	u32 compared;               /* its tick */
	u32 begun;                  /* whether there is such a packet */
	u32 unsure_us;              /* uncertain part of the sum */
	u32 asked;                  /* timestamp of the acknowledgement */
	u32 asking;                 /* whether an echo is awaited */
	u32 left;                   /* timestamp of the newest acknowledgement */
	u32 rtt_min_us;
	u32 segment;                /* bytes of the largest packet */
	u32 alpha;                  /* alpha_RFD */
	u32 late_since_answer;
	u32 slow_start;
	u32 used;                   /* whether at least half of the window arrived in the last round */
};

CORE void inigo_receiver_init(struct inigo_receiver_state *s, const struct inigo_receiver_params *p)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->window = least(most(p->initial, 2) * PACKET, WINDOW_MOST);
	s->rtt_min_us = INIGO_RECEIVER_NO_RTT;
	s->slow_start = 1;
	s->used = 1;
}

/* Handles an acknowledgement that leaves. The echo of the first new timestamp ends the round. */
CORE void inigo_receiver_ack(struct inigo_receiver_state *s, u64 now_us, u32 timestamp)
{
	int fresh = (s32)(timestamp - s->left) > 0 || !s->left;

	s->left = timestamp;
	if (!fresh || s->asking)
		return;
	s->asking = 1;
	s->asked = timestamp;
	s->asked_us = now_us;
}

/* True if this packet ends the round. */
CORE int inigo_receiver_answered(struct inigo_receiver_state *s, const struct inigo_receiver_data *data)
{
	if (!s->asking || (s32)(data->answers - s->asked) < 0)
		return 0;
	s->asking = 0;
	if (data->answers == s->asked && data->now_us > s->asked_us)
		s->rtt_min_us = least(s->rtt_min_us, data->now_us - s->asked_us);
	return 1;
}

/* Algorithm 8. */
CORE int inigo_receiver_observe(struct inigo_receiver_state *s, const struct inigo_receiver_params *p,
				const struct inigo_receiver_data *data)
{
	u64 gap = data->now_us - s->arrived_us;
	s64 ticks = (s32)(data->sent - s->compared), sure_us;

	s->arrived_us = data->now_us;
	if (s->begun && ticks > 0) {
		s->total_us += (s64)(data->now_us - s->compared_us) - ticks * p->tick_us;
		if (s->total_us < 0)
			s->total_us = 0;
		if (s->total_us > INIGO_RECEIVER_TOTAL_MOST)
			s->total_us = INIGO_RECEIVER_TOTAL_MOST;
		s->unsure_us = least(gap, p->tick_us - 1);
	}
	if (!s->begun || ticks > 0) {
		s->begun = 1;
		s->compared = data->sent;
		s->compared_us = data->now_us;
	}
	sure_us = s->total_us - s->unsure_us;
	return s->rtt_min_us != INIGO_RECEIVER_NO_RTT && sure_us > 0 &&
	       (u64)sure_us << 16 >= (u64)p->threshold * s->rtt_min_us;
}

CORE void inigo_receiver_update_alpha(struct inigo_receiver_state *s, const struct inigo_receiver_params *p)
{
	u64 share = s->bytes ? (s->late << 20) / s->bytes : 0;

	s->alpha = ((u64)((1U << 20) - p->g) * s->alpha + p->g * share) >> 20;
}

/* Reduces the window by alpha/2 of `size`. */
CORE void inigo_receiver_cut(struct inigo_receiver_state *s, u64 size)
{
	u64 less = size * s->alpha >> 21;

	s->window = most(s->window - least(less, s->window), INIGO_RECEIVER_FLOOR);
}

CORE void inigo_receiver_answer(struct inigo_receiver_state *s, u64 size)
{
	if (s->late_since_answer)
		inigo_receiver_cut(s, size);
	s->late_since_answer = 0;
	s->since_answer = 0;
}

/* Algorithms 4, 5 and 7 in the receive window. */
CORE void inigo_receiver_steer(struct inigo_receiver_state *s, const struct inigo_receiver_params *p, u64 packets,
			       int late)
{
	if (s->slow_start && late) {
		inigo_receiver_update_alpha(s, p);
		inigo_receiver_cut(s, s->window);
		s->slow_start = 0;
	} else if (s->slow_start) {
		if (s->used)
			s->window += packets;
	} else {
		s->since_answer += packets;
		if (p->sub_window && s->since_answer >= least(p->sub_window * PACKET, s->window))
			inigo_receiver_answer(s, least(s->since_answer, WINDOW_MOST));
		if (s->used)
			s->window += packets * PACKET / s->window;
	}
	s->window = least(s->window, WINDOW_MOST);
}

/* Algorithm 9. */
CORE void inigo_receiver_end_window(struct inigo_receiver_state *s, const struct inigo_receiver_params *p)
{
	inigo_receiver_update_alpha(s, p);
	s->used = 2 * s->bytes >= s->segment * s->window / PACKET;
	if (!p->sub_window && !s->slow_start)
		inigo_receiver_answer(s, s->window);
	s->bytes = 0;
	s->late = 0;
}

/* Handles a received packet; true if it must be marked. */
CORE int inigo_receiver_data(struct inigo_receiver_state *s, const struct inigo_receiver_params *p,
			     const struct inigo_receiver_data *data)
{
	int answered = inigo_receiver_answered(s, data), late;

	if (!data->payload)
		return 0;
	s->segment = most(most(s->segment, least(data->segment, 65535)), 1);
	late = inigo_receiver_observe(s, p, data);
	s->bytes += data->payload;
	if (late) {
		s->late += data->payload;
		s->late_since_answer = 1;
	}
	if (p->mark)
		return late;
	inigo_receiver_steer(s, p, least(data->payload * PACKET / s->segment, WINDOW_MOST), late);
	if (answered)
		inigo_receiver_end_window(s, p);
	return 0;
}

/* The window to advertise, in bytes. */
CORE u32 inigo_receiver_bytes(const struct inigo_receiver_state *s)
{
	return least(s->window * most(s->segment, 536) / PACKET, 1U << 30);
}

#endif
