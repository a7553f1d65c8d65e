#include "proto/surface/codec.h"
