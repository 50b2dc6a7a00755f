/* DX on a Linux kernel: the sender around dx_core.h, and the stamps it goes by. */
#include "kernel.h"

#include "dx_core.h"
#include "stamps.h"

#define NAME "shallows_dx"

struct flow {
	struct glue glue;
	struct dx_state state;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

CORE struct dx_params params(void)
{
	struct dx_params p = { .headroom_ns = settings.params[0] };

	return p;
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!flow)
		return;
	flow->glue.delivered = tp->delivered;
	flow->glue.delivered_ce = tp->delivered_ce;
	dx_init(&flow->state, tp->snd_cwnd, settings.seed ^ sk->__sk_common.skc_num);
}

SEC("struct_ops/cong_control")
void BPF_PROG(cong_control, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct stamps *stamped = bpf_sk_storage_get(&stamps, sk, 0, 0);
	struct dx_params p = params();
	struct core_ack ack;
	struct sample *sample;

	if (!flow)
		return;
	if (kernel_ack(tp, rs, &flow->glue, window_slow_start(&flow->state.window), &ack)) {
		if (stamped && stamped->samples) {
			ack.samples = stamped->samples;
			ack.rtt_ns = stamped->rtt_ns;
			ack.one_way_ns = stamped->one_way_ns;
			stamped->samples = 0;
		}
		dx_ack(&flow->state, &p, &ack);
		sample = kernel_sample(tp, &flow->glue);
		if (sample) {
			sample->window = flow->state.window.size;
			sample->queueing_ns = flow->state.queueing_ns;
			sample->base_rtt_ns = flow->state.base_rtt_ns;
			sample->rtt_ns = ack.rtt_ns;
			sample->one_way_ns = ack.one_way_ns;
			sample->rtt_us = ack.round_trip_us;
			bpf_ringbuf_submit(sample, 0);
		}
	}
	kernel_set_window(tp, dx_packets(&flow->state));
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
		dx_loss(&flow->state, &loss);
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
struct tcp_congestion_ops shallows_dx = {
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
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		select_congestion_control(ops, (union name){ .text = NAME });
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		stamps_begin(ops, (union name){ .text = NAME });
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		bpf_reserve_hdr_opt(ops, OPTION_SIZE, 0);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		stamps_write(ops);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		stamps_read(ops);
		break;
	}
	return 1;
}

SEC("tcx/egress")
int leave(struct __sk_buff *skb)
{
	struct place place;

	find_option(skb, &place);
	if (place.option)
		replace_word(skb, &place, 0, bpf_htonl(stamp_now()));
	return -1;
}

SEC("tcx/ingress")
int arrive(struct __sk_buff *skb)
{
	struct place place;
	u32 one_way;

	find_option(skb, &place);
	if (!place.option)
		return -1;
	one_way = bpf_ntohl(place.was.words[2]) - bpf_ntohl(place.was.words[1]);
	if (!place.was.words[0])
		one_way = 0;
	replace_word(skb, &place, 1, bpf_htonl(one_way));
	replace_word(skb, &place, 2, bpf_htonl(stamp_now()));
	return -1;
}
