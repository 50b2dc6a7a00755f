/* Marks at the egress of a network device, for routers whose kernel has no RED: none below KMIN bytes of queue, all from
 * KMAX on, and with a probability that rises to PMAX per mille in between (Zhu et al., SIGCOMM 2015, Fig. 5). With KMIN =
 * KMAX it is the step of DCTCP. Only packets that are ECN-capable can be marked; others pass.
 *
 *     clang -O2 -g -target bpf -DKMIN=30000 -DKMAX=30000 -DPMAX=1000 -c mark.bpf.c -o mark.o
 *     tc qdisc add dev eth1 clsact && tc filter add dev eth1 egress bpf da obj mark.o sec tc
 *
 * The queue is that of the root qdisc before the packet joins it.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define KERNEL __attribute__((preserve_access_index))

struct gnet_stats_queue {
	__u32 backlog;
} KERNEL;

struct Qdisc {
	struct gnet_stats_queue qstats;
} KERNEL;

struct net_device {
	struct Qdisc *qdisc;
} KERNEL;

struct sk_buff {
	struct net_device *dev;
} KERNEL;

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

SEC("tc")
int mark(struct __sk_buff *context)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(context);
	__u64 queue = packet->dev->qdisc->qstats.backlog;

	__u64 draw = bpf_get_prandom_u32() % 1000000; /* of 1,000,000 */

	if (queue >= KMAX || (queue > KMIN && draw * (KMAX - KMIN) < 1000 * PMAX * (queue - KMIN)))
		bpf_skb_ecn_set_ce(context);
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
