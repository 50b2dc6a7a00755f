/* A congestion control of the kernel around the core NAME: flows, windows and samples for user space.
 *
 * The including file defines two functions first: `hear` adds to an acknowledgement what the kernel does not know, `tell`
 * fills a sample. Its tcp_congestion_ops begins with OPERATIONS.
 */
#ifndef SHALLOWS_STRUCT_OPS_H
#define SHALLOWS_STRUCT_OPS_H

#include "kernel.h"

#define KERNEL_NAME "shallows_" TEXT(NAME)

struct flow {
	struct glue glue;
	struct OF(_state) state;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct OF(_params) p = settings.params;

	if (!flow)
		return;
	flow->glue.delivered = tp->delivered;
	flow->glue.delivered_ce = tp->delivered_ce;
	OF(_init)(&flow->state, &p, tp->snd_cwnd, settings.seed ^ sk->__sk_common.skc_num);
}

SEC("struct_ops/cong_control")
void BPF_PROG(cong_control, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct OF(_params) p = settings.params;
	struct core_ack ack;
	struct sample *sample;

	if (!flow)
		return;
	if (kernel_ack(tp, rs, &flow->glue, window_slow_start(&flow->state.window), &ack)) {
		hear(sk, &ack);
		OF(_ack)(&flow->state, &p, &ack);
		sample = kernel_sample(tp, &flow->glue);
		if (sample) {
			sample->window = flow->state.window.size;
			sample->rtt_us = ack.round_trip_us;
			tell(sample, &flow->state, &ack);
			bpf_ringbuf_submit(sample, 0);
		}
	}
	kernel_set_window(tp, OF(_packets)(&flow->state));
}

SEC("struct_ops/set_state")
void BPF_PROG(set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct OF(_params) p = settings.params;
	struct core_loss loss = {
		.now_us = tp->tcp_mstamp,
		.in_flight = tp->packets_out,
		.timeout = new_state == CA_LOSS,
	};

	if (flow && new_state >= CA_RECOVERY)
		OF(_loss)(&flow->state, &p, &loss);
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

#define OPERATIONS                                                                                                \
	.init = (void *)init, .ssthresh = (void *)ssthresh, .undo_cwnd = (void *)undo_cwnd,                       \
	.cong_control = (void *)cong_control, .set_state = (void *)set_state, .name = KERNEL_NAME

#endif
