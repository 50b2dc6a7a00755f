/* TCP Inigo's sender on a Linux kernel, around inigo_core.h. It needs nothing from switches or from the other end. */
#include "inigo_core.h"

#define NAME inigo
#include "kernel.h"

CORE void hear(struct sock *sk, struct core_ack *ack)
{
}

CORE void tell(struct sample *sample, const struct inigo_state *s, const struct core_ack *ack)
{
	sample->alpha = inigo_congestion(s);
	sample->base_rtt_ns = least(s->base_rtt_us, 4000000) * 1000;
}

#include "select.h"
#include "struct_ops.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops shallows_inigo = { OPERATIONS };

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	return select_as_it_begins(ops);
}
