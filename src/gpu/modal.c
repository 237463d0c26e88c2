#include "gpu/modal.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gpu/rebuild.h"
#include "mesh/rotation_links.h"

struct sn_gpu_modal {
    sn_gpu *gpu;
    const sinew_modal *modal;
    sn_gpu_store store;
    sn_dissection *dissection;
    sn_modal_launch launch;
    int blocks;
    size_t shared;
    size_t frame_size; /* numbers: 1, the components' motions, the columns' weights */
    double *frame;     /* pinned */
    double *positions; /* pinned: of the body, */
    double *carried;   /* and rotations of the elements that carry the artist's vertices */
    double *device_frame;
};

/* One number of all elements after the other. */
static double *put_by_number(sn_gpu_store *store, const double *values, size_t count, size_t size) {
    double *turned = SN_NEW(double, count *size);
    void *there = NULL;
    if (!turned) store->no_memory = true;
    for (size_t e = 0; turned && e < count; e++)
        for (size_t i = 0; i < size; i++) turned[i * count + e] = values[e * size + i];
    if (turned) there = sn_gpu_store_put(store, turned, count * size, sizeof *turned);
    sn_free(turned);
    return there;
}

static void put_elements(const sn_rotation_strain *rs, sn_gpu_store *store,
                         sn_modal_device *device) {
    size_t count = (size_t)rs->element_count, corners = (size_t)rs->corners;
    int *element = SN_NEW(int, count *corners);
    if (!element) store->no_memory = true;
    for (size_t e = 0; element && e < count; e++)
        for (size_t k = 0; k < corners; k++) element[k * count + e] = rs->elements[e * corners + k];
    if (element)
        device->element = sn_gpu_store_put(store, element, count * corners, sizeof *element);
    sn_free(element);
    device->corners = rs->corners;
    device->gradient = put_by_number(store, rs->gradients, count, 3 * corners);
    if (rs->normals) device->normal = put_by_number(store, rs->normals, count, 3);
}

/* Elements around the halves of links, with shares that sum up to one. */
static void put_rings(const sn_rotation_strain *rs, sn_gpu_store *store, sn_modal_device *device) {
    int halves = 2 * rs->link_count, total = 0, first, last;
    int *start = SN_NEW(int, halves + 1);
    for (int half = 0; start && half < halves; half++) {
        sn_rotation_half_ring(rs, half, &first, &last);
        start[half] = total, total += last - first;
    }
    int *ring = SN_NEW(int, total);
    double *share = SN_NEW(double, total);
    if (start && ring && share) {
        start[halves] = total;
        for (int half = 0; half < halves; half++) {
            double weight = 0;
            int at = start[half];
            sn_rotation_half_ring(rs, half, &first, &last);
            for (int c = first; c < last; c++) {
                ring[at + c - first] = rs->vertex_corners[c] / rs->corners;
                weight += rs->weights[ring[at + c - first]];
            }
            for (int k = at; k < start[half + 1]; k++)
                share[k] = weight > 0 ? rs->weights[ring[k]] / weight : 0;
        }
        device->ring_start = sn_gpu_store_put(store, start, (size_t)halves + 1, sizeof *start);
        device->ring = sn_gpu_store_put(store, ring, (size_t)total, sizeof *ring);
        device->ring_share = sn_gpu_store_put(store, share, (size_t)total, sizeof *share);
    } else {
        store->no_memory = true;
    }
    sn_free(start), sn_free(ring), sn_free(share);
}

static void make_room(sn_gpu_modal *made) {
    const sn_body *body = made->modal->body;
    sn_gpu_store *store = &made->store;
    sn_modal_launch *launch = &made->launch;
    size_t n = 3 * (size_t)body->vertex_count, carriers = (size_t)launch->modal.carrier_count;
    void *unused;
    made->frame_size =
        1 + SN_MOTION_SIZE * (size_t)body->rs->component_count + (size_t)launch->modal.column_count;
    sn_gpu_rebuild_work(&launch->modal.rotation, made->dissection, store, &launch->work.rotation);
    launch->work.displacement = sn_gpu_store_room(store, n, sizeof(double));
    launch->work.carried = sn_gpu_store_room(store, 9 * carriers, sizeof(double));
    launch->memory = sn_gpu_group_room(store, made->blocks);
    launch->positions = sn_gpu_store_put(store, body->rest, n, sizeof(double));
    made->device_frame = sn_gpu_store_room(store, made->frame_size, sizeof(double));
    made->frame = sn_gpu_store_pinned(store, made->frame_size * sizeof(double), &unused);
    made->positions = sn_gpu_store_pinned(store, n * sizeof(double), &unused);
    made->carried = sn_gpu_store_pinned(store, 9 * carriers * sizeof(double), &unused);
    if (!made->device_frame) return; /* the store remembers why */
    launch->asked.one = made->device_frame;
    launch->modal.rotation.target_count = 1;
    launch->modal.rotation.target_motion = made->device_frame + 1;
    launch->asked.weights = made->device_frame + made->frame_size - launch->modal.column_count;
}

static sinew_status upload(sn_gpu_modal *made, sinew_error *error) {
    const sn_body *body = made->modal->body;
    const sn_modes *modes = made->modal->modes;
    sn_modal_device *device = &made->launch.modal;
    sn_gpu_shape shape = {
        .structure = body->rs, .rest = body->rest, .rest_centers = body->rest_centers};
    SN_TRY(
        sn_gpu_rebuild_create(&shape, &made->store, &device->rotation, &made->dissection, error));
    SN_TRY(sn_dissection_share(made->dissection, made->blocks, &made->store,
                               &device->rotation.solve, &made->shared, error));
    device->column_count = modes->column_count;
    device->shapes = sn_gpu_store_put(&made->store, modes->shapes,
                                      3 * (size_t)body->vertex_count * (size_t)modes->column_count,
                                      sizeof *modes->shapes);
    put_elements(body->rs, &made->store, device);
    put_rings(body->rs, &made->store, device);
    if (body->cage) {
        device->carrier_count = body->artist_count;
        device->carriers = sn_gpu_store_put(&made->store, body->cage->embedding->tet,
                                            (size_t)body->artist_count, sizeof(int));
    }
    make_room(made);
    SN_TRY(sn_gpu_store_status(&made->store, error));
    return sn_gpu_wait(made->gpu, NULL, INFINITY, NULL, error);
}

sinew_status sn_gpu_modal_create(sn_gpu *gpu, const sinew_modal *modal, sn_gpu_modal **result,
                                 sinew_error *error) {
    *result = NULL;
    sn_gpu_modal *made = SN_NEW0(sn_gpu_modal, 1);
    if (!made) return sn_no_memory(error);
    made->gpu = gpu, made->modal = modal, made->store.gpu = gpu;
    made->blocks = sn_gpu_about(gpu)->multiprocessors;
    sn_gpu_lock(gpu);
    sinew_status status = upload(made, error);
    sn_gpu_unlock(gpu);
    if (status == SINEW_OK)
        *result = made;
    else
        sn_gpu_modal_destroy(made);
    return status;
}

void sn_gpu_modal_destroy(sn_gpu_modal *modal) {
    if (!modal) return;
    sn_dissection_destroy(modal->dissection);
    sn_gpu_store_free(&modal->store);
    sn_free(modal);
}

size_t sn_gpu_modal_bytes(const sn_gpu_modal *modal) {
    return modal->store.bytes;
}

/* ---- motions ---- */

struct sn_gpu_motion {
    sn_gpu_modal *modal;
    const sinew_modal_motion *motion;
    sn_gpu_store store;
    const double **residuals; /* of the keys, then of the inner poses; on the device, NULL: zero */
    double *carried;          /* of the last frame */
    sinew_error why;
};

static bool is_zero(const double *values, size_t count) {
    size_t k = 0;
    while (k < count && values[k] == 0) k++;
    return k == count;
}

sinew_status sn_gpu_motion_create(sn_gpu_modal *modal, const sinew_modal_motion *motion,
                                  sn_gpu_motion **result, sinew_error *error) {
    *result = NULL;
    sn_gpu_motion *made = SN_NEW0(sn_gpu_motion, 1);
    if (!made) return sn_no_memory(error);
    int count = motion->key_count + motion->inner_count;
    size_t items = (size_t)modal->modal->body->rs->item_count;
    made->modal = modal, made->motion = motion, made->store.gpu = modal->gpu;
    made->residuals = SN_NEW0(const double *, count);
    made->carried = SN_NEW(double, 9 * (size_t)modal->launch.modal.carrier_count);
    sinew_status status = made->residuals && made->carried ? SINEW_OK : sn_no_memory(error);
    sn_gpu_lock(modal->gpu);
    for (int k = 0; status == SINEW_OK && k < count; k++) {
        const sn_pose *pose =
            k < motion->key_count ? &motion->keys[k] : &motion->inner[k - motion->key_count];
        if (!is_zero(pose->residual, SN_RS_SIZE * items))
            made->residuals[k] = put_by_number(&made->store, pose->residual, items, SN_RS_SIZE);
    }
    if (status == SINEW_OK) status = sn_gpu_store_status(&made->store, error);
    if (status == SINEW_OK) status = sn_gpu_wait(modal->gpu, NULL, INFINITY, NULL, error);
    sn_gpu_unlock(modal->gpu);
    if (status == SINEW_OK)
        *result = made;
    else
        sn_gpu_motion_destroy(made);
    return status;
}

void sn_gpu_motion_destroy(sn_gpu_motion *motion) {
    if (!motion) return;
    sn_gpu_store_free(&motion->store);
    sn_free(motion->residuals), sn_free(motion->carried);
    sn_free(motion);
}

const char *sn_gpu_motion_why(const sn_gpu_motion *motion) {
    return motion->why.message;
}

/* The place of a pose in `residuals`, or -1: it was made for this frame. */
static int place_of(const sinew_modal_motion *motion, const sn_pose *pose) {
    for (int k = 0; k < motion->key_count; k++)
        if (pose == &motion->keys[k]) return k;
    for (int k = 0; k < motion->inner_count; k++)
        if (pose == &motion->inner[k]) return motion->key_count + k;
    return -1;
}

static void set_frame(const sn_gpu_modal *modal, const double *tracks) {
    const sn_body *body = modal->modal->body;
    int columns = modal->modal->modes->column_count, parts = body->rs->component_count;
    const double *turns = tracks + columns, *centers = turns + 3 * parts;
    double *to = modal->frame;
    *to++ = 1;
    for (int c = 0; c < parts; c++) {
        for (int i = 0; i < 3; i++) *to++ = centers[3 * c + i] - body->rest_centers[3 * c + i];
        for (int i = 0; i < 3; i++) *to++ = turns[3 * c + i];
    }
    memcpy(to, tracks, (size_t)columns * sizeof *to);
}

/* With the lock held. */
static sinew_status run(sn_gpu_modal *m, const sn_modal_launch *launch, sinew_error *error) {
    size_t n = 3 * (size_t)m->modal->body->vertex_count;
    size_t carried = 9 * (size_t)launch->modal.carrier_count;
    SN_TRY(sn_gpu_put(m->gpu, m->device_frame, m->frame, m->frame_size * sizeof(double), error));
    SN_TRY(sn_gpu_launch(m->gpu, SN_GPU_KERNEL_MODAL, launch, 1, m->blocks, m->shared, error));
    if (carried)
        SN_TRY(
            sn_gpu_get(m->gpu, m->carried, launch->work.carried, carried * sizeof(double), error));
    SN_TRY(sn_gpu_send_back(m->gpu, m->positions, launch->positions, n, error));
    return sn_gpu_wait(m->gpu, NULL, INFINITY, NULL, error);
}

static bool rebuild(void *user, sinew_modal_state *state, const sn_residual_sum *residual) {
    sn_gpu_motion *motion = user;
    sn_gpu_modal *m = motion->modal;
    sn_modal_launch launch = m->launch;
    launch.asked.refinements = state->exact ? 1 : 0;
    for (int k = 0; k < residual->count; k++) {
        int place = place_of(motion->motion, residual->poses[k]);
        if (place < 0) {
            (void)sn_fail(&motion->why, SINEW_UNAVAILABLE,
                          "the GPU does not mix shapes into modal frames");
            return false;
        }
        if (!motion->residuals[place]) continue;
        int at = launch.asked.residual_count++;
        launch.asked.residuals[at] = motion->residuals[place];
        launch.asked.residual_weights[at] = residual->weights[k];
    }
    sn_gpu_lock(m->gpu);
    set_frame(m, state->tracks);
    sinew_status status = run(m, &launch, &motion->why);
    if (status == SINEW_OK)
        status = sn_gpu_receive(m->gpu, 3 * (size_t)m->modal->body->vertex_count, sn_gpu_copy,
                                &(sn_gpu_copying){state->positions, m->positions}, &motion->why);
    if (status == SINEW_OK) {
        memcpy(motion->carried, m->carried,
               9 * (size_t)launch.modal.carrier_count * sizeof(double));
        state->carried = motion->carried;
    }
    sn_gpu_unlock(m->gpu);
    return status == SINEW_OK;
}

void sn_gpu_motion_attach(sn_gpu_motion *motion, sinew_modal_state *state) {
    state->rebuild = motion ? rebuild : NULL;
    state->rebuilder = motion;
    if (motion)
        (void)sn_fail(&motion->why, SINEW_UNAVAILABLE,
                      "the GPU does not lead regions of modal frames to orientations");
}
