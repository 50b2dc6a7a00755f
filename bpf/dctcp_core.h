/* DCTCP: cuts in proportion to the share of packets that were marked.
 *
 * Source: RFC 8257 §3.3; Alizadeh et al., SIGCOMM 2010 eq. 1 and 2. Shares are in 2^20ths. A cut is immediate and in
 * whole packets, as in crates/cc/src/sender/dctcp.rs; Linux spreads it over the round (PRR).
 */
#ifndef SHALLOWS_DCTCP_CORE_H
#define SHALLOWS_DCTCP_CORE_H

#include "core.h"

#define SHARE_BITS 20
#define WHOLE (1ULL << SHARE_BITS)

struct dctcp_params {
	u32 g;              /* 2^20ths */
	u32 alpha;          /* of a new flow, 2^20ths */
	u64 min_window;
};

struct dctcp_state {
	struct core_window window;
	u64 round_us;
	u64 reduced_us;     /* start of the round that follows a cut */
	u32 reduced;        /* whether that round is in progress */
	u32 alpha;
	u32 acked;
	u32 marked;
};

CORE void dctcp_init(struct dctcp_state *s, const struct dctcp_params *p, u32 initial_window, u64 seed)
{
	window_init(&s->window, initial_window);
	s->round_us = 0;
	s->reduced_us = 0;
	s->reduced = 0;
	s->alpha = p->alpha;
	s->acked = 0;
	s->marked = 0;
}

/* Equation 1. */
CORE void dctcp_update_alpha(struct dctcp_state *s, const struct dctcp_params *p)
{
	u64 share = s->acked ? ((u64)s->marked << SHARE_BITS) / s->acked : 0;

	s->alpha = ((WHOLE - p->g) * s->alpha + p->g * share) >> SHARE_BITS;
	s->acked = 0;
	s->marked = 0;
}

/* Equation 2 in whole packets. */
CORE void dctcp_reduce(struct dctcp_state *s, const struct dctcp_params *p)
{
	u64 packets = s->window.size / PACKET;
	u64 cut = packets * s->alpha >> (SHARE_BITS + 1);

	window_cut(&s->window, (packets - cut) * PACKET, p->min_window);
}

CORE void dctcp_ack(struct dctcp_state *s, const struct dctcp_params *p, const struct core_ack *ack)
{
	s->acked += ack->acked;
	s->marked += ack->marked;
	if (round_ends(&s->round_us, ack))
		dctcp_update_alpha(s, p);
	if (s->reduced && ack->sent_us < s->reduced_us)
		return;
	s->reduced = 0;
	if (ack->marked) {
		dctcp_reduce(s, p);
		s->reduced = 1;
		s->reduced_us = ack->now_us;
	} else {
		window_grow(&s->window, ack);
	}
}

CORE void dctcp_loss(struct dctcp_state *s, const struct dctcp_params *p, const struct core_loss *loss)
{
	if (loss->timeout)
		window_collapse(&s->window, loss->in_flight);
	else
		window_cut(&s->window, s->window.size / 2, p->min_window);
	s->reduced = 1;
	s->reduced_us = loss->now_us;
}

CORE u32 dctcp_packets(const struct dctcp_state *s)
{
	return window_packets(&s->window);
}

#endif
