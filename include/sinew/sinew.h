/* Sinew: physical blendshapes. This header includes every concept of the library. */
#ifndef SINEW_H
#define SINEW_H

#include "sinew/cache.h"
#include "sinew/check.h"
#include "sinew/curves.h"
#include "sinew/frames.h"
#include "sinew/interference.h"
#include "sinew/io.h"
#include "sinew/job.h"
#include "sinew/lock.h"
#include "sinew/manipulate.h"
#include "sinew/measure.h"
#include "sinew/memory.h"
#include "sinew/mesh.h"
#include "sinew/monitor.h"
#include "sinew/obstacle.h"
#include "sinew/query.h"
#include "sinew/render.h"
#include "sinew/rig.h"
#include "sinew/rotation.h"
#include "sinew/samples.h"
#include "sinew/scene.h"
#include "sinew/selection.h"
#include "sinew/slider_space.h"
#include "sinew/spring.h"
#include "sinew/status.h"
#include "sinew/tets.h"
#include "sinew/threads.h"
#include "sinew/transfer.h"
#include "sinew/warp.h"

#endif
