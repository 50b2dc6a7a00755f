/* The steps as functions: compiled natively, and to bytecode that needs no kernel. */
#include "steps.h"

u64 dctcp_step(struct dctcp_step *step)
{
	return dctcp_step_once(step);
}

u64 dx_step(struct dx_step *step)
{
	return dx_step_once(step);
}

u64 inigo_step(struct inigo_step *step)
{
	return inigo_step_once(step);
}

u64 inigo_receiver_step(struct inigo_receiver_step *step)
{
	return inigo_receiver_step_once(step);
}
