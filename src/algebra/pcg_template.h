/* Included by pcg.c once for double and once for float: REAL and NAME differ. */

struct NAME(sn_pcg_work) {
    size_t size;
    /* r residual, z = M^-1 r, p direction, q = A p, old: the previous residual (flexible form) */
    REAL *r, *z, *p, *q, *old;
};

sinew_status NAME(sn_pcg_work_create)(size_t size, NAME(sn_pcg_work) * *work, sinew_error *error) {
    *work = NULL;
    NAME(sn_pcg_work) *made = SN_NEW0(NAME(sn_pcg_work), 1);
    if (!made) return sn_no_memory(error);
    made->size = size;
    REAL **vectors[] = {&made->r, &made->z, &made->p, &made->q, &made->old};
    for (int i = 0; i < 5; i++) {
        *vectors[i] = sn_alloc_aligned(size, sizeof(REAL));
        if (!*vectors[i]) {
            NAME(sn_pcg_work_destroy)(made);
            return sn_no_memory(error);
        }
    }
    *work = made;
    return SINEW_OK;
}

void NAME(sn_pcg_work_destroy)(NAME(sn_pcg_work) * work) {
    if (!work) return;
    REAL *vectors[] = {work->r, work->z, work->p, work->q, work->old};
    for (int i = 0; i < 5; i++) sn_free_aligned(vectors[i]);
    sn_free(work);
}

sinew_status NAME(sn_pcg_solve)(NAME(sn_pcg_work) * work, const sn_pcg_options *options,
                                NAME(sn_pcg_operator) * apply, NAME(sn_pcg_operator) * precondition,
                                void *user, const REAL *b, REAL *x, sn_pcg_info *info) {
    sn_pcg_info unused;
    if (!info) info = &unused;
    *info = (sn_pcg_info){0};
    size_t n = work->size;
    REAL *r = work->r, *z = work->z, *p = work->p, *q = work->q, *old = work->old;
    double scale = NAME(sn_vector_norm)(n, b);
    if (!isfinite(scale) || scale == 0) {
        memset(x, 0, n * sizeof *x);
        info->residual = scale == 0 ? 0 : INFINITY;
        return scale == 0 ? SINEW_OK : SINEW_NOT_CONVERGED;
    }
    memcpy(r, b, n * sizeof *r);
    if (options->start_from_x) {
        apply(x, q, user);
        NAME(sn_vector_axpy)(n, -1, q, r);
    } else {
        memset(x, 0, n * sizeof *x);
    }
    double left = NAME(sn_vector_norm)(n, r), rz = 0;
    info->residual = left / scale;
    if (!isfinite(left)) { /* the guess is unusable */
        memset(x, 0, n * sizeof *x);
        memcpy(r, b, n * sizeof *r);
        left = scale;
        info->residual = 1;
    }
    for (int k = 0;; k++) {
        if (info->residual <= options->tolerance) return SINEW_OK;
        if (k >= options->max_iterations) return SINEW_NOT_CONVERGED;
        if (sn_cancelled(options->monitor)) return SINEW_CANCELLED;
        if (precondition)
            precondition(r, z, user);
        else
            memcpy(z, r, n * sizeof *z);
        double rz_new = NAME(sn_vector_dot)(n, r, z);
        /* beta = r^T z / old r^T z; flexible: numerator (r - old)^T z */
        double change = k && options->flexible ? rz_new - NAME(sn_vector_dot)(n, old, z) : rz_new;
        if (k == 0)
            memcpy(p, z, n * sizeof *p);
        else
            NAME(sn_vector_xpay)(n, z, (REAL)(change / rz), p);
        rz = rz_new;
        if (!(rz > 0) || !isfinite(rz)) return SINEW_NOT_CONVERGED;
        apply(p, q, user);
        double curvature = NAME(sn_vector_dot)(n, p, q);
        if (!isfinite(curvature)) return SINEW_NOT_CONVERGED;
        if (curvature <= 0) {
            info->negative_curvature = true;
            if (k == 0 && !options->start_from_x) memcpy(x, p, n * sizeof *x);
            return SINEW_NOT_CONVERGED;
        }
        /* p^T r equals r^T z with exact directions; the flexible form keeps the step optimal */
        double along = options->flexible ? NAME(sn_vector_dot)(n, p, r) : rz;
        REAL step = (REAL)(along / curvature);
        if (options->flexible) memcpy(old, r, n * sizeof *old);
        NAME(sn_vector_axpy)(n, -step, q, r);
        left = NAME(sn_vector_norm)(n, r);
        if (!isfinite(left)) return SINEW_NOT_CONVERGED;
        NAME(sn_vector_axpy)(n, step, p, x);
        info->iterations = k + 1;
        info->residual = left / scale;
    }
}
