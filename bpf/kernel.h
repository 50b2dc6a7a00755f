/* The kernel structures that the programs read, relocated to the layout of the running kernel (CO-RE), and the part
 * that all congestion controls share: state of a flow, samples of it for user space, and the adapter between the
 * kernel's TCP and an integer core. The including file defines NAME as the name of that core.
 */
#ifndef SHALLOWS_KERNEL_H
#define SHALLOWS_KERNEL_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "core.h"

#define KERNEL __attribute__((preserve_access_index))

struct sock_common {
	u16 skc_num;                /* own port, in host order */
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;   /* limit of the application */
} KERNEL;

struct inet_sock {
	struct sock sk;
} KERNEL;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	struct {
		u8 pending;
	} icsk_ack;
} KERNEL;

struct tcp_rack {
	u64 mstamp;
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	struct tcp_rack rack;
	u32 srtt_us;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 packets_out;
	u32 max_packets_out;
	u32 delivered;
	u32 delivered_ce;
	u32 rcv_nxt;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
} KERNEL;

struct rate_sample {
	long rtt_us;
} KERNEL;

struct ack_sample;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

enum { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };
enum { EVENT_ECN_NO_CE = 4, EVENT_ECN_IS_CE = 5 };

#define CONG_NEEDS_ECN 2
#define ECN_DEMAND_CWR 4
#define ACK_TIMER 2
#define ACK_NOW 16

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
/* A name of the core of this program: OF(_state). */
#define OF(part) PASTE(NAME, part)

/* A congestion control's name in the kernel. */
union name {
	char text[16];
	u64 words[2];
};

/* Set before the program is loaded, by crates/live/src/programs.rs. */
struct settings {
	union name name;            /* of this algorithm; empty for a receiver */
	u64 sample_ns;              /* shortest time between two samples of a flow; 0: no samples */
	u64 seed;
	u64 select;                 /* whether new connections get the algorithm */
	struct OF(_params) params;
};

const volatile struct settings settings;

/* A sample of a flow: struct Sample in crates/live. */
struct sample {
	u64 time_ns;
	u64 window;                 /* 65536ths of a packet */
	u32 port;                   /* of the sender */
	u32 alpha;                  /* 2^20ths */
	u32 queueing_ns;
	u32 base_rtt_ns;
	u32 rtt_ns;                 /* by timestamps */
	u32 one_way_ns;
	u32 rtt_us;                 /* the kernel's own sample */
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} samples SEC(".maps");

/* State between the kernel and a core: the kernel's counters at the last acknowledgement. */
struct glue {
	u64 sampled_ns;
	u32 delivered;
	u32 delivered_ce;
};

/* True if the window limits the flow, by the kernel's own rule. */
CORE int kernel_window_limited(struct tcp_sock *tp, int slow_start)
{
	if (slow_start && tp->snd_cwnd < 2 * tp->max_packets_out)
		return 1;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* Fills the acknowledgement that the kernel has just processed; 0 if it acknowledged nothing. */
CORE int kernel_ack(struct tcp_sock *tp, const struct rate_sample *rs, struct glue *glue, int slow_start,
		    struct core_ack *ack)
{
	u8 state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	long rtt_us = rs->rtt_us;

	ack->now_us = tp->tcp_mstamp;
	ack->sent_us = tp->rack.mstamp;
	ack->acked = tp->delivered - glue->delivered;
	ack->marked = tp->delivered_ce - glue->delivered_ce;
	ack->rtt_ns = 0;
	ack->one_way_ns = 0;
	ack->samples = 0;
	ack->round_trip_us = rtt_us > 0 ? rtt_us : 0;
	ack->window_limited = kernel_window_limited(tp, slow_start);
	ack->recovering = state >= CA_RECOVERY;
	glue->delivered = tp->delivered;
	glue->delivered_ce = tp->delivered_ce;
	return ack->acked != 0;
}

/* Sets the window, and the rate by which the kernel sizes bursts and its share of the device queue. */
CORE void kernel_set_window(struct tcp_sock *tp, u32 packets)
{
	struct sock *sk = (struct sock *)tp;
	u64 per_round = 2ULL * packets * tp->mss_cache * 8000000;

	tp->snd_cwnd = least(packets, tp->snd_cwnd_clamp);
	if (tp->srtt_us)
		sk->sk_pacing_rate = least(per_round / tp->srtt_us, sk->sk_max_pacing_rate);
}

/* A sample to fill, if one is due. */
CORE struct sample *kernel_sample(struct tcp_sock *tp, struct glue *glue)
{
	struct sample *sample;
	u64 now = bpf_ktime_get_ns();

	if (!settings.sample_ns || now - glue->sampled_ns < settings.sample_ns)
		return 0;
	sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample)
		return 0;
	glue->sampled_ns = now;
	__builtin_memset(sample, 0, sizeof(*sample));
	sample->time_ns = now;
	sample->port = ((struct sock *)tp)->__sk_common.skc_num;
	return sample;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#endif
