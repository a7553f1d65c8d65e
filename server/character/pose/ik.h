#pragma once
#include <stdint.h>

#include "common/xform.h"
#include "server/model/model.h"

// Two bones of fixed lengths from a root joint to a target, in the plane that a pole picks.

struct ik_bend {
    double line[3];   // unit, from the root to where the end comes to stand
    double pole[3];   // unit, across the line: the side that the middle joint takes
    double middle[3]; // the elbow's or knee's place
    double end[3];    // the target, or as near to it as the bones reach
    double missing;   // how far the target is out of reach
};

// `pole` is made square to the line. Where target and root coincide, or the pole lies along the
// line, `line_before` and `pole_before` (unit, square to each other) say where they were; they
// stand in continuously near such places. `least`: the shortest distance that the bones may fold
// to.
void ik_bend(const double root[3], const double target[3], double upper, double lower, double least,
             const double pole[3], const double line_before[3], const double pole_before[3],
             struct ik_bend *out);

// Turns unit `v` about unit `axis` by `angle`.
void ik_turn(const double axis[3], double angle, const double v[3], double out[3]);
// The angle from unit a to unit b about `axis`, both square to it: -pi .. pi.
double ik_angle(const double axis[3], const double a[3], const double b[3]);
// `v` without its share along unit `line`; its length is returned, out unit unless that is 0.
double ik_across(const double line[3], const double v[3], double out[3]);
// Carries a pole along when its line turns the shortest way.
void ik_carry(const double line_before[3], const double line[3], const double pole_before[3],
              double pole[3]);

// Turns a node by `q`, unit, a turn in model space, after its own rotation. `nodes` are the pose's
// model from node, of which the node's parent counts; it must be as it was before its own parents
// were turned, and `q` as against them. A parent that is scaled to nothing lets nothing turn.
void ik_turn_node(const struct model *m, const struct xform *nodes, int32_t node, const double q[4],
                  struct trs *locals);
