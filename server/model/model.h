#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/xform.h"

// A baked model: immutable tables, used straight from the mapped .sinew file. Every table here is
// one section of the container (container.h) and is checked once at load: indices in range,
// counts consistent, floats finite. Code that gets a `const struct model *` may rely on it.
//
// Frames: the source file's, right-handed, +Y up, lengths in its own unit (unit_m metres each).
//
// Numberings, each with a name of its own:
//   node    all transform nodes of the source, parents before children
//   slot    one entry of the palette: a node and the inverse bind matrix it is used with
//   vertex  source order: parts in output order, each in its POSITION accessor's order
//   block   16 lanes that share one exact set of slots; lane = block * 16 + place
//   channel one morph weight of one node; shape = the channels that share a name

enum { MODEL_LANES = 16, MODEL_INFLUENCES_MAX = 64 };
enum { MODEL_ROOTS_MAX = 8 };
enum { MODEL_NONE = -1 };

enum model_node_flags {
    MODEL_NODE_JOINT = 1,    // listed by a skin
    MODEL_NODE_IN_SCENE = 2, // reachable in the default scene
    MODEL_NODE_SHEARED = 4,  // its rest matrix is no TRS: rest_local holds while the pose's TRS
                             // equals `rest` bit for bit
};

struct model_node {
    int32_t parent;  // < own index, or MODEL_NONE
    uint32_t source; // glTF node index
    uint32_t name;   // offset into text; "" when the source has none
    uint32_t flags;
    struct trs rest;
    struct mat34 rest_local;
};

// slot matrix = model_from_node(node) * inverse_bind. Rigid parts use a slot with the identity.
enum model_slot_flags {
    MODEL_SLOT_APART = 1, // the first root has no such joint: it takes no share of this one
};
struct model_slot {
    uint32_t node;
    uint16_t root; // several roots: which root's pose carries it; 0 with one root
    uint16_t flags;
    struct mat34 inverse_bind;
};

enum model_topology { MODEL_TRIANGLES, MODEL_LINES, MODEL_POINTS };
enum model_part_flags {
    MODEL_PART_SKINNED = 1,
    MODEL_PART_HAS_NORMALS = 2, // from the source; otherwise made at bake, angle-weighted smooth
    MODEL_PART_HAS_TANGENTS = 4,
    MODEL_PART_FLIPPED = 8, // indices were wound the other way by a mirroring node or joint
};

struct model_part {                 // one primitive of one node
    uint32_t node, mesh, primitive; // node: index into nodes; mesh, primitive: glTF indices
    int32_t skin;                   // glTF index or MODEL_NONE
    int32_t material;               // or MODEL_NONE
    uint32_t topology, flags;
    uint32_t vertex_first, vertex_count;
    uint32_t index_first, index_count;
    uint32_t uv_set_count, color_set_count;
    uint32_t uv_first;    // into uvs, in float pairs: set-major, vertex_count a set
    uint32_t color_first; // into colors, in vec4: set-major
};

// Kernel layout. Lane i of block b: positions at rest[b][0..2][i], normals at rest[b][3..5][i];
// influence k's weight at weights[weight_first + k * 16 + i]. Lanes past `lane_count` repeat the
// last one, so kernels need no tail.
struct model_block {
    uint32_t lane_count;      // 1 .. 16
    uint32_t influence_count; // 1 .. MODEL_INFLUENCES_MAX
    uint32_t slot_first;      // into block_slots
    uint32_t weight_first;    // into weights; a multiple of 16; unused when influence_count is 1
};
struct model_rest_block {
    float position[3][MODEL_LANES];
    float normal[3][MODEL_LANES];
};

struct model_tangent_block {
    float direction[3][MODEL_LANES]; // zero in lanes of parts without tangents
    float sign[MODEL_LANES];         // +-1: bitangent = sign * cross(normal, tangent)
};

// A shape's deltas, blocked like the surface: only blocks that it touches, zero in other lanes.
struct model_morph_block {
    uint32_t block;
    float position[3][MODEL_LANES];
};
struct model_morph_normal_block { // parallel to the channel's blocks when it has normal deltas
    float normal[3][MODEL_LANES];
};
struct model_channel {
    uint32_t node;   // whose mesh it deforms
    uint32_t target; // morph target index in that mesh
    uint32_t shape;
    float default_weight;
    uint32_t block_first, block_count; // into morph_blocks
    uint32_t has_normals;              // then normal_first.. is parallel
    uint32_t normal_first;             // into morph_normal_blocks
};
struct model_shape {
    uint32_t name; // "" when the source has none
    uint32_t channel_count;
};

enum model_path {
    MODEL_TRANSLATION,
    MODEL_ROTATION,
    MODEL_SCALE,
    MODEL_WEIGHTS // one track a channel: width 1
};
enum model_interpolation { MODEL_STEP, MODEL_LINEAR, MODEL_CUBIC };
struct model_track {
    uint32_t path, interpolation;
    uint32_t target;      // node, or channel for MODEL_WEIGHTS
    uint32_t key_count;   // >= 1
    uint32_t time_first;  // into track_times
    uint32_t value_first; // into track_values; path's width (3, 4, 3, 1) * key_count floats, cubic
                          // three times that: in-tangent, value, out-tangent per key
};
struct model_clip {
    uint32_t name;
    uint32_t source; // glTF animation index, or MODEL_NONE cast for clips of other files
    uint32_t loop;
    float duration_s;
    uint32_t track_first, track_count; // sorted by path, then target
};

struct model_texture_use {
    int32_t texture; // or MODEL_NONE
    uint32_t uv_set;
    float offset[2], scale[2], rotation, strength;
};
enum model_alpha { MODEL_ALPHA_OPAQUE, MODEL_ALPHA_MASK, MODEL_ALPHA_BLEND };
struct model_material {
    uint32_t name, alpha, double_sided, unlit;
    float base_color[4], emissive[3], metallic, roughness, alpha_cutoff;
    struct model_texture_use base_color_texture, metallic_roughness_texture, normal_texture,
        occlusion_texture, emissive_texture;
};
struct model_texture {
    int32_t image, basisu_image; // or MODEL_NONE
    uint32_t mag_filter, min_filter, wrap_s, wrap_t;
};
struct model_image {
    uint32_t name, mime_type;
    uint64_t byte_first, byte_count; // into image_bytes; 0 bytes when the source lacks it
};

struct model_bone { // VRM humanoid
    uint32_t bone;  // offset into text: VRM 1.0 name
    uint32_t node;
};
struct model_note {
    uint32_t kind, count, text; // kind: enum note_kind of the bake
};

// Pose drivers (method A): groups of joints whose pose says how much of each example's corrective
// surface is shown. A driver has one solve, or with per_vertex one for each distinct subset of its
// joints that influences a vertex. Center 0 of a solve is the base pose P0.
enum model_read {
    MODEL_READ_ROTATION,
    MODEL_READ_SWING,
    MODEL_READ_TWIST,
    MODEL_READ_TRANSLATION,
    MODEL_READ_TRANSFORM // rotation and translation
};
enum model_kernel {
    MODEL_KERNEL_ROTATION, // the method's gaussians of an embedding
    MODEL_KERNEL_LINEAR,
    MODEL_KERNEL_GAUSSIAN,
    MODEL_KERNEL_THIN_PLATE,
    MODEL_KERNEL_MULTIQUADRIC,
    MODEL_KERNEL_INVERSE_MULTIQUADRIC
};
enum model_weights { MODEL_WEIGHTS_RAW, MODEL_WEIGHTS_CLAMP, MODEL_WEIGHTS_NORMALISE };
enum { MODEL_SOLVER = 1 }; // id and version of the arithmetic; the same id, the same bits

struct model_driver {
    uint32_t name;
    uint32_t solver; // MODEL_SOLVER; another is refused
    uint32_t kernel, weights;
    uint32_t solve_first, solve_count;
    uint32_t example_first, example_count;
};
struct model_solve {
    uint32_t driver;
    uint32_t joint_first, joint_count; // into driver_joints
    uint32_t center_count;             // 1 + the distinct examples that have a center of their own
    uint32_t center_first; // into driver_centers, MODEL_CENTER_DOUBLES a joint and center
    uint32_t matrix_first; // into driver_matrix: center_count squared, row-major W
    uint32_t weight_first; // of its center_count weights among all solves' weights
    uint32_t reserved;
    double radius; // s, or the divisor of r
};
enum { MODEL_DRIVER_JOINTS_MAX = 64 }; // of one solve
enum { MODEL_CENTER_DOUBLES = 8 };     // rotation x y z w, translation x y z, unused
struct model_driver_joint {
    uint32_t node, read;
    double weight, axis[3], per_unit; // per_unit scales a distance in file units
};
struct model_example {
    uint32_t name, driver;
    uint32_t center; // in each of the driver's solves; 0 = it stands at P0
    float residual;  // of the solve at its own pose, largest over the vertices, file units
    float gain;      // largest inverse gain |Av^-1|
};
// Deltas D' of one center of one solve, blocked like the surface.
struct model_correction {
    uint32_t solve, center;
    uint32_t block_first, block_count; // into correction_blocks or, when packed, packed_blocks
    uint32_t packed;
};
struct model_correction_block {
    uint32_t block;
    float position[3][MODEL_LANES];
};
struct model_packed_block { // delta = scale * value
    uint32_t block;
    float scale;
    int16_t position[3][MODEL_LANES];
};
struct model_example_delta { // authoring: D of the example as it was sculpted, base space
    uint32_t example, vertex;
    struct vec3 delta;
};

// Extras: deformations between skinning and correctives, in the rig file's order.
enum model_extra_kind {
    MODEL_EXTRA_JIGGLE,
    MODEL_EXTRA_MUSCLE,
    MODEL_EXTRA_CLOTH,
    MODEL_EXTRA_PLUGIN
};
enum { MODEL_EXTRAS_MAX = 64, MODEL_PARTICLES_MAX = 2048, MODEL_EXTRA_COLLIDERS_MAX = 64 };
struct model_extra {
    uint32_t kind, name;
    uint32_t node;                     // whose motion drives it
    uint32_t block_first, block_count; // into extra_blocks
    uint32_t item;                     // into the table of its kind: softs (jiggle and cloth),
                                       // muscles, plugins; a jiggle without softs is one mass
    double radius;                     // file units
    double center[3];                  // of the region, in the node's frame
    double frequency_hz, damping_ratio, amount;
};
struct model_muscle {
    uint32_t to, reserved; // the node that it bends, below the extra's node
    double angle_rad;      // how far `to` turns for a full contraction
    double bulge;          // how much shorter it is then, share of its length
    double half;           // of its fibre, share of the way from joint to joint; middle: `center`
    double rest[3][3];     // columns: `to` in the extra's node's frame in the base pose, unit axes
};
struct model_extra_block { // by ascending block
    uint32_t block;
    float share[MODEL_LANES]; // 0 .. 1; 0: not in the region
};
// More about a muscle: one for each, or none at all.
struct model_fibre {
    uint32_t from, to;           // nodes that its ends hang on
    double from_at[3], to_at[3]; // where, in their frames
    double rest;                 // from end to end in the base pose, file units
    double shorter;      // share of `rest` by which it is shorter when contracted; 0: by angle
    double direction[3]; // in the extra's node's frame; zero: from joint to joint
    double slide;        // share of what would drag the skin along it that is left out
    double activation;   // without bending, when nobody says otherwise
};
// What jiggles in places of its own, and cloth.
struct model_soft {
    uint32_t particle_first, particle_count; // into particles; 1 ..
    uint32_t link_first, link_count;         // into links
    uint32_t hold_first, hold_count;         // one for each block of the extra; 0: by share alone
    uint32_t collider_first, collider_count; // into extra_colliders
    double limit;                            // from where skinning has it, file units
    double hit_radius;                       // of a particle
    double volume;                           // jiggle: share of the volume swept that is kept
    double ring;    // jiggle: area of the rim that takes it up, weighted; 0: none
    double gravity; // cloth: share of g that it feels when its joint leans from the base pose
    double drag_per_s;
    uint32_t iterations, reserved;
};
struct model_particle { // rides where skinning has it: sum of weight * node * at
    uint32_t node[4];
    float weight[4], at[4][3]; // at: in the node's frame
    float freedom;             // 0: held by the skin .. 1
    float area[3]; // jiggle: what a step of this particle sweeps, in the extra's node's frame
};
struct model_link { // of particles of one extra, from its first
    uint32_t a, b;
    float strength; // 0 .. 1 of its stretch that a step takes back; jiggle: pull on its neighbour
};
struct model_hold { // of one block's lanes on particles, from the extra's first
    uint16_t particle[4][MODEL_LANES];
    float weight[4][MODEL_LANES];
};
struct model_plugin {
    uint32_t library;   // file name in the folder of plugins
    uint32_t settings;  // JSON text
    uint32_t isolate;   // in a process of its own
    uint32_t budget_us; // 0: the server's own
};

// Several roots (method C): each poses the whole skeleton by itself; a slot says whose pose it
// takes, and weights hold the root's share already. Empty with one root.
struct model_root {
    uint32_t name;
    uint32_t node;      // where the root's motion is placed
    int32_t ride;       // root that carries this one, or MODEL_NONE; no circles
    uint32_t ride_node; // by which node
    float border;       // file units, as softened
    float turn_limit;   // radians about +Y that this root may turn away from the one it rides on
    uint32_t sensed;    // 1: sensors drive this root and leave those with 0; all 0: the whole body
    uint32_t reserved;
};

// Spring bones (VRM's VRMC_springBone): chains of joints whose tails swing. Lengths in file units.
struct model_spring {
    uint32_t name;
    int32_t center;                    // node whose movement the tails do not feel, or MODEL_NONE
    uint32_t joint_first, joint_count; // into spring_joints
    uint32_t use_first, use_count;     // into spring_uses: the colliders that stop it
};
struct model_spring_joint {
    uint32_t spring, node;
    float tail[3]; // in the node's frame; not zero
    float hit_radius, drag;
    float stiffness;  // a second: how far a step of one second would pull the tail
    float gravity[3]; // the same for gravity, scene space
};
enum {
    MODEL_SPRING_JOINTS_MAX = 1024, // and colliders
    MODEL_SPRING_STEPS_MAX = 4096,
    MODEL_SPRING_USES_MAX = 8192
};
enum model_spring_shape { MODEL_SPRING_SPHERE, MODEL_SPRING_CAPSULE, MODEL_SPRING_PLANE };
struct model_spring_collider {
    uint32_t node, shape, inside; // inside: keeps tails in, not out
    float offset[3], radius;      // in the node's frame
    float end[3];                 // the capsule's other end; the plane's unit normal
};
// The nodes that springs need, each after its parent, a joint after what it reads.
struct model_spring_step {
    uint32_t node;
    int32_t joint; // that swings this node, or MODEL_NONE
};

// What clips are for: ways of moving, each at most once, by ascending kind, and actions.
enum model_move_kind {
    MODEL_MOVE_IDLE,
    MODEL_MOVE_WALK,
    MODEL_MOVE_RUN,
    MODEL_MOVE_BACK,
    MODEL_MOVE_STRAFE_LEFT,
    MODEL_MOVE_STRAFE_RIGHT,
    MODEL_MOVE_TURN_LEFT,
    MODEL_MOVE_TURN_RIGHT,
    MODEL_MOVE_JUMP,
    MODEL_MOVE_FALL,
    MODEL_MOVE_LAND,
    MODEL_MOVE_COUNT
};
enum model_control_source { MODEL_CONTROL_GIVEN, MODEL_CONTROL_BY_NAME, MODEL_CONTROL_BY_MOTION };
struct model_move {
    uint32_t kind, clip;
    uint32_t source;  // enum model_control_source
    uint32_t quarter; // it goes towards 0: +Z, 1: +X, 2: -Z, 3: -X
    float speed;      // it goes at, file units a second; 0: it stands
    float stride; // how far the clip's own feet carry it in one cycle, file units; > 0 with a speed
    float phase;  // of the cycle at the clip's start: the same phase, the same feet; 0 .. 1
    int32_t root; // node that carries the clip away, or MODEL_NONE
    float root_step[3]; // how far in one cycle, in its parent's frame: taken out when it is played
};
// What a character stands on, found from its skeleton and from how its gait touches the ground,
// never from names. hip, knee and ankle bend: each lies below the one before, or all are MODEL_NONE
// where the leg has too few joints for that.
enum { MODEL_LEGS_MAX = 8, MODEL_SOLES_MAX = 4 };
struct model_leg {
    int32_t hip, knee, ankle;
    int32_t foot;  // that stands apart from the ankle's chain and is taken along, or MODEL_NONE
    float bend[3]; // where the knee bends to, unit, in the hip's frame
    uint32_t sole_count; // 1 ..
    uint32_t sole_nodes[MODEL_SOLES_MAX];
    float soles[MODEL_SOLES_MAX][3]; // where it touches the ground, in those nodes' frames
};
// When a leg stands in a move's clip; shares of the clip, over its end when it loops.
struct model_contact {
    float start, length; // length 0: it never stands, 1: always
    float height;        // of its lowest sole meanwhile, model space
};
struct model_action {
    uint32_t name, clip;
    uint32_t source; // enum model_control_source
    float fade_s;
};
enum { MODEL_ACTIONS_MAX = 256 };
// How an action is laid over what goes on, beside `actions`: on one root's pose, or on the nodes of
// its mask, or (neither) on the whole body, and above the legs while it walks.
struct model_action_way {
    int32_t root;                    // or MODEL_NONE
    int32_t priority;                // a lower one waits for a higher one to end
    uint32_t mask_first, mask_count; // into action_masks: nodes that it takes, each with all below
};
// What a client's inputs mean. Of input: "key:KeyE", "gamepad:button0", "touch:tap",
// "mouse:button0"; of movement: what a sensor recognises, "raise_hand".
enum model_binding_kind { MODEL_BINDING_INPUT, MODEL_BINDING_MOVEMENT };
struct model_binding {
    uint32_t kind, input; // enum; text
    int32_t action;       // or MODEL_NONE: go to the point that the pointer shows ("goto")
    uint32_t source;      // enum model_control_source
};
enum { MODEL_BINDINGS_MAX = 256 };

// Faces and customisation (method B). A parameter's effect is its value times what it lists; a
// face bone of the rig file is a parameter too, named after its joint, with one move along its
// axis.
enum model_parameter_kind {
    MODEL_PARAMETER_SHAPE,
    MODEL_PARAMETER_APPEARANCE,
    MODEL_PARAMETER_EXPRESSION
};
enum model_property { // of a material
    MODEL_PROPERTY_BASE_COLOR,
    MODEL_PROPERTY_EMISSIVE,
    MODEL_PROPERTY_METALLIC,
    MODEL_PROPERTY_ROUGHNESS,
    MODEL_PROPERTY_ALPHA_CUTOFF,
    MODEL_PROPERTY_NORMAL_SCALE,
    MODEL_PROPERTY_OCCLUSION_STRENGTH,
    MODEL_PROPERTY_FACTORS, // those above go from `from` to `to`; textures are chosen
    MODEL_PROPERTY_BASE_COLOR_TEXTURE = MODEL_PROPERTY_FACTORS,
    MODEL_PROPERTY_METALLIC_ROUGHNESS_TEXTURE,
    MODEL_PROPERTY_NORMAL_TEXTURE,
    MODEL_PROPERTY_OCCLUSION_TEXTURE,
    MODEL_PROPERTY_EMISSIVE_TEXTURE,
    MODEL_PROPERTY_COUNT
};
enum { MODEL_PARAMETERS_MAX = 1024, MODEL_DIAL_KNOTS_MAX = 64 };
struct model_parameter {
    uint32_t name, group; // offsets into text
    uint32_t kind;        // enum model_parameter_kind
    uint32_t bone;        // 1: it stands for a face bone of the rig file
    float low, high, neutral;
    uint32_t move_first, move_count;     // into face_moves
    uint32_t mix_first, mix_count;       // into face_mixes
    int32_t material;                    // appearance, else MODEL_NONE
    uint32_t property;                   // enum model_property
    float from[4], to[4];                // of a factor
    uint32_t option_first, option_count; // into face_options, of a texture
};
// What one of a parameter's value does to a joint: local, the translation in its parent's frame,
// the turn in its own.
struct model_face_move {
    uint32_t bone; // into face_bones
    struct vec3 translation;
    struct quat rotation; // unit
    struct vec3 scale;    // less 1
};
struct model_face_mix { // a share of one morph channel
    uint32_t channel;
    float weight;
};
struct model_face_option {
    uint32_t name;
    int32_t texture; // or MODEL_NONE
};
struct model_face_bone { // a joint that customisation moves; each once
    uint32_t node;
    uint32_t pull_first, pull_count; // into face_pulls
    float speed;                     // of its pull-back, a second; 0: it is not drawn back
};
struct model_face_pull { // a shape that draws the bone's customisation back
    uint32_t shape;
};
// What a correction's delta is a function of: value = sum of gain * parameter * share of `bone`
// (MODEL_NONE: the parameter's own value, whatever is drawn back).
struct model_face_dial {
    uint32_t name;
    uint32_t term_first, term_count; // into face_terms
    float low, high;                 // the value is kept inside
};
struct model_face_term {
    uint32_t parameter;
    int32_t bone; // into face_bones, or MODEL_NONE
    float gain;
};
// Correction mesh Bkji less Bk: `channel` gets weight b * hat, b the weight of channel `of`; the
// hat rises from `before` to 1 at `at` and falls to `after`; before = at, after = at: an end,
// where it stays 1.
struct model_face_correction {
    uint32_t channel, of, dial;
    float before, at, after;
};
// Shapes that follow others (rig file: combinations, in_betweens). A combination is the product
// of its parents; an in-between takes a hat of its parent's range.
enum model_face_rule_kind { MODEL_FACE_COMBINATION, MODEL_FACE_IN_BETWEEN };
enum { MODEL_FACE_PARENTS_MAX = 4 };
struct model_face_rule {
    uint32_t kind, shape;
    uint32_t parents[MODEL_FACE_PARENTS_MAX], parent_count;
    float before, at, after; // in-between: of the parent's weight
};

// VRM expressions (VRMC_vrm 1.0; 0.x has been rewritten into it).
enum model_expression_group {
    MODEL_EXPRESSION_FREE,
    MODEL_EXPRESSION_BLINK,
    MODEL_EXPRESSION_LOOK_AT,
    MODEL_EXPRESSION_MOUTH
};
enum model_override { MODEL_OVERRIDE_NONE, MODEL_OVERRIDE_BLOCK, MODEL_OVERRIDE_BLEND };
enum { MODEL_EXPRESSIONS_MAX = 1024 };
struct model_expression {
    uint32_t name;
    uint32_t group;                            // that others override: enum model_expression_group
    uint32_t binary;                           // 0 or 1
    uint32_t overrides[3];                     // enum model_override: of blink, look-at, mouth
    uint32_t mix_first, mix_count;             // into face_mixes
    uint32_t color_first, color_count;         // into expression_colors
    uint32_t transform_first, transform_count; // into expression_transforms
};
enum model_expression_color_type {
    MODEL_COLOR_BASE,
    MODEL_COLOR_EMISSION,
    MODEL_COLOR_OTHER // MToon's shade, matcap, rim, outline: not drawn here
};
struct model_expression_color {
    uint32_t material, type;
    float target[4];
};
struct model_expression_transform {
    uint32_t material;
    float scale[2], offset[2];
};
enum model_look_type { MODEL_LOOK_BONE, MODEL_LOOK_EXPRESSION };
struct model_look_at { // none or one
    uint32_t type;
    int32_t head, left_eye, right_eye; // nodes, or MODEL_NONE
    int32_t expressions[4];            // lookUp, lookDown, lookLeft, lookRight, or MODEL_NONE
    float offset[3];                   // from the head bone, file units
    // inputMaxValue (degrees), outputScale (degrees, or weight) of horizontal inner, horizontal
    // outer, vertical down, vertical up
    float map[4][2];
};

// A coarser level of detail: triangles over a subset of the vertices, so that it needs no skinning
// of its own. Lines and points keep all their vertices. The full surface is not listed.
enum { MODEL_DETAILS_MAX = 2 };
struct model_detail {
    float error;                         // how far it strays in the rest pose, the file's unit
    uint32_t vertex_first, vertex_count; // into detail_vertices, ascending
    uint32_t part_first;                 // into detail_parts: parts_count of them
};
struct model_detail_part {
    uint32_t index_first, index_count; // into detail_indices
};

enum model_skinning { MODEL_LBS, MODEL_DQ };
struct model_info {
    uint32_t source; // file name, no folder
    uint32_t generator;
    float unit_m;
    uint32_t unit_guessed;        // no rig file said it
    uint32_t skinning;            // default: LBS
    uint32_t base_pose;           // 0 bind, 1 rest, 2 a pose of the rig file (authoring)
    uint32_t vrm_version;         // 0 none, 1 = 0.x, 2 = 1.0
    float box_min[3], box_max[3]; // of the surface in the rest pose, default morph weights
};

// X(field, element type): the tables, in container order. Append only.
#define MODEL_TABLE_MAP(X)                                                                         \
    X(info, struct model_info)                                                                     \
    X(text, char)                                                                                  \
    X(nodes, struct model_node)                                                                    \
    X(slots, struct model_slot)                                                                    \
    X(parts, struct model_part)                                                                    \
    X(blocks, struct model_block)                                                                  \
    X(block_slots, uint16_t)                                                                       \
    X(rest, struct model_rest_block)                                                               \
    X(weights, float)                                                                              \
    X(tangents, struct model_tangent_block) /* one a block; empty when no part has them */         \
    X(vertex_lanes, uint32_t)               /* [vertex] lane */                                    \
    X(weld, uint32_t)         /* [vertex] lowest vertex at the same place of the same space */     \
    X(corner_first, uint32_t) /* [vertex + 1] triangle corners at each weld (CSR) */               \
    X(corners, uint32_t)      /* positions in `indices` */                                         \
    X(indices, uint32_t)      /* vertices; parts begin at multiples of 3 */                        \
    X(uvs, float)                                                                                  \
    X(colors, float)                                                                               \
    X(shapes, struct model_shape)                                                                  \
    X(channels, struct model_channel)                                                              \
    X(morph_blocks, struct model_morph_block)                                                      \
    X(morph_normal_blocks, struct model_morph_normal_block)                                        \
    X(clips, struct model_clip)                                                                    \
    X(tracks, struct model_track)                                                                  \
    X(track_times, float)                                                                          \
    X(track_values, float)                                                                         \
    X(materials, struct model_material)                                                            \
    X(textures, struct model_texture)                                                              \
    X(images, struct model_image)                                                                  \
    X(bones, struct model_bone)                                                                    \
    X(notes, struct model_note)                                                                    \
    X(image_bytes, uint8_t)                                                                        \
    X(vrm_json, char)        /* authoring: VRM expressions, springs, … in VRM 1.0 schema */      \
    X(rig_json, char)        /* authoring: the rig file as given */                                \
    X(base_pose, struct trs) /* [node] P0, local */                                                \
    X(drivers, struct model_driver)                                                                \
    X(solves, struct model_solve)                                                                  \
    X(driver_joints, struct model_driver_joint)                                                    \
    X(driver_centers, double)                                                                      \
    X(driver_matrix, double)                                                                       \
    X(examples, struct model_example)                                                              \
    X(corrections, struct model_correction) /* by solve, then center */                            \
    X(correction_blocks, struct model_correction_block)                                            \
    X(packed_blocks, struct model_packed_block)                                                    \
    X(correction_limits, float)  /* [block][lane] largest |D| there; empty without drivers */      \
    X(dual_lanes, uint16_t)      /* [block] lanes whose Av is R H though skinning is LBS; or "" */ \
    X(example_poses, struct trs) /* authoring: [example][node] Pi, local */                        \
    X(example_deltas, struct model_example_delta) /* authoring */                                  \
    X(drivers_json, char)                         /* the bake's report of drivers */               \
    X(details, struct model_detail)               /* coarser ones, finest first */                 \
    X(detail_parts, struct model_detail_part)                                                      \
    X(detail_indices, uint32_t)  /* vertices, as in `indices` */                                   \
    X(detail_vertices, uint32_t) /* vertices that the detail uses */                               \
    X(extras, struct model_extra)                                                                  \
    X(extra_blocks, struct model_extra_block)                                                      \
    X(springs, struct model_spring)                                                                \
    X(spring_joints, struct model_spring_joint)                                                    \
    X(spring_colliders, struct model_spring_collider)                                              \
    X(spring_uses, uint32_t)                                                                       \
    X(spring_steps, struct model_spring_step)                                                      \
    X(muscles, struct model_muscle)                                                                \
    X(roots, struct model_root)                                                                    \
    X(node_roots, uint8_t)    /* [node] the root that it belongs to; empty with one root */        \
    X(root_weights, float)    /* authoring and display: [root][vertex] share; or empty */          \
    X(mirror_nodes, uint32_t) /* [node] the one across, or itself; with several roots */           \
    X(moves, struct model_move)                                                                    \
    X(legs, struct model_leg)                                                                      \
    X(contacts, struct model_contact) /* [move][leg] */                                            \
    X(actions, struct model_action)                                                                \
    X(action_ways, struct model_action_way) /* [action] */                                         \
    X(action_masks, uint32_t)               /* nodes */                                            \
    X(bindings, struct model_binding)                                                              \
    X(fibres, struct model_fibre) /* one a muscle, or none */                                      \
    X(softs, struct model_soft)                                                                    \
    X(particles, struct model_particle)                                                            \
    X(links, struct model_link)                                                                    \
    X(holds, struct model_hold)                                                                    \
    X(extra_colliders, struct model_spring_collider)                                               \
    X(plugins, struct model_plugin)                                                                \
    X(parameters, struct model_parameter)                                                          \
    X(face_moves, struct model_face_move)                                                          \
    X(face_mixes, struct model_face_mix)                                                           \
    X(face_options, struct model_face_option)                                                      \
    X(face_bones, struct model_face_bone)                                                          \
    X(face_pulls, struct model_face_pull)                                                          \
    X(face_dials, struct model_face_dial)                                                          \
    X(face_terms, struct model_face_term)                                                          \
    X(face_corrections, struct model_face_correction)                                              \
    X(face_rules, struct model_face_rule)                                                          \
    X(face_json, char) /* the bake's report of contours and corrections */                         \
    X(expressions, struct model_expression)                                                        \
    X(expression_colors, struct model_expression_color)                                            \
    X(expression_transforms, struct model_expression_transform)                                    \
    X(look_at, struct model_look_at)

struct model {
#define X(field, type)                                                                             \
    const type *field;                                                                             \
    size_t field##_count;
    MODEL_TABLE_MAP(X)
#undef X
};

// `text` holds NUL-ended strings; offset 0 is "".
static inline const char *model_text(const struct model *m, uint32_t offset)
{
    return m->text + offset;
}
static inline size_t model_vertex_count(const struct model *m)
{
    return m->vertex_lanes_count;
}
