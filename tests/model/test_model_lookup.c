#include "server/model/lookup.h"
#include "tests/testing.h"
int testing_failures;

// text: 0 "", 1 "arm", 5 "leg", 9 "eyeBlinkLeft", 22 "hips"
static const char text[] = "\0arm\0leg\0eyeBlinkLeft\0hips";
static const struct model_node nodes[] = {{.name = 1, .source = 7, .parent = -1},
                                          {.name = 5, .source = 3, .parent = 0},
                                          {.name = 5, .source = 4, .parent = 0},
                                          {.name = 0, .source = 9, .parent = 0}};
static const struct model_shape shapes[] = {{.name = 9}};
static const struct model_bone bones[] = {{.bone = 22, .node = 2}};
static const struct model_root roots[] = {{.name = 1}, {.name = 5}, {.name = 5}, {.name = 0}};
static const struct model m = {.text = text,
                               .text_count = sizeof text,
                               .nodes = nodes,
                               .nodes_count = 4,
                               .shapes = shapes,
                               .shapes_count = 1,
                               .roots = roots,
                               .roots_count = 4,
                               .bones = bones,
                               .bones_count = 1};

static enum err look(enum lookup_kind kind, const char *name, uint32_t *out, struct fault *fault)
{
    *fault = (struct fault){0};
    *out = 99;
    return lookup_name(&m, kind, name, "--pose", out, fault);
}

static void names_numbers_and_bones_are_found(void)
{
    struct fault fault;
    uint32_t i;
    EXPECT(look(LOOKUP_NODE, "arm", &i, &fault) == ERR_OK && i == 0);
    EXPECT(look(LOOKUP_NODE, "#3", &i, &fault) == ERR_OK && i == 1);
    EXPECT(look(LOOKUP_NODE, "#9", &i, &fault) == ERR_OK && i == 3);
    EXPECT(look(LOOKUP_NODE, "humanoid:hips", &i, &fault) == ERR_OK && i == 2);
    EXPECT(look(LOOKUP_SHAPE, "eyeBlink_L", &i, &fault) == ERR_OK && i == 0);
    EXPECT(look(LOOKUP_SHAPE, "#0", &i, &fault) == ERR_OK && i == 0);
    EXPECT(look(LOOKUP_ROOT, "arm", &i, &fault) == ERR_OK && i == 0);
    EXPECT(look(LOOKUP_ROOT, "#3", &i, &fault) == ERR_OK && i == 3);
}

static void what_is_missing_or_not_unique_is_said(void)
{
    struct fault fault;
    uint32_t i;
    EXPECT(look(LOOKUP_NODE, "leg", &i, &fault) == ERR_AMBIGUOUS && i == 99);
    EXPECT(strstr(fault.line, "#3, #4") != NULL);
    EXPECT(look(LOOKUP_NODE, "tail", &i, &fault) == ERR_NOT_FOUND && i == 99);
    EXPECT(strstr(fault.line, "arm, leg, leg, #9") != NULL);
    EXPECT(look(LOOKUP_NODE, "#8", &i, &fault) == ERR_NOT_FOUND);
    EXPECT(look(LOOKUP_NODE, "#-1", &i, &fault) == ERR_NOT_FOUND);
    EXPECT(look(LOOKUP_NODE, "#99999999999", &i, &fault) == ERR_NOT_FOUND);
    EXPECT(look(LOOKUP_CLIP, "run", &i, &fault) == ERR_NOT_FOUND);
    EXPECT(strstr(fault.line, "the model has none") != NULL);
    EXPECT(look(LOOKUP_SHAPE, "eyeBlinkRight", &i, &fault) == ERR_NOT_FOUND);
    EXPECT(look(LOOKUP_ROOT, "leg", &i, &fault) == ERR_AMBIGUOUS && i == 99);
    EXPECT(strstr(fault.line, "several roots") && strstr(fault.line, "#1, #2"));
    EXPECT(look(LOOKUP_NODE, "humanoid:jaw", &i, &fault) == ERR_NOT_FOUND);
}

int main(void)
{
    RUN(names_numbers_and_bones_are_found);
    RUN(what_is_missing_or_not_unique_is_said);
    TESTING_MAIN_END;
}
