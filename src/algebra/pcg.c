#include "algebra/pcg.h"

#include <math.h>
#include <string.h>

#include "algebra/vector.h"
#include "base/memory.h"

#define REAL       double
#define NAME(name) name
#include "algebra/pcg_template.h"
#undef REAL
#undef NAME

#define REAL       float
#define NAME(name) name##_f32
#include "algebra/pcg_template.h"
#undef REAL
#undef NAME
