#ifndef TESTS_CAPTURE_GROUPS_H
#define TESTS_CAPTURE_GROUPS_H
int test_anatomy(void);
int test_cleaning(void);
int test_face_view(void);
int test_layouts(void);
int test_maps(void);
int test_labels(void);
int test_stabilise(void);
int test_takes(void);
int test_wrong_maps(void);
#endif
