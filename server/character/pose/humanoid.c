#include "server/character/pose/humanoid.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// Parents stand before children: retargeting goes through them in order.
static const char *const names[HUMANOID_BONE_COUNT] = {
    "hips",
    "spine",
    "chest",
    "upperChest",
    "neck",
    "head",
    "leftEye",
    "rightEye",
    "jaw",
    "leftUpperLeg",
    "leftLowerLeg",
    "leftFoot",
    "leftToes",
    "rightUpperLeg",
    "rightLowerLeg",
    "rightFoot",
    "rightToes",
    "leftShoulder",
    "leftUpperArm",
    "leftLowerArm",
    "leftHand",
    "rightShoulder",
    "rightUpperArm",
    "rightLowerArm",
    "rightHand",
    "leftThumbMetacarpal",
    "leftThumbProximal",
    "leftThumbDistal",
    "leftIndexProximal",
    "leftIndexIntermediate",
    "leftIndexDistal",
    "leftMiddleProximal",
    "leftMiddleIntermediate",
    "leftMiddleDistal",
    "leftRingProximal",
    "leftRingIntermediate",
    "leftRingDistal",
    "leftLittleProximal",
    "leftLittleIntermediate",
    "leftLittleDistal",
    "rightThumbMetacarpal",
    "rightThumbProximal",
    "rightThumbDistal",
    "rightIndexProximal",
    "rightIndexIntermediate",
    "rightIndexDistal",
    "rightMiddleProximal",
    "rightMiddleIntermediate",
    "rightMiddleDistal",
    "rightRingProximal",
    "rightRingIntermediate",
    "rightRingDistal",
    "rightLittleProximal",
    "rightLittleIntermediate",
    "rightLittleDistal",
};

const char *humanoid_name(int32_t bone)
{
    return names[bone];
}

int32_t humanoid_find(const char *name)
{
    for (int32_t i = 0; i < HUMANOID_BONE_COUNT; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

int32_t humanoid_find_vrm0(const char *name)
{
    static const char *const renamed[][2] = {
        {"leftThumbProximal", "leftThumbMetacarpal"},
        {"leftThumbIntermediate", "leftThumbProximal"},
        {"rightThumbProximal", "rightThumbMetacarpal"},
        {"rightThumbIntermediate", "rightThumbProximal"},
    };
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (strcmp(renamed[i][0], name) == 0) return humanoid_find(renamed[i][1]);
    return humanoid_find(name);
}

// ---- guesses

enum { KEY_BYTES = 64 };

static void drop_prefix(char *key)
{
    static const char *const prefixes[] = {"mixamorig", "bip01", "bip001", "jbip", "def"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(key, prefixes[i], length) == 0 && key[length])
            memmove(key, key + length, strlen(key + length) + 1);
    }
}

// Lower case, letters and digits only, without "mixamorig:" and the like.
static void reduce(const char *name, char out[KEY_BYTES])
{
    const char *colon = strrchr(name, ':');
    if (colon) name = colon + 1;
    size_t n = 0;
    for (; *name && n + 1 < KEY_BYTES; name++)
        if (isalnum((unsigned char)*name)) out[n++] = (char)tolower((unsigned char)*name);
    out[n] = 0;
    drop_prefix(out);
}

// Takes the side off the key: 'l', 'r', or 0 where it names none.
static char take_side(const char *name, char key[KEY_BYTES])
{
    size_t n = strlen(key);
    if (strncmp(key, "left", 4) == 0) {
        memmove(key, key + 4, n - 3);
        return 'l';
    }
    if (strncmp(key, "right", 5) == 0) {
        memmove(key, key + 5, n - 4);
        return 'r';
    }
    size_t length = strlen(name);
    // "upperarm_l", "upper_arm.R": a separator before the last letter.
    if (length > 2 && strchr("_.- ", name[length - 2]) && strchr("lLrR", name[length - 1]) && n) {
        char side = key[n - 1];
        key[n - 1] = 0;
        return side;
    }
    // "FootL", "UpperArmR".
    if (length > 2 && islower((unsigned char)name[length - 2]) && strchr("LR", name[length - 1]) &&
        n) {
        char side = key[n - 1];
        key[n - 1] = 0;
        return side;
    }
    // "lShldr", "LThumb", "L_Hand".
    bool camel = (name[0] == 'l' || name[0] == 'r') && isupper((unsigned char)name[1]);
    bool upper = (name[0] == 'L' || name[0] == 'R') &&
                 (isupper((unsigned char)name[1]) || strchr("_. -", name[1]));
    if (n > 1 && name[0] && name[1] && (camel || upper)) {
        char side = key[0];
        memmove(key, key + 1, n);
        return side;
    }
    return 0;
}

struct guess {
    const char *key, *bone; // the bone without its side, first letter upper case where it has one
};

static const struct guess middle[] = {
    {"hips", "hips"},         {"hip", "hips"},
    {"pelvis", "hips"},       {"spine", "spine"},
    {"abdomen", "spine"},     {"lowerback", "spine"},
    {"ab", "spine"},          {"spine0", "spine"},
    {"spine1", "chest"},      {"chest", "chest"},
    {"torso", "spine"},       {"spine2", "upperChest"},
    {"spine3", "upperChest"}, {"upperchest", "upperChest"},
    {"chest2", "upperChest"}, {"neck", "neck"},
    {"neck1", "neck"},        {"lowerneck", "neck"},
    {"head", "head"},         {"jaw", "jaw"},
};

static const struct guess sided[] = {
    {"eye", "Eye"},
    {"upleg", "UpperLeg"},
    {"upperleg", "UpperLeg"},
    {"thigh", "UpperLeg"},
    {"hip", "UpperLeg"},
    {"leg", "LowerLeg"},
    {"lowerleg", "LowerLeg"},
    {"shin", "LowerLeg"},
    {"calf", "LowerLeg"},
    {"knee", "LowerLeg"},
    {"foot", "Foot"},
    {"ankle", "Foot"},
    {"toebase", "Toes"},
    {"toe", "Toes"},
    {"toes", "Toes"},
    {"toe0", "Toes"},
    {"shoulder", "Shoulder"},
    {"clavicle", "Shoulder"},
    {"collar", "Shoulder"},
    {"arm", "UpperArm"},
    {"upperarm", "UpperArm"},
    {"uparm", "UpperArm"},
    {"shldr", "UpperArm"},
    {"forearm", "LowerArm"},
    {"lowerarm", "LowerArm"},
    {"loarm", "LowerArm"},
    {"elbow", "LowerArm"},
    {"hand", "Hand"},
    {"wrist", "Hand"},
    {"handthumb1", "ThumbMetacarpal"},
    {"handthumb2", "ThumbProximal"},
    {"handthumb3", "ThumbDistal"},
    {"handindex1", "IndexProximal"},
    {"handindex2", "IndexIntermediate"},
    {"handindex3", "IndexDistal"},
    {"handmiddle1", "MiddleProximal"},
    {"handmiddle2", "MiddleIntermediate"},
    {"handmiddle3", "MiddleDistal"},
    {"handring1", "RingProximal"},
    {"handring2", "RingIntermediate"},
    {"handring3", "RingDistal"},
    {"handpinky1", "LittleProximal"},
    {"handpinky2", "LittleIntermediate"},
    {"handpinky3", "LittleDistal"},
    {"thumb01", "ThumbMetacarpal"},
    {"thumb02", "ThumbProximal"},
    {"thumb03", "ThumbDistal"},
    {"index01", "IndexProximal"},
    {"index02", "IndexIntermediate"},
    {"index03", "IndexDistal"},
    {"middle01", "MiddleProximal"},
    {"middle02", "MiddleIntermediate"},
    {"middle03", "MiddleDistal"},
    {"ring01", "RingProximal"},
    {"ring02", "RingIntermediate"},
    {"ring03", "RingDistal"},
    {"pinky01", "LittleProximal"},
    {"pinky02", "LittleIntermediate"},
    {"pinky03", "LittleDistal"},
};

int32_t humanoid_guess(const char *name)
{
    char key[KEY_BYTES] = "", bone[KEY_BYTES];
    int32_t exact = humanoid_find(name);
    if (exact >= 0) return exact;
    reduce(name, key);
    const char *colon = strrchr(name, ':');
    char side = take_side(colon ? colon + 1 : name, key);
    if (!side) {
        for (size_t i = 0; i < sizeof middle / sizeof middle[0]; i++)
            if (strcmp(key, middle[i].key) == 0) return humanoid_find(middle[i].bone);
        return -1;
    }
    for (size_t i = 0; i < sizeof sided / sizeof sided[0]; i++) {
        if (strcmp(key, sided[i].key) != 0) continue;
        (void)snprintf(bone, sizeof bone, "%s%s", side == 'l' ? "left" : "right", sided[i].bone);
        return humanoid_find(bone);
    }
    return -1;
}
