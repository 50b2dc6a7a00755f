/* Gives new connections a congestion control, where a host's own applications do not ask for one.
 *
 * A listener gets it as it begins to listen, so that the answer to a SYN already agrees to ECN where that is needed.
 */
#ifndef SHALLOWS_SELECT_H
#define SHALLOWS_SELECT_H

#include "kernel.h"

#define SOL_TCP 6
#define TCP_CONGESTION 13

union name {
	char text[16];
	u64 words[2];
};

CORE void select_congestion_control(struct bpf_sock_ops *ops, union name name)
{
	if (settings.select)
		bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name.text, sizeof(name.text));
}

/* On whatever happens to a connection, for an algorithm that needs nothing else of it. */
CORE int select_as_it_begins(struct bpf_sock_ops *ops, union name name)
{
	if (ops->op == BPF_SOCK_OPS_TCP_CONNECT_CB || ops->op == BPF_SOCK_OPS_TCP_LISTEN_CB)
		select_congestion_control(ops, name);
	return 1;
}

#endif
