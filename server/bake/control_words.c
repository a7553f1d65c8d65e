#include "server/bake/control_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "server/model/model.h"

// The first kind with a word in the name counts: "WalkBack" is back, "JumpLand" is land.
static const struct {
    int32_t kind;
    const char *words[12];
} kinds[] = {
    {MODEL_MOVE_LAND, {"land", "着地", "落地", "着陆"}},
    {MODEL_MOVE_FALL, {"fall", "air", "落下", "下落", "空中"}},
    {MODEL_MOVE_JUMP, {"jump", "hop", "leap", "ジャンプ", "跳", "飛び"}},
    {MODEL_MOVE_TURN_LEFT, {"turnleft", "turn_left", "turn left", "leftturn", "左转", "左旋回"}},
    {MODEL_MOVE_TURN_RIGHT,
     {"turnright", "turn_right", "turn right", "rightturn", "右转", "右旋回"}},
    {MODEL_MOVE_STRAFE_LEFT,
     {"strafeleft", "strafe_left", "strafe left", "leftstrafe", "left strafe", "walkleft", "左移",
      "左横移動"}},
    {MODEL_MOVE_STRAFE_RIGHT,
     {"straferight", "strafe_right", "strafe right", "rightstrafe", "right strafe", "walkright",
      "右移", "右横移動"}},
    {MODEL_MOVE_BACK, {"back", "reverse", "后退", "後退", "後ろ歩き"}},
    {MODEL_MOVE_RUN,
     {"run", "sprint", "jog", "gallop", "canter", "走る", "走り", "疾走", "跑", "ランニング",
      "trot"}},
    {MODEL_MOVE_WALK, {"walk", "stroll", "步行", "行走", "走路", "歩", "ウォーク", "散步", "走"}},
    {MODEL_MOVE_IDLE,
     {"idle", "breath", "stand", "wait", "待机", "待機", "站", "立ち", "アイドル", "空闲"}},
};

// Latin words begin where a word begins: after no letter, or at a capital after a small one.
static bool has_word(const char *name, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = name; *at; at++) {
        size_t i = 0;
        unsigned char before = at > name ? (unsigned char)at[-1] : ' ';
        while (i < length && at[i] && tolower((unsigned char)at[i]) == (unsigned char)word[i])
            i++;
        if (i < length) continue;
        bool latin = (unsigned char)word[0] < 0x80;
        if (!latin || !isalpha(before) || (islower(before) && isupper((unsigned char)*at)))
            return true;
    }
    return false;
}

int32_t control_guess(const char *name, uint32_t *rank)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (uint32_t w = 0; w < 12 && kinds[k].words[w]; w++)
            if (has_word(name, kinds[k].words[w])) {
                size_t length = strlen(name);
                *rank = w * 1000 + (uint32_t)(length < 999 ? length : 999);
                return kinds[k].kind;
            }
    return -1;
}
