/* One event of one algorithm on one block of memory. Tests call it natively, in a virtual machine and in the
 * kernel.
 */
#ifndef SHALLOWS_STEPS_H
#define SHALLOWS_STEPS_H

#include "dctcp_core.h"
#include "dx_core.h"
#include "inigo_core.h"
#include "inigo_receiver_core.h"

enum { STEP_INIT, STEP_ACK, STEP_LOSS };

#define SENDER(name)                                                                                              \
	struct name##_step {                                                                                      \
		u32 kind;                                                                                         \
		u32 initial_window;                                                                               \
		u64 seed;                                                                                         \
		struct name##_params params;                                                                      \
		struct core_ack ack;                                                                              \
		struct core_loss loss;                                                                            \
		struct name##_state state;                                                                        \
	};                                                                                                        \
                                                                                                                  \
	CORE u32 name##_step_once(struct name##_step *step)                                                       \
	{                                                                                                         \
		if (step->kind == STEP_INIT)                                                                      \
			name##_init(&step->state, &step->params, step->initial_window, step->seed);               \
		else if (step->kind == STEP_ACK)                                                                  \
			name##_ack(&step->state, &step->params, &step->ack);                                      \
		else                                                                                              \
			name##_loss(&step->state, &step->params, &step->loss);                                    \
		return name##_packets(&step->state);                                                              \
	}

SENDER(dctcp)
SENDER(dx)
SENDER(inigo)

/* A receiver's events: it begins, a packet arrives, an acknowledgement leaves. */
enum { STEP_DATA = STEP_ACK, STEP_LEAVES };

struct inigo_receiver_step {
	u32 kind;
	u32 timestamp;              /* of the acknowledgement */
	struct inigo_receiver_params params;
	struct inigo_receiver_data data;
	struct inigo_receiver_state state;
};

/* The window in bytes; the highest bit says whether the packet must be marked. */
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

#define EACH_STEP(of) of(dctcp) of(dx) of(inigo) of(inigo_receiver)

#endif
