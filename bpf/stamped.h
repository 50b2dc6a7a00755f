/* The programs that add timestamps to packets, and the part that passes them to the sender; stamps.h has the format.
 *
 * `in_ack_event` is for its tcp_congestion_ops; the others are attached to a control group (sockops) and to devices (tc).
 */
#ifndef SHALLOWS_STAMPED_H
#define SHALLOWS_STAMPED_H

#include "stamps.h"
#include "struct_ops.h"

SEC("struct_ops/in_ack_event")
void BPF_PROG(in_ack_event, struct sock *sk, u32 flags)
{
	stamps_answer(sk);
}

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		select_congestion_control(ops, (union name){ .text = KERNEL_NAME });
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		stamps_begin(ops, (union name){ .text = KERNEL_NAME });
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
		replace_word(skb, &place, 0, bpf_htonl(stamp_now()) | (place.was.words[0] & bpf_htonl(AT_ONCE)));
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

#endif
