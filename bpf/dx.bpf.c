/* DX on a Linux kernel: the sender around dx_core.h, and its timestamps. */
#include "dx_core.h"

#define NAME dx
#include "kernel.h"
#include "stamps.h"

CORE void hear(struct sock *sk, struct core_ack *ack)
{
	struct stamps *stamped = bpf_sk_storage_get(&stamps, sk, 0, 0);

	if (!stamped || !stamped->samples)
		return;
	ack->samples = stamped->samples;
	ack->rtt_ns = stamped->rtt_ns;
	ack->one_way_ns = stamped->one_way_ns;
	stamped->samples = 0;
}

CORE void tell(struct sample *sample, const struct dx_state *s, const struct core_ack *ack)
{
	sample->queueing_ns = s->queueing_ns;
	sample->base_rtt_ns = s->base_rtt_ns;
	sample->rtt_ns = ack->rtt_ns;
	sample->one_way_ns = ack->one_way_ns;
}

#include "struct_ops.h"
#include "stamped.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops shallows_dx = { OPERATIONS, .in_ack_event = (void *)in_ack_event };
