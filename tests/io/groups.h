#ifndef TESTS_IO_GROUPS_H
#define TESTS_IO_GROUPS_H
int test_numbers(void);
int test_obj(void);
int test_ply(void);
int test_frames(void);
int test_rigs(void);
int test_tables(void);
int test_glb(void);
int test_fbx(void);
int test_meshes(void);
int test_captures(void);
int test_clips(void);
int test_sources(void);
int test_compact(void);
int test_keep(void);
int test_corpus(void);
#endif
