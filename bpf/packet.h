/* Access of tc programs to a packet: the TCP header, and one of its options. */
#ifndef SHALLOWS_PACKET_H
#define SHALLOWS_PACKET_H

#include "kernel.h"

#define ETHERNET 14
#define PROTOCOL_TCP 6
#define PROTOCOL_IPV4 0x0800
#define PROTOCOL_IPV6 0x86dd
#define OPTIONS_MOST 40

/* The offset of the TCP header behind Ethernet and IP; 0: not TCP. */
CORE u32 tcp_header(struct __sk_buff *skb)
{
	u8 first, protocol;

	if (skb->protocol == bpf_htons(PROTOCOL_IPV4)) {
		if (bpf_skb_load_bytes(skb, ETHERNET, &first, 1) || bpf_skb_load_bytes(skb, ETHERNET + 9, &protocol, 1))
			return 0;
		return protocol == PROTOCOL_TCP ? ETHERNET + (first & 15) * 4 : 0;
	}
	if (skb->protocol == bpf_htons(PROTOCOL_IPV6)) {
		if (bpf_skb_load_bytes(skb, ETHERNET + 6, &protocol, 1))
			return 0;
		return protocol == PROTOCOL_TCP ? ETHERNET + 40 : 0;
	}
	return 0;
}

/* The offset of the TCP option that begins with these bytes (kind and size first); 0: none. */
CORE u32 tcp_option(struct __sk_buff *skb, u32 tcp, const u8 *wanted, u32 bytes)
{
	u8 options[OPTIONS_MOST] = {};
	u32 at = 0, length;
	u8 offset;

	if (!tcp || bpf_skb_load_bytes(skb, tcp + 12, &offset, 1))
		return 0;
	length = (offset >> 4) * 4;
	if (length < 20u + wanted[1] || length > 60)
		return 0;
	length -= 20;
	if (bpf_skb_load_bytes(skb, tcp + 20, options, length))
		return 0;
	for (int i = 0; i < OPTIONS_MOST; i++) {
		u8 kind, size;

		if (at > OPTIONS_MOST - wanted[1] || at + wanted[1] > length)
			return 0;
		kind = options[at];
		size = options[at + 1];
		if (kind == 0)
			return 0;
		if (kind == 1) {
			at++;
			continue;
		}
		if (kind == wanted[0] && size == wanted[1] &&
		    (bytes < 4 || (options[at + 2] == wanted[2] && options[at + 3] == wanted[3])))
			return tcp + 20 + at;
		if (size < 2)
			return 0;
		at += size;
	}
	return 0;
}

#endif
