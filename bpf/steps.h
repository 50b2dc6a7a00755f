/* One event of one algorithm on one block of memory: what the equality tests call natively, in a virtual
 * machine and in the kernel.
 */
#ifndef SHALLOWS_STEPS_H
#define SHALLOWS_STEPS_H

#include "dctcp_core.h"
#include "dx_core.h"
#include "inigo_core.h"
#include "inigo_receiver_core.h"

enum { STEP_INIT, STEP_ACK, STEP_LOSS };

#define STEP(name)                                                                                                \
	struct name##_step {                                                                                      \
		u32 kind;                                                                                         \
		u32 initial_window;                                                                               \
		u64 seed;                                                                                         \
		struct name##_params params;                                                                      \
		struct core_ack ack;                                                                              \
		struct core_loss loss;                                                                            \
		struct name##_state state;                                                                        \
	};

STEP(dctcp)
STEP(dx)
STEP(inigo)

CORE u32 dctcp_step_once(struct dctcp_step *step)
{
	if (step->kind == STEP_INIT)
		dctcp_init(&step->state, &step->params, step->initial_window);
	else if (step->kind == STEP_ACK)
		dctcp_ack(&step->state, &step->params, &step->ack);
	else
		dctcp_loss(&step->state, &step->params, &step->loss);
	return window_packets(&step->state.window);
}

CORE u32 dx_step_once(struct dx_step *step)
{
	if (step->kind == STEP_INIT)
		dx_init(&step->state, step->initial_window, step->seed);
	else if (step->kind == STEP_ACK)
		dx_ack(&step->state, &step->params, &step->ack);
	else
		dx_loss(&step->state, &step->loss);
	return dx_packets(&step->state);
}

CORE u32 inigo_step_once(struct inigo_step *step)
{
	if (step->kind == STEP_INIT)
		inigo_init(&step->state, &step->params, step->initial_window);
	else if (step->kind == STEP_ACK)
		inigo_ack(&step->state, &step->params, &step->ack);
	else
		inigo_loss(&step->state, &step->loss);
	return window_packets(&step->state.window);
}

/* A receiver's events: it begins, a packet arrives, an acknowledgement leaves. */
enum { STEP_DATA = STEP_ACK, STEP_LEAVES };

struct inigo_receiver_step {
	u32 kind;
	u32 timestamp;              /* of the acknowledgement */
	struct inigo_receiver_params params;
	struct inigo_receiver_data data;
	struct inigo_receiver_state state;
};

/* The window in bytes, and in the highest bit whether the packet is to be marked. */
CORE u32 inigo_receiver_step_once(struct inigo_receiver_step *step)
{
	u32 mark = 0;

	if (step->kind == STEP_INIT)
		inigo_receiver_init(&step->state, &step->params);
	else if (step->kind == STEP_DATA)
		mark = inigo_receiver_data(&step->state, &step->params, &step->data);
	else
		inigo_receiver_ack(&step->state, step->data.now_us, step->timestamp);
	return inigo_receiver_bytes(&step->state) | mark << 31;
}

#endif
