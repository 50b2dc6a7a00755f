/* TCP Inigo's sender on a Linux kernel, around inigo_core.h. It needs nothing of switches, nor of the other end. */
#include "kernel.h"

#include "inigo_core.h"
#include "select.h"

#define NAME "shallows_inigo"

struct flow {
	struct glue glue;
	struct inigo_state state;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

CORE struct inigo_params params(void)
{
	struct inigo_params p = {
		.threshold = settings.params[0],
		.g = settings.params[0] >> 32,
		.alpha = settings.params[1],
		.least_alpha = settings.params[1] >> 32,
		.sub_window = settings.params[2],
		.increase = settings.params[2] >> 32,
		.samples = settings.params[3],
		.dilation = settings.params[3] >> 32,
	};
	return p;
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct inigo_params p = params();

	if (!flow)
		return;
	flow->glue.delivered = tp->delivered;
	flow->glue.delivered_ce = tp->delivered_ce;
	inigo_init(&flow->state, &p, tp->snd_cwnd);
}

SEC("struct_ops/cong_control")
void BPF_PROG(cong_control, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct inigo_params p = params();
	struct core_ack ack;
	struct sample *sample;

	if (!flow)
		return;
	if (kernel_ack(tp, rs, &flow->glue, window_slow_start(&flow->state.window), &ack)) {
		inigo_ack(&flow->state, &p, &ack);
		sample = kernel_sample(tp, &flow->glue);
		if (sample) {
			sample->window = flow->state.window.size;
			sample->alpha = inigo_congestion(&flow->state);
			sample->base_rtt_ns = least(flow->state.base_rtt_us, 4000000) * 1000;
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
	struct core_loss loss = {
		.now_us = tp->tcp_mstamp,
		.in_flight = tp->packets_out,
		.timeout = new_state == CA_LOSS,
	};

	if (flow && new_state >= CA_RECOVERY)
		inigo_loss(&flow->state, &loss);
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
struct tcp_congestion_ops shallows_inigo = {
	.init = (void *)init,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.cong_control = (void *)cong_control,
	.set_state = (void *)set_state,
	.name = NAME,
};

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	if (select_on(ops))
		select_congestion_control(ops, (union name){ .text = NAME });
	return 1;
}
