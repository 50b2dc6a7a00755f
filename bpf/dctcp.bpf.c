/* DCTCP on a Linux kernel: the sender around dctcp_core.h, and the receiver of accurate_echo.h. Both ends of a
 * connection need it: a classic receiver repeats an echo until the sender reacts, so the share of marks is lost.
 */
#include "dctcp_core.h"

#define NAME dctcp
#include "kernel.h"

CORE void hear(struct sock *sk, struct core_ack *ack)
{
}

CORE void tell(struct sample *sample, const struct dctcp_state *s, const struct core_ack *ack)
{
	sample->alpha = s->alpha;
}

#include "select.h"
#include "struct_ops.h"
#include "accurate_echo.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops shallows_dctcp = {
	OPERATIONS,
	.cwnd_event = (void *)cwnd_event,
	.flags = CONG_NEEDS_ECN,
};

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	return select_as_it_begins(ops);
}
