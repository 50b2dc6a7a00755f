/* TCP Inigo's receiver on a Linux kernel, around inigo_receiver_core.h, for any sender. It reads packets
 * and acknowledgements at tc. Unless it marks, it limits the window of each acknowledgement that leaves.
 */
#include "inigo_receiver_core.h"

#define NAME inigo_receiver
#include "kernel.h"
#include "packet.h"

#define SOL_TCP 6
#define TCP_WINDOW_CLAMP 10
#define FAMILY_IPV4 2
#define TIMESTAMPS_KIND 8
#define TIMESTAMPS_SIZE 10

/* Addresses in IPv6 form, with IPv4 mapped; all in network order. */
struct connection {
	u32 local[4];
	u32 remote[4];
	u16 local_port;
	u16 remote_port;
};

struct flow {
	struct bpf_spin_lock lock;
	struct inigo_receiver_state state;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, struct connection);
	__type(value, struct flow);
} flows SEC(".maps");

/* Local ports of the selected connections, in host order; empty if all are selected. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, u32);
	__type(value, u32);
} ports SEC(".maps");

CORE void map_ipv4(u32 *to, u32 address)
{
	to[0] = 0;
	to[1] = 0;
	to[2] = bpf_htonl(0xffff);
	to[3] = address;
}

/* Reads a field of the context alone: if the compiler merges accesses, the verifier rejects the modified address. */
#define FIELD(ops, name)                                                                                          \
	({                                                                                                        \
		u32 field = (ops)->name;                                                                          \
		barrier_var(field);                                                                               \
		field;                                                                                            \
	})

CORE void connection_of_socket(struct bpf_sock_ops *ops, struct connection *c)
{
	u32 local = FIELD(ops, local_ip4), remote = FIELD(ops, remote_ip4);

	if (ops->family == FAMILY_IPV4) {
		map_ipv4(c->local, local);
		map_ipv4(c->remote, remote);
	} else {
		c->local[0] = FIELD(ops, local_ip6[0]);
		c->local[1] = FIELD(ops, local_ip6[1]);
		c->local[2] = FIELD(ops, local_ip6[2]);
		c->local[3] = FIELD(ops, local_ip6[3]);
		c->remote[0] = FIELD(ops, remote_ip6[0]);
		c->remote[1] = FIELD(ops, remote_ip6[1]);
		c->remote[2] = FIELD(ops, remote_ip6[2]);
		c->remote[3] = FIELD(ops, remote_ip6[3]);
	}
	c->local_port = bpf_htons(ops->local_port);
	c->remote_port = bpf_htons(bpf_ntohl(ops->remote_port));
}

/* The state of the connection of a packet that leaves or arrives. */
CORE struct flow *flow_of_packet(struct __sk_buff *skb, u32 tcp, int leaves)
{
	struct connection c = {};
	u32 *from = leaves ? c.local : c.remote, *to = leaves ? c.remote : c.local;
	u16 tcp_ports[2];

	if (bpf_skb_load_bytes(skb, tcp, tcp_ports, 4))
		return 0;
	c.local_port = tcp_ports[!leaves];
	c.remote_port = tcp_ports[leaves];
	if (skb->protocol == bpf_htons(PROTOCOL_IPV4)) {
		u32 addresses[2];

		if (bpf_skb_load_bytes(skb, ETHERNET + 12, addresses, 8))
			return 0;
		map_ipv4(from, addresses[0]);
		map_ipv4(to, addresses[1]);
	} else if (bpf_skb_load_bytes(skb, ETHERNET + 8, from, 16) || bpf_skb_load_bytes(skb, ETHERNET + 24, to, 16)) {
		return 0;
	}
	return bpf_map_lookup_elem(&flows, &c);
}

/* Value and echo of a packet's timestamp, in host order; 0: it has none. */
CORE int timestamps(struct __sk_buff *skb, u32 tcp, u32 *words)
{
	const u8 wanted[4] = { TIMESTAMPS_KIND, TIMESTAMPS_SIZE };
	u32 at = tcp_option(skb, tcp, wanted, 2);

	if (!at || bpf_skb_load_bytes(skb, at + 2, words, 8))
		return 0;
	words[0] = bpf_ntohl(words[0]);
	words[1] = bpf_ntohl(words[1]);
	return 1;
}

/* Length without the padding of short frames, if the header has it. */
CORE u32 payload(struct __sk_buff *skb, u32 tcp)
{
	u32 ipv4 = skb->protocol == bpf_htons(PROTOCOL_IPV4), end = skb->len, begin;
	u16 length;
	u8 offset;

	if (bpf_skb_load_bytes(skb, tcp + 12, &offset, 1))
		return 0;
	begin = tcp + (offset >> 4) * 4;
	if (!skb->gso_size && !bpf_skb_load_bytes(skb, ETHERNET + (ipv4 ? 2 : 4), &length, 2))
		end = least(end, ETHERNET + (ipv4 ? 0 : 40) + bpf_ntohs(length));
	return end > begin ? end - begin : 0;
}

SEC("tcx/ingress")
int arrive(struct __sk_buff *skb)
{
	u32 tcp = tcp_header(skb), words[2];
	struct inigo_receiver_params p = settings.params;
	struct inigo_receiver_data data;
	struct flow *flow;
	int mark;

	if (!tcp)
		return -1;
	flow = flow_of_packet(skb, tcp, 0);
	if (!flow || !timestamps(skb, tcp, words))
		return -1;
	data.now_us = bpf_ktime_get_ns() / 1000;
	data.sent = words[0];
	data.answers = words[1];
	data.payload = payload(skb, tcp);
	data.segment = skb->gso_size ? skb->gso_size : data.payload;
	bpf_spin_lock(&flow->lock);
	mark = inigo_receiver_data(&flow->state, &p, &data);
	bpf_spin_unlock(&flow->lock);
	if (mark)
		bpf_skb_ecn_set_ce(skb);
	return -1;
}

SEC("tcx/egress")
int leave(struct __sk_buff *skb)
{
	u32 tcp = tcp_header(skb), words[2];
	struct flow *flow;
	u64 now_us;

	if (!tcp)
		return -1;
	flow = flow_of_packet(skb, tcp, 1);
	if (!flow || !timestamps(skb, tcp, words))
		return -1;
	now_us = bpf_ktime_get_ns() / 1000;
	bpf_spin_lock(&flow->lock);
	inigo_receiver_ack(&flow->state, now_us, words[0]);
	bpf_spin_unlock(&flow->lock);
	return -1;
}

CORE void begin(struct bpf_sock_ops *ops)
{
	u32 flags = BPF_SOCK_OPS_STATE_CB_FLAG, port = ops->local_port;
	struct inigo_receiver_params p = settings.params;
	struct connection c = {};
	struct flow flow = {};

	if (!settings.select && !bpf_map_lookup_elem(&ports, &port))
		return;
	connection_of_socket(ops, &c);
	inigo_receiver_init(&flow.state, &p);
	bpf_map_update_elem(&flows, &c, &flow, BPF_ANY);
	if (!p.mark)
		flags |= BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | flags);
}

/* The kernel chooses the window right after the options. Set earlier, autotuning would raise it again. */
CORE void limit(struct bpf_sock_ops *ops)
{
	struct connection c = {};
	struct flow *flow;
	u32 bytes;

	connection_of_socket(ops, &c);
	flow = bpf_map_lookup_elem(&flows, &c);
	if (!flow || !flow->state.segment)
		return;
	bytes = inigo_receiver_bytes(&flow->state);
	bpf_setsockopt(ops, SOL_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
}

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	struct connection c = {};

	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		begin(ops);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		limit(ops);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ops->args[1] == BPF_TCP_CLOSE) {
			connection_of_socket(ops, &c);
			bpf_map_delete_elem(&flows, &c);
		}
		break;
	}
	return 1;
}
