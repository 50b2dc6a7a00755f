/* DX: once per round trip it adds a packet if there was no queueing delay, and otherwise removes as many packets as
 * the delay shows.
 *
 * Source: Lee et al., IEEE/ACM ToN 25(1), 2017, eq. 1 and 8, §III and §V-B, with the interpretation of
 * crates/cc/src/sender/dx.rs. One-way delays are modulo 2^32 ns and only their differences count: the two clocks need not
 * agree.
 *
 * Differs: a peer without timestamps is common on a real network. Until the first timestamp the window is Reno's.
 */
#ifndef SHALLOWS_DX_CORE_H
#define SHALLOWS_DX_CORE_H

#include "core.h"

#define NO_RTT (~0U)

struct dx_params {
	u32 headroom_ns;
	u32 unused;         /* the size is a multiple of 8 */
};

struct dx_state {
	struct core_window window;
	u64 round_us;
	u64 answered_us;    /* the reaction to delays of packets sent before this is complete */
	s64 delay_sum;      /* sum of this round, relative to `reference` */
	u32 reference;      /* the round's first one-way delay */
	u32 samples;
	u32 base_rtt_ns;    /* NO_RTT: no timestamp yet */
	u32 base_one_way_ns;
	u32 queueing_ns;    /* of the last complete round */
	u32 limited;        /* whether the window limited the flow in this round */
	u32 dither;         /* random number for rounding the window in this round, from one packet */
	u32 unused;
	u64 draws;
};

CORE void dx_init(struct dx_state *s, const struct dx_params *p, u32 initial_window, u64 seed)
{
	window_init(&s->window, initial_window);
	s->round_us = 0;
	s->answered_us = 0;
	s->delay_sum = 0;
	s->reference = 0;
	s->samples = 0;
	s->base_rtt_ns = NO_RTT;
	s->base_one_way_ns = 0;
	s->queueing_ns = 0;
	s->limited = 0;
	s->dither = 0;
	s->unused = 0;
	s->draws = draws_init(seed);
}

CORE int dx_stamped(const struct dx_state *s)
{
	return s->base_rtt_ns != NO_RTT;
}

CORE void dx_observe(struct dx_state *s, const struct core_ack *ack)
{
	s->limited |= ack->window_limited;
	if (!ack->samples)
		return;
	if (ack->rtt_ns <= s->base_rtt_ns) {
		s->base_rtt_ns = ack->rtt_ns;
		s->base_one_way_ns = ack->one_way_ns;
	}
	if (ack->sent_us < s->answered_us)
		return;
	if (!s->samples)
		s->reference = ack->one_way_ns;
	s->delay_sum += (s64)(s32)(ack->one_way_ns - s->reference) * ack->samples;
	s->samples += ack->samples;
}

/* Equations 1 and 8: W - (W - 1) Q/R. */
CORE void dx_update_window(struct dx_state *s, const struct dx_params *p, u64 now_us)
{
	struct core_window *w = &s->window;

	if (s->queueing_ns > p->headroom_ns) {
		u64 excess = w->size - PACKET, cut = excess;

		if (s->queueing_ns < s->base_rtt_ns)
			cut = excess * s->queueing_ns / s->base_rtt_ns;
		window_cut(w, w->size - cut, PACKET);
		s->answered_us = now_us + s->base_rtt_ns / 1000;
	} else if (s->limited && !window_slow_start(w)) {
		w->size = least(w->size + PACKET, WINDOW_MOST);
	}
}

CORE void dx_end_round(struct dx_state *s, const struct dx_params *p, u64 now_us)
{
	s64 over;

	if (!s->samples)
		return;
	over = (s64)(s32)(s->reference - s->base_one_way_ns) * s->samples + s->delay_sum;
	s->queueing_ns = over > 0 ? least((u64)over / s->samples, ~0U) : 0;
	dx_update_window(s, p, now_us);
	s->delay_sum = 0;
	s->samples = 0;
	s->limited = 0;
}

CORE void dx_ack(struct dx_state *s, const struct dx_params *p, const struct core_ack *ack)
{
	if (window_slow_start(&s->window) || !dx_stamped(s))
		window_grow(&s->window, ack);
	dx_observe(s, ack);
	if (round_ends(&s->round_us, ack)) {
		dx_end_round(s, p, ack->now_us);
		s->dither = draws_bits(&s->draws) >> 48;
	}
}

/* Rounds at random: a window of 5.7 packets is 6 in seven rounds of ten. */
CORE u32 dx_packets(const struct dx_state *s)
{
	return most((s->window.size + s->dither) / PACKET, 1);
}

/* A loss without queueing delay is not congestion (§IV-B); without timestamps it is the only signal. */
CORE void dx_loss(struct dx_state *s, const struct dx_params *p, const struct core_loss *loss)
{
	if (dx_stamped(s))
		return;
	if (loss->timeout)
		window_collapse(&s->window, loss->in_flight);
	else
		window_halve(&s->window, loss->in_flight);
}

#endif
