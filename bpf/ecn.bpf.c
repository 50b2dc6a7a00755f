/* Makes chosen connections ask for ECN (RFC 3168), whatever their congestion control: the setting of a host,
 * net.ipv4.tcp_ecn, would make all of its connections ask.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Local ports of the chosen connections, in host order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

SEC("sockops")
int connections(struct bpf_sock_ops *ops)
{
	__u32 port = ops->local_port;

	if (ops->op == BPF_SOCK_OPS_NEEDS_ECN && bpf_map_lookup_elem(&ports, &port))
		ops->reply = 1;
	return 1;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
