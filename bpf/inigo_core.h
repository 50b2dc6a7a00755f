/* TCP Inigo, the sender: uses the share of late round trips as DCTCP uses the share of marks, and reacts
 * several times per window.
 *
 * Source: TCP Inigo, Algorithms 1 to 7, with the interpretation of crates/cc/src/sender/inigo.rs. Shares are in 2^20ths, the
 * threshold in 65536ths, round trips in microseconds as the kernel measures them.
 */
#ifndef SHALLOWS_INIGO_CORE_H
#define SHALLOWS_INIGO_CORE_H

#include "core.h"

#define INIGO_WHOLE (1U << 20)
#define INIGO_FLOOR (2 * PACKET)
#define INIGO_MAJOR 943718U         /* 0.9 */
#define INIGO_DILATE_AFTER 3
#define INIGO_DILATE_UNTIL 7
#define INIGO_NO_RTT (~0U)

struct inigo_params {
	u32 threshold;              /* an RTT that exceeds the smallest by this share is late */
	u32 g;
	u32 alpha;                  /* of a new flow */
	u32 least_alpha;            /* eq. 5 */
	u32 sub_window;             /* packets; 0: one reaction per window */
	u32 increase;               /* 65536ths of a packet per window */
	u32 samples;                /* round trips observed before slow start may end */
	u32 dilation;
};

struct inigo_state {
	struct core_window window;
	u64 round_us;
	u64 since_answer;           /* 65536ths of a packet acknowledged */
	u64 smoothed_rtt;           /* 65536ths of a microsecond; 0: none yet */
	u32 base_rtt_us;
	u32 observed;
	u32 late;
	u32 alpha;
	u32 acked;
	u32 marked;
	u32 marked_alpha;
	u32 dilated;                /* number of windows with heavy congestion */
	u32 undilated_us;           /* the base RTT before the dilation */
	u32 unused;                 /* the size is a multiple of 8 */
};

CORE void inigo_init(struct inigo_state *s, const struct inigo_params *p, u32 initial_window, u64 seed)
{
	window_init(&s->window, initial_window);
	s->round_us = 0;
	s->since_answer = 0;
	s->base_rtt_us = INIGO_NO_RTT;
	s->smoothed_rtt = 0;
	s->observed = 0;
	s->late = 0;
	s->alpha = p->alpha;
	s->acked = 0;
	s->marked = 0;
	s->marked_alpha = 0;
	s->dilated = 0;
	s->undilated_us = 0;
	s->unused = 0;
}

/* `base` plus the share `threshold` of it, at most the largest u32. */
CORE u32 inigo_above(u64 more, u32 base, const struct inigo_params *p)
{
	return least(more + ((u64)base * p->threshold >> 16), INIGO_NO_RTT);
}

/* Algorithm 1. */
CORE void inigo_observe(struct inigo_state *s, const struct inigo_params *p, const struct core_ack *ack)
{
	u32 rtt = ack->round_trip_us;

	s->acked += ack->acked;
	s->marked += ack->marked;
	if (!rtt)
		return;
	s->base_rtt_us = least(s->base_rtt_us, rtt);
	s->smoothed_rtt = s->smoothed_rtt ? (s->smoothed_rtt * 7 + ((u64)rtt << 16)) / 8 : (u64)rtt << 16;
	s->observed++;
	if (rtt > s->base_rtt_us && (u64)(rtt - s->base_rtt_us) << 16 >= (u64)s->base_rtt_us * p->threshold)
		s->late++;
}

/* To the nearest microsecond. */
CORE u32 inigo_smoothed_us(const struct inigo_state *s)
{
	return s->smoothed_rtt ? (s->smoothed_rtt + 32768) >> 16 : INIGO_NO_RTT;
}

CORE u32 inigo_average(const struct inigo_params *p, u32 alpha, u32 part, u32 whole)
{
	u64 share = ((u64)part << 20) / whole;

	return ((u64)(INIGO_WHOLE - p->g) * alpha + p->g * share) >> 20;
}

CORE u32 inigo_congestion(const struct inigo_state *s)
{
	return most(s->alpha, s->marked_alpha);
}

/* Algorithms 5 to 7: reduces the window by alpha/2 of `size`; with sub-windows of more than one, by whole packets. */
CORE void inigo_answer(struct inigo_state *s, const struct inigo_params *p, u64 size)
{
	u32 alpha = inigo_congestion(s);
	u64 less = size * alpha >> 21;

	if (!alpha || alpha < p->least_alpha)
		return;
	if (p->sub_window > 1)
		less &= ~(PACKET - 1);
	/* after a timeout the window can be less than a sub-window */
	window_cut(&s->window, s->window.size - least(less, s->window.size), INIGO_FLOOR);
}

/* Algorithm 4. */
CORE void inigo_look_for_the_end_of_slow_start(struct inigo_state *s, const struct inigo_params *p)
{
	u64 less;

	if (s->observed < p->samples || !s->observed)
		return;
	s->alpha = inigo_average(p, s->alpha, s->late, s->observed);
	if (!inigo_congestion(s))
		return;
	less = s->window.size * inigo_congestion(s) >> 21;
	window_cut(&s->window, s->window.size - less, INIGO_FLOOR);
}

/* Algorithm 3. */
CORE void inigo_dilate(struct inigo_state *s, const struct inigo_params *p)
{
	if (s->alpha > INIGO_MAJOR || s->dilated > INIGO_DILATE_AFTER)
		s->dilated++;
	if (s->dilated > INIGO_DILATE_AFTER && s->dilated < INIGO_DILATE_UNTIL) {
		if (s->dilated == INIGO_DILATE_AFTER + 1)
			s->undilated_us = s->base_rtt_us;
		s->base_rtt_us = inigo_above(inigo_smoothed_us(s), s->base_rtt_us, p);
		s->alpha = 0;
		s->window.threshold = NO_THRESHOLD;
	}
	if (s->dilated > INIGO_DILATE_UNTIL) {
		s->base_rtt_us = inigo_above(s->undilated_us, s->undilated_us, p);
		s->dilated = 0;
	}
}

/* Algorithm 2, and DCTCP's share of marks. */
CORE void inigo_end_window(struct inigo_state *s, const struct inigo_params *p)
{
	if (s->observed)
		s->alpha = inigo_average(p, s->alpha, s->late, s->observed);
	if (s->acked)
		s->marked_alpha = inigo_average(p, s->marked_alpha, s->marked, s->acked);
	s->observed = 0;
	s->late = 0;
	s->acked = 0;
	s->marked = 0;
	if (p->dilation)
		inigo_dilate(s, p);
	if (!p->sub_window && !window_slow_start(&s->window))
		inigo_answer(s, p, s->window.size);
}

CORE void inigo_avoid_congestion(struct inigo_state *s, const struct inigo_params *p, const struct core_ack *ack)
{
	u64 acked = ack->acked * PACKET, sub_window = p->sub_window * PACKET;

	if (sub_window) {
		s->since_answer += acked;
		if (s->since_answer >= least(sub_window, s->window.size)) {
			inigo_answer(s, p, least(s->since_answer, sub_window));
			s->since_answer = 0;
		}
	}
	if (ack->window_limited && !ack->recovering) {
		s->window.size = least(s->window.size + p->increase * acked / s->window.size, WINDOW_MOST);
		s->window.threshold = s->window.size;
	}
}

CORE void inigo_ack(struct inigo_state *s, const struct inigo_params *p, const struct core_ack *ack)
{
	inigo_observe(s, p, ack);
	if (round_ends(&s->round_us, ack))
		inigo_end_window(s, p);
	if (window_slow_start(&s->window)) {
		window_grow(&s->window, ack);
		inigo_look_for_the_end_of_slow_start(s, p);
	} else {
		inigo_avoid_congestion(s, p, ack);
	}
}

CORE void inigo_loss(struct inigo_state *s, const struct inigo_params *p, const struct core_loss *loss)
{
	if (loss->timeout)
		window_collapse(&s->window, loss->in_flight);
	else
		window_halve(&s->window, loss->in_flight);
}

CORE u32 inigo_packets(const struct inigo_state *s)
{
	return window_packets(&s->window);
}

#endif
