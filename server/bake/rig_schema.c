#include "server/bake/rig_schema.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/rig_schema_own.h"

static const struct schema number = {.kind = NUMBER};
static const struct schema positive = {.kind = POSITIVE};
static const struct schema count = {.kind = COUNT};
static const struct schema boolean = {.kind = BOOL};
static const struct schema text = {.kind = TEXT};
static const struct schema two = {.kind = NUMBERS, .length = 2};
static const struct schema three = {.kind = NUMBERS, .length = 3};
static const struct schema four = {.kind = NUMBERS, .length = 4};
static const struct schema numbers = {.kind = NUMBERS};
static const struct schema texts = {.kind = LIST, .item = &text};
static const struct schema number_map = {.kind = MAP, .item = &number};
static const struct schema automatic = {.kind = TEXT, .words = WORDS("auto")};
static const struct schema positive_or_auto = {.kind = POSITIVE, .either = &automatic};
static const struct schema number_or_auto = {.kind = NUMBER, .either = &automatic};

static const struct schema transform = {
    .kind = OBJECT,
    .keys =
        KEYS({"rotation", &four, false}, {"translation", &three, false}, {"scale", &three, false})};
static const struct schema transforms = {.kind = MAP, .item = &transform};
static const struct schema pose = {.kind = OBJECT,
                                   .keys = KEYS({"clip", &text, false}, {"time_s", &number, false},
                                                {"joints", &transforms, false})};
static const struct schema base_pose = {
    .kind = TEXT, .words = WORDS("bind", "rest"), .either = &pose};

static const struct schema clip = {
    .kind = OBJECT,
    .keys = KEYS({"file", &text, true}, {"name", &text, false}, {"loop", &boolean, false})};
static const struct schema clips = {.kind = LIST, .item = &clip};

static const struct schema driver_joint = {
    .kind = OBJECT,
    .keys = KEYS({"joint", &text, true},
                 {"read",
                  &(const struct schema){
                      .kind = TEXT,
                      .words = WORDS("rotation", "swing", "twist", "translation", "transform")},
                  false},
                 {"axis", &three, false}, {"weight", &number, false},
                 {"per_m", &positive_or_auto, false})};
static const struct schema surface = {
    .kind = OBJECT,
    .keys = KEYS(
        {"file", &text, false}, {"morph", &text, false},
        {"space", &(const struct schema){.kind = TEXT, .words = WORDS("pose", "base")}, false})};
static const struct schema example = {
    .kind = OBJECT,
    .keys = KEYS({"name", &text, true}, {"pose", &pose, true}, {"surface", &surface, true})};
static const struct schema driver = {
    .kind = OBJECT,
    .keys = KEYS(
        {"name", &text, true}, {"mirror_of", &text, false},
        {"joints", &(const struct schema){.kind = LIST, .item = &driver_joint}, false},
        {"kernel",
         &(const struct schema){.kind = TEXT,
                                .words = WORDS("rotation", "linear", "gaussian", "thin_plate",
                                               "multiquadric", "inverse_multiquadric")},
         false},
        {"radius", &positive_or_auto, false}, {"ridge", &number_or_auto, false},
        {"weights",
         &(const struct schema){.kind = TEXT, .words = WORDS("raw", "clamp", "normalise")}, false},
        {"per_vertex", &boolean, false},
        {"examples", &(const struct schema){.kind = LIST, .item = &example}, false})};
static const struct schema drivers = {.kind = LIST, .item = &driver};

static const struct schema root_weights = {
    .kind = OBJECT,
    .keys = KEYS({"joints", &number_map, false}, {"file", &text, false}, {"color", &count, false})};
static const struct schema root = {
    .kind = OBJECT,
    .keys = KEYS({"name", &text, true}, {"joint", &text, false}, {"weights", &root_weights, true},
                 {"border_m", &number, false}, {"ride", &text, false},
                 {"turn_limit", &number, false}, {"sensors", &boolean, false})};
static const struct schema roots = {.kind = LIST, .item = &root};

static const struct schema contour = {
    .kind = OBJECT,
    .keys =
        KEYS({"upper", &numbers, true}, {"lower", &numbers, true}, {"closed_by", &texts, false})};
static const struct schema create = {
    .kind = OBJECT,
    .keys = KEYS({"at", &three, true}, {"radius", &positive, true}, {"parent", &text, true})};
static const struct schema face_bone = {
    .kind = OBJECT,
    .keys = KEYS({"joint", &text, true}, {"move", &three, false}, {"rotate", &three, false},
                 {"scale", &three, false}, {"range", &two, true}, {"create", &create, false})};
static const struct schema target_mesh = {
    .kind = OBJECT,
    .keys = KEYS(
        {"file", &text, false}, {"morph", &text, false},
        {"space", &(const struct schema){.kind = TEXT, .words = WORDS("pose", "base")}, false}),
    .either = &(const struct schema){.kind = TEXT, .words = WORDS("generate")}};
static const struct schema correction = {
    .kind = OBJECT,
    .keys = KEYS({"shape", &text, true}, {"joint", &text, false}, {"parameter", &text, false},
                 {"targets", &(const struct schema){.kind = MAP, .item = &target_mesh}, true})};
static const struct schema pull_back = {
    .kind = OBJECT,
    .keys = KEYS({"shape", &text, true}, {"joint", &text, true}, {"speed_per_s", &positive, true})};
static const struct schema parameter = {
    .kind = OBJECT,
    .keys = KEYS(
        {"name", &text, true}, {"group", &text, false},
        {"kind",
         &(const struct schema){.kind = TEXT, .words = WORDS("shape", "appearance", "expression")},
         true},
        {"range", &two, false}, {"default", &number, false}, {"joints", &transforms, false},
        {"morphs", &number_map, false}, {"shapes", &number_map, false}, {"material", &text, false},
        {"property", &text, false}, {"from", &numbers, false}, {"to", &numbers, false},
        {"options", &texts, false})};
static const struct schema combination = {
    .kind = OBJECT, .keys = KEYS({"shape", &text, true}, {"of", &texts, true})};
static const struct schema in_between = {
    .kind = OBJECT,
    .keys = KEYS({"shape", &text, true}, {"of", &text, true}, {"at", &number, true})};
static const struct schema face = {
    .kind = OBJECT,
    .keys =
        KEYS({"contours", &(const struct schema){.kind = MAP, .item = &contour}, false},
             {"bones", &(const struct schema){.kind = LIST, .item = &face_bone}, false},
             {"threshold", &number, false},
             {"corrections", &(const struct schema){.kind = LIST, .item = &correction}, false},
             {"pull_back", &(const struct schema){.kind = LIST, .item = &pull_back}, false},
             {"combinations", &(const struct schema){.kind = LIST, .item = &combination}, false},
             {"in_betweens", &(const struct schema){.kind = LIST, .item = &in_between}, false},
             {"parameters", &(const struct schema){.kind = LIST, .item = &parameter}, false})};

static const struct schema spring_node = {.kind = TEXT, .either = &count};
static const struct schema collider_shape = {
    .kind = OBJECT,
    .keys = KEYS(
        {"sphere",
         &(const struct schema){.kind = OBJECT,
                                .keys = KEYS({"offset", &three, false}, {"radius", &number, false},
                                             {"inside", &boolean, false})},
         false},
        {"capsule",
         &(const struct schema){.kind = OBJECT,
                                .keys = KEYS({"offset", &three, false}, {"radius", &number, false},
                                             {"tail", &three, false}, {"inside", &boolean, false})},
         false},
        {"plane",
         &(const struct schema){.kind = OBJECT,
                                .keys = KEYS({"offset", &three, false}, {"normal", &three, false})},
         false})};
static const struct schema collider = {
    .kind = OBJECT, .keys = KEYS({"node", &spring_node, true}, {"shape", &collider_shape, true})};
const struct schema rig_schema_colliders = {.kind = LIST, .item = &collider};
static const struct schema counts = {.kind = LIST, .item = &count};
static const struct schema spring_joint = {
    .kind = OBJECT,
    .keys = KEYS({"node", &spring_node, true}, {"hitRadius", &number, false},
                 {"stiffness", &number, false}, {"gravityPower", &number, false},
                 {"gravityDir", &three, false}, {"dragForce", &number, false})};
static const struct schema spring = {
    .kind = OBJECT,
    .keys = KEYS({"name", &text, false},
                 {"joints", &(const struct schema){.kind = LIST, .item = &spring_joint}, true},
                 {"colliderGroups", &counts, false}, {"colliders", &rig_schema_colliders, false},
                 {"center", &spring_node, false}, {"endLength", &number, false})};
static const struct schema spring_list = {.kind = LIST, .item = &spring};
static const struct schema collider_group = {
    .kind = OBJECT, .keys = KEYS({"name", &text, false}, {"colliders", &counts, true})};
static const struct schema spring_bone = {
    .kind = OBJECT,
    .keys = KEYS(
        {"colliders", &rig_schema_colliders, false},
        {"colliderGroups", &(const struct schema){.kind = LIST, .item = &collider_group}, false},
        {"springs", &spring_list, true})};
static const struct schema springs = {
    .kind = TEXT,
    .words = WORDS("vrm"),
    .either = &(const struct schema){.kind = LIST, .item = &spring, .either = &spring_bone}};

static const struct schema move = {
    .kind = TEXT,
    .either = &(const struct schema){
        .kind = OBJECT, .keys = KEYS({"clip", &text, true}, {"speed_m_s", &positive, false})}};
static const struct schema locomotion = {
    .kind = OBJECT,
    .keys =
        KEYS({"idle", &move, false}, {"walk", &move, false}, {"run", &move, false},
             {"back", &move, false}, {"strafe_left", &move, false}, {"strafe_right", &move, false},
             {"turn_left", &move, false}, {"turn_right", &move, false}, {"jump", &move, false},
             {"fall", &move, false}, {"land", &move, false})};
static const struct schema action = {
    .kind = TEXT,
    .either = &(const struct schema){
        .kind = OBJECT,
        .keys = KEYS({"clip", &text, true}, {"root", &text, false}, {"mask", &texts, false},
                     {"fade_s", &number, false}, {"priority", &number, false})}};
static const struct schema text_map = {.kind = MAP, .item = &text};
static const struct schema controls = {
    .kind = OBJECT,
    .keys = KEYS({"locomotion", &locomotion, false},
                 {"actions", &(const struct schema){.kind = MAP, .item = &action}, false},
                 {"bindings", &text_map, false}, {"gestures", &text_map, false})};

static const struct schema body = {
    .kind = OBJECT,
    .keys =
        KEYS({"humanoid",
              &(const struct schema){.kind = TEXT,
                                     .words = WORDS("auto"),
                                     .either = &(const struct schema){.kind = MAP, .item = &text}},
              false})};

static const struct schema rig_schema = {
    .kind = OBJECT,
    .keys = KEYS(
        {"sinew_rig", &count, true}, {"source", &text, false}, {"unit_m", &positive, false},
        {"skinning", &(const struct schema){.kind = TEXT, .words = WORDS("lbs", "dq")}, false},
        {"base_pose", &base_pose, false}, {"clips", &clips, false}, {"drivers", &drivers, false},
        {"roots", &roots, false}, {"face", &face, false}, {"extras", &rig_schema_extras, false},
        {"springs", &springs, false}, {"controls", &controls, false}, {"body", &body, false})};

// The path grows and shrinks as the walk goes down and up.
struct walk {
    char path[256];
    struct fault *fault;
};

static size_t push(struct walk *w, const char *key)
{
    size_t length = strlen(w->path);
    (void)snprintf(w->path + length, sizeof w->path - length, "/%.80s", key);
    return length;
}

static void pop(struct walk *w, size_t length)
{
    w->path[length] = 0;
}

static enum err wrong(struct walk *w, const char *what)
{
    return fault_set(w->fault, ERR_MALFORMED, "%s: %s", *w->path ? w->path : "/", what);
}

static bool kind_fits(const struct schema *s, const cJSON *v)
{
    switch (s->kind) {
    case ANY:
        return true;
    case NUMBER:
    case POSITIVE:
    case COUNT:
        return cJSON_IsNumber(v);
    case BOOL:
        return cJSON_IsBool(v);
    case TEXT:
        return cJSON_IsString(v);
    case OBJECT:
    case MAP:
    case FORMS:
        return cJSON_IsObject(v);
    default:
        return cJSON_IsArray(v);
    }
}

static const char *kind_says(const struct schema *s)
{
    static const char *const says[] = {"",
                                       "must be a number",
                                       "must be a number above 0",
                                       "must be a whole number, 0 or more",
                                       "must be true or false",
                                       "must be a text",
                                       "must be an object",
                                       "must be an object",
                                       "must be a list",
                                       "must be a list of numbers",
                                       "must be an object"};
    return says[s->kind];
}

static enum err check_value(struct walk *w, const struct schema *s, const cJSON *v);

static enum err check_number(struct walk *w, const struct schema *s, const cJSON *v)
{
    double x = v->valuedouble;
    if (!isfinite((float)x)) return wrong(w, "must be a finite number");
    if (s->kind == POSITIVE && !((float)x > 0)) return wrong(w, kind_says(s));
    if (s->most > s->least && !(x >= s->least && x <= s->most)) {
        char what[80];
        (void)snprintf(what, sizeof what, "must be a number from %g to %g", s->least, s->most);
        return wrong(w, what);
    }
    if (s->kind == COUNT && (x < 0 || x > 1e9 || x != floor(x))) return wrong(w, kind_says(s));
    return ERR_OK;
}

static enum err check_text(struct walk *w, const struct schema *s, const cJSON *v)
{
    char what[160] = "must be one of:";
    if (!s->words) return *v->valuestring ? ERR_OK : wrong(w, "must not be empty");
    for (const char *const *word = s->words; *word; word++) {
        if (strcmp(*word, v->valuestring) == 0) return ERR_OK;
        size_t used = strlen(what);
        (void)snprintf(what + used, sizeof what - used, " %s", *word);
    }
    return wrong(w, what);
}

static enum err check_numbers(struct walk *w, const struct schema *s, const cJSON *v)
{
    char what[64];
    int found = 0;
    for (const cJSON *item = v->child; item; item = item->next, found++)
        if (!cJSON_IsNumber(item) || !isfinite((float)item->valuedouble))
            return wrong(w, "must hold finite numbers only");
    if (s->length == 0 || found == s->length) return ERR_OK;
    (void)snprintf(what, sizeof what, "must hold exactly %d numbers", s->length);
    return wrong(w, what);
}

static enum err unknown_key(struct walk *w, const struct schema *s)
{
    char what[200] = "unknown key; there are:";
    for (const struct schema_key *k = s->keys; k->name; k++) {
        size_t used = strlen(what);
        (void)snprintf(what + used, sizeof what - used, " %s", k->name);
    }
    return wrong(w, what);
}

static enum err check_keys(struct walk *w, const struct schema *s, const cJSON *v)
{
    for (const cJSON *item = v->child; item; item = item->next) {
        const struct schema_key *k = s->keys;
        while (k->name && strcmp(k->name, item->string) != 0)
            k++;
        size_t length = push(w, item->string);
        if (!k->name) return unknown_key(w, s);
        for (const cJSON *other = v->child; other != item; other = other->next)
            if (strcmp(other->string, item->string) == 0) return wrong(w, "given twice");
        enum err e = check_value(w, k->value, item);
        if (e != ERR_OK) return e;
        pop(w, length);
    }
    for (const struct schema_key *k = s->keys; k->name; k++)
        if (k->required && !cJSON_GetObjectItemCaseSensitive(v, k->name)) {
            (void)push(w, k->name);
            return wrong(w, "is missing");
        }
    return ERR_OK;
}

// The keys are those of the form that `type` names.
static enum err check_form(struct walk *w, const struct schema *s, const cJSON *v)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(v, "type");
    char what[160] = "must be one of:";
    for (const struct schema_key *k = s->keys; k->name; k++) {
        if (cJSON_IsString(type) && strcmp(k->name, type->valuestring) == 0)
            return check_keys(w, k->value, v);
        size_t used = strlen(what);
        (void)snprintf(what + used, sizeof what - used, " %s", k->name);
    }
    (void)push(w, "type");
    return wrong(w, what);
}

static enum err check_items(struct walk *w, const struct schema *s, const cJSON *v)
{
    unsigned index = 0;
    for (const cJSON *item = v->child; item; item = item->next, index++) {
        char place[16];
        (void)snprintf(place, sizeof place, "%u", index);
        size_t length = push(w, s->kind == MAP ? item->string : place);
        enum err e = check_value(w, s->item, item);
        if (e != ERR_OK) return e;
        pop(w, length);
    }
    return ERR_OK;
}

static enum err check_value(struct walk *w, const struct schema *s, const cJSON *v)
{
    const struct schema *form = s;
    while (form && !kind_fits(form, v))
        form = form->either;
    if (!form) return wrong(w, kind_says(s));
    switch (form->kind) {
    case FORMS:
        return check_form(w, form, v);
    case NUMBER:
    case POSITIVE:
    case COUNT:
        return check_number(w, form, v);
    case TEXT:
        return check_text(w, form, v);
    case NUMBERS:
        return check_numbers(w, form, v);
    case OBJECT:
        return check_keys(w, form, v);
    case MAP:
    case LIST:
        return check_items(w, form, v);
    default:
        return ERR_OK;
    }
}

enum err rig_schema_check(const struct cJSON *json, struct fault *fault)
{
    struct walk w = {.fault = fault};
    return check_value(&w, &rig_schema, json);
}
