/* The rig room: sliders, targets, names, evaluation, curves. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_accessors();
    failed += test_rig();
    failed += test_bake();
    failed += test_bake_fit();
    failed += test_bake_samples();
    failed += test_bake_sites();
    failed += test_names();
    failed += test_activations();
    failed += test_linear();
    failed += test_corrective();
    failed += test_curves();
    failed += test_lock();
    failed += test_lock_more();
    failed += test_manipulate();
    failed += test_interference();
    failed += test_parts();
    failed += test_holds();
    failed += test_floor();
    failed += test_seams();
    failed += test_refinements();
    failed += test_rotation_blend();
    failed += test_rotation_store();
    failed += test_stretched_pairs();
    failed += test_transfer();
    failed += test_transfer_sheets();
    failed += test_fit();
    failed += test_fit_trust();
    failed += test_fit_parameters();
    failed += test_fit_sliders();
    failed += test_fit_frames();
    failed += test_recorded();
    return failed != 0;
}
