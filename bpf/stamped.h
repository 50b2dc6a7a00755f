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
		select_congestion_control(ops);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		stamps_begin(ops);
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

/* The link behind a device. A packet that finds it in use leaves later. Without this, packets that the stack sends
 * together have one timestamp and look queued in the network; the paper calibrates its timestamps likewise (§III).
 */
struct link {
	u64 free_ns;                /* when the packets so far have left */
	u64 ps_per_byte;
	struct bpf_spin_lock lock;
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u32);           /* index of the device */
	__type(value, struct link);
} links SEC(".maps");

#define ETHERNET 14

/* The time when this packet begins to leave: now, if nothing is known of the link. */
CORE u64 leaves_ns(struct __sk_buff *skb)
{
	u64 now = bpf_ktime_get_ns();
	u32 index = skb->ifindex, length = skb->len;
	struct link *link = bpf_map_lookup_elem(&links, &index);

	if (!link || length < ETHERNET)
		return now;
	bpf_spin_lock(&link->lock);
	now = most(now, link->free_ns);
	link->free_ns = now + (length - ETHERNET) * link->ps_per_byte / 1000;
	bpf_spin_unlock(&link->lock);
	return now;
}

SEC("tcx/egress")
int leave(struct __sk_buff *skb)
{
	u32 sent = stamp(leaves_ns(skb));
	struct place place;

	find_option(skb, &place);
	if (place.option)
		replace_word(skb, &place, 0, bpf_htonl(sent) | (place.was.words[0] & bpf_htonl(AT_ONCE)));
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
	replace_word(skb, &place, 2, bpf_htonl(stamp(bpf_ktime_get_ns())));
	return -1;
}

#endif
