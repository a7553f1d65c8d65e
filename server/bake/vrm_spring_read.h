#pragma once
#include "server/bake/vrm_read.h"

// VRMC_springBone with its extended colliders, and VRMC_node_constraint of all nodes.
void vrm_spring_read(struct vrm_writer *w, const struct doc_at *spring_bone);
void vrm_spring_read_constraints(struct vrm_writer *w);
