/* The receiver of RFC 8257 §3.2 on a Linux kernel: every acknowledgement says whether the packets that it covers were
 * marked. The kernel reports a change of the mark as an event of the congestion control.
 */
#ifndef SHALLOWS_ACCURATE_ECHO_H
#define SHALLOWS_ACCURATE_ECHO_H

#include "kernel.h"

struct receiver {
	u32 received;               /* RCV.NXT when the last packet arrived */
	u32 marked;                 /* DCTCP.CE */
	u32 begun;                  /* whether a packet has arrived */
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct receiver);
} receivers SEC(".maps");

CORE void echo(struct tcp_sock *tp, u32 marked)
{
	u8 flags = tp->ecn_flags;

	tp->ecn_flags = marked ? flags | ECN_DEMAND_CWR : flags & ~ECN_DEMAND_CWR;
}

/* Handles a change of the mark: acknowledges the earlier packets first, with their own mark. */
SEC("struct_ops/cwnd_event")
void BPF_PROG(cwnd_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 marked = event == EVENT_ECN_IS_CE;
	struct receiver *r;

	if (event != EVENT_ECN_IS_CE && event != EVENT_ECN_NO_CE)
		return;
	r = bpf_sk_storage_get(&receivers, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!r)
		return;
	if (r->marked != marked) {
		u8 pending = tp->inet_conn.icsk_ack.pending;

		if (r->begun && pending & ACK_TIMER) {
			echo(tp, r->marked);
			bpf_tcp_send_ack(tp, r->received);
			pending = tp->inet_conn.icsk_ack.pending;
		}
		tp->inet_conn.icsk_ack.pending = pending | ACK_NOW;
	}
	r->begun = 1;
	r->received = tp->rcv_nxt;
	r->marked = marked;
	echo(tp, marked);
}

#endif
