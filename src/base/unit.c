#include "base/unit.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    double metres;
} units[] = {{"m", 1}, {"dm", 0.1}, {"cm", 0.01}, {"mm", 0.001}, {"in", 0.0254}, {"ft", 0.3048}};

double sn_unit_metres(const char *unit) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) return units[i].metres;
    return 0;
}

const char *sn_unit_near(double metres) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (fabs(log(metres / units[i].metres)) < log(1.5)) return units[i].name;
    return NULL;
}
