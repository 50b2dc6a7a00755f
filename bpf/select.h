/* Sets the congestion control of new connections, also of those whose application has asked for another.
 *
 * A listener gets it when it begins to listen, so that the answer to a SYN already negotiates ECN if the algorithm needs it.
 */
#ifndef SHALLOWS_SELECT_H
#define SHALLOWS_SELECT_H

#include "kernel.h"

#define SOL_TCP 6
#define TCP_CONGESTION 13

CORE void select_congestion_control(struct bpf_sock_ops *ops)
{
	union name name = settings.name;

	if (settings.select)
		bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name.text, sizeof(name.text));
}

/* The sockops program of an algorithm that needs no other event of a connection. */
CORE int select_as_it_begins(struct bpf_sock_ops *ops)
{
	if (ops->op == BPF_SOCK_OPS_TCP_CONNECT_CB || ops->op == BPF_SOCK_OPS_TCP_LISTEN_CB)
		select_congestion_control(ops);
	return 1;
}

#endif
