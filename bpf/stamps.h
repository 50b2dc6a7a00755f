/* DX's timestamps in a TCP option, set below the stack.
 *
 *     254 | 16 | 0x5348 | sent | echo of the peer's sent | echo of when it arrived      times modulo 2^32 ns
 *
 * sockops reserves space and writes the two echoes; tc egress writes `sent`; tc ingress at the other end computes
 * the values for its socket: the one-way delay (echo of arrival - echo of sent) and the arrival time of this packet.
 * An acknowledgement of several packets echoes the one with the shortest delay.
 * Then: round trip without the receiver's delay = arrival - sent + one-way delay. 0 means "none".
 * The lowest two bits of `sent` are no time: the first is always set, the second asks for an immediate acknowledgement. A
 * sender with a window of one packet asks for it, because Linux would otherwise wait up to 40 ms for a second packet.
 *
 * Source: Lee et al., IEEE/ACM ToN 25(1), 2017, §III-IV. Kind 254 with an experiment's identifier: RFC 6994.
 */
#ifndef SHALLOWS_STAMPS_H
#define SHALLOWS_STAMPS_H

#include "kernel.h"
#include "packet.h"
#include "select.h"

#define OPTION_KIND 254
#define OPTION_SIZE 16
#define OPTION_MAGIC_0 0x53
#define OPTION_MAGIC_1 0x48
#define STAMPED 1
#define AT_ONCE 2

/* The values of the last packet with timestamps of a connection. */
struct stamps {
	u32 peer_sent;              /* to echo once; 0: nothing */
	u32 peer_arrived;
	u32 rtt_ns;
	u32 one_way_ns;
	u32 samples;                /* whether the two values above are new */
	u32 active;                 /* whether this end sends timestamps */
	u32 at_once;                /* whether the peer asked for an immediate acknowledgement */
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stamps);
} stamps SEC(".maps");

struct option {
	u8 kind;
	u8 size;
	u8 magic[2];
	u32 words[3];               /* network order */
};

CORE u32 stamp(u64 ns)
{
	return ((u32)ns & ~AT_ONCE) | STAMPED;
}

CORE struct stamps *stamps_of(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;

	return sk ? bpf_sk_storage_get(&stamps, sk, 0, BPF_SK_STORAGE_GET_F_CREATE) : 0;
}

/* Of the packets that one acknowledgement covers, keeps the one with the shortest delay. The others may have waited
 * behind a packet of the same burst, which says nothing about the queue that the burst found.
 */
CORE void stamps_keep(struct stamps *s, u32 sent, u32 arrived)
{
	u32 kept = s->peer_arrived - s->peer_sent;

	if (s->peer_sent && (s32)(arrived - sent - kept) > 0)
		return;
	s->peer_sent = sent;
	s->peer_arrived = arrived;
}

CORE void stamps_read(struct bpf_sock_ops *ops)
{
	struct option option = { OPTION_KIND, 4, { OPTION_MAGIC_0, OPTION_MAGIC_1 }, {} };
	struct stamps *s;
	u32 sent, arrived, one_way;

	if (bpf_load_hdr_opt(ops, &option, sizeof(option), 0) != OPTION_SIZE)
		return;
	s = stamps_of(ops);
	if (!s)
		return;
	sent = bpf_ntohl(option.words[0]);
	arrived = bpf_ntohl(option.words[2]);
	one_way = bpf_ntohl(option.words[1]);
	if (one_way) {
		s->one_way_ns = one_way;
		s->rtt_ns = arrived - sent + one_way;
		s->samples = 1;
	}
	/* A short packet has a shorter transmission time. As the base delay it would make all others look queued. */
	if (ops->skb_len >= ops->mss_cache) {
		stamps_keep(s, sent, arrived);
		s->at_once |= sent & AT_ONCE;
	}
	if (!s->active) {
		s->active = 1;
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	}
}

CORE void stamps_write(struct bpf_sock_ops *ops)
{
	struct option option = { OPTION_KIND, OPTION_SIZE, { OPTION_MAGIC_0, OPTION_MAGIC_1 }, {} };
	struct stamps *s = stamps_of(ops);

	if (s && s->peer_sent) {
		option.words[1] = bpf_htonl(s->peer_sent);
		option.words[2] = bpf_htonl(s->peer_arrived);
		s->peer_sent = 0;
	}
	if (ops->snd_cwnd < 2)
		option.words[0] = bpf_htonl(AT_ONCE);
	bpf_store_hdr_opt(ops, &option, sizeof(option), 0);
}

/* Sends the acknowledgement immediately if the sender of the received packet asked for it. */
CORE void stamps_answer(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct stamps *s = bpf_sk_storage_get(&stamps, sk, 0, 0);

	if (!s || !s->at_once)
		return;
	s->at_once = 0;
	tp->inet_conn.icsk_ack.pending |= ACK_NOW;
}

/* An end whose congestion control needs timestamps begins to send them; the other end answers when it sees one. */
CORE void stamps_begin(struct bpf_sock_ops *ops)
{
	const union name needed_by = settings.name;
	u32 flags = BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG;
	union name name = {};
	struct stamps *s;

	bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, name.text, sizeof(name.text));
	s = stamps_of(ops);
	if (s && name.words[0] == needed_by.words[0] && name.words[1] == needed_by.words[1]) {
		s->active = 1;
		flags |= BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	}
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | flags);
}

/* The position of the option in a packet, and its words. */
struct place {
	u32 tcp;                    /* offset of the TCP header */
	u32 option;                 /* offset of the option; 0: none */
	struct option was;
};

/* Finds the option among the TCP options; a peer may have sent anything. */
CORE void find_option(struct __sk_buff *skb, struct place *place)
{
	const u8 wanted[4] = { OPTION_KIND, OPTION_SIZE, OPTION_MAGIC_0, OPTION_MAGIC_1 };

	place->tcp = tcp_header(skb);
	place->option = tcp_option(skb, place->tcp, wanted, 4);
	if (place->option)
		bpf_skb_load_bytes(skb, place->option, &place->was, sizeof(place->was));
}

/* 32 bits that begin at an odd offset, in the byte order of the checksum. */
CORE u32 swapped_lanes(u32 x)
{
	return (x & 0x00ff00ff) << 8 | (x >> 8 & 0x00ff00ff);
}

/* Replaces one word (network order) and updates the checksum. */
CORE void replace_word(struct __sk_buff *skb, const struct place *place, u32 word, u32 now)
{
	u32 was = place->was.words[word], is = now;
	int odd = (place->option - place->tcp) & 1;

	if (was == is)
		return;
	bpf_l4_csum_replace(skb, place->tcp + 16, odd ? swapped_lanes(was) : was, odd ? swapped_lanes(is) : is, 4);
	bpf_skb_store_bytes(skb, place->option + 4 + 4 * word, &now, 4, 0);
}

#endif
