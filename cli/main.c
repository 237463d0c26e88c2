#include <stdio.h>

#include "sinew/sinew.h"

int main(void) {
    printf("sinew %s\n", sinew_version());
    return 0;
}
