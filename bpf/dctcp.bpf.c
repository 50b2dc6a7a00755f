/* DCTCP on a Linux kernel: the sender around dctcp_core.h, and the receiver of RFC 8257 §3.2. Both ends of a
 * connection need it: a classic receiver repeats an echo until the sender reacts, and there are no shares.
 */
#include "kernel.h"

#include "dctcp_core.h"
#include "select.h"

#define NAME "shallows_dctcp"

struct flow {
	struct glue glue;
	struct dctcp_state state;
	u32 received;               /* up to here when the last packet came: RCV.NXT */
	u32 marked;                 /* DCTCP.CE */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

CORE struct dctcp_params params(void)
{
	struct dctcp_params p = {
		.g = settings.params[0],
		.alpha = settings.params[1],
		.min_window = settings.params[2],
	};
	return p;
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct dctcp_params p = params();

	if (!flow)
		return;
	flow->glue.delivered = tp->delivered;
	flow->glue.delivered_ce = tp->delivered_ce;
	flow->received = tp->rcv_nxt;
	flow->marked = 0;
	dctcp_init(&flow->state, &p, tp->snd_cwnd);
}

SEC("struct_ops/cong_control")
void BPF_PROG(cong_control, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct dctcp_params p = params();
	struct core_ack ack;
	struct sample *sample;

	if (!flow)
		return;
	if (kernel_ack(tp, rs, &flow->glue, window_slow_start(&flow->state.window), &ack)) {
		dctcp_ack(&flow->state, &p, &ack);
		sample = kernel_sample(tp, &flow->glue);
		if (sample) {
			sample->window = flow->state.window.size;
			sample->alpha = flow->state.alpha;
			sample->rtt_us = ack.round_trip_us;
			bpf_ringbuf_submit(sample, 0);
		}
	}
	kernel_set_window(tp, window_packets(&flow->state.window));
}

SEC("struct_ops/set_state")
void BPF_PROG(set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct dctcp_params p = params();
	struct core_loss loss = {
		.now_us = tp->tcp_mstamp,
		.in_flight = tp->packets_out,
		.timeout = new_state == CA_LOSS,
	};

	if (flow && new_state >= CA_RECOVERY)
		dctcp_loss(&flow->state, &p, &loss);
}

CORE void echo(struct tcp_sock *tp, u32 marked)
{
	u8 flags = tp->ecn_flags;

	tp->ecn_flags = marked ? flags | ECN_DEMAND_CWR : flags & ~ECN_DEMAND_CWR;
}

/* A mark that comes or goes: what came before is acknowledged first, as it was. */
SEC("struct_ops/cwnd_event")
void BPF_PROG(cwnd_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 marked = event == EVENT_ECN_IS_CE;
	struct flow *flow;

	if (event != EVENT_ECN_IS_CE && event != EVENT_ECN_NO_CE)
		return;
	flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (!flow)
		return;
	if (flow->marked != marked) {
		u8 pending = tp->inet_conn.icsk_ack.pending;

		if (pending & ACK_TIMER) {
			echo(tp, flow->marked);
			bpf_tcp_send_ack(tp, flow->received);
			pending = tp->inet_conn.icsk_ack.pending;
		}
		tp->inet_conn.icsk_ack.pending = pending | ACK_NOW;
	}
	flow->received = tp->rcv_nxt;
	flow->marked = marked;
	echo(tp, marked);
}

SEC("struct_ops/ssthresh")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

SEC("struct_ops/undo_cwnd")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops shallows_dctcp = {
	.init = (void *)init,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.cong_control = (void *)cong_control,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.flags = CONG_NEEDS_ECN,
	.name = NAME,
};

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	if (select_on(ops))
		select_congestion_control(ops, (union name){ .text = NAME });
	return 1;
}
