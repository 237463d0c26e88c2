/* The protocol of docs/protocol.md on the server's side. */
#ifndef STUDIO_MESSAGES_H
#define STUDIO_MESSAGES_H

#include "net.h"
#include "project.h"
#include "solver.h"

/* What all pages share beside the project. */
typedef struct studio_state {
    project *project;
    solver *solver;
    net *net;
    int frame; /* of the clip, -1: the pose */
    bool playing, loop;
    /* The newest of each, for pages that come later. */
    net_message *rig, *clip, *shape, *problem;
    bool quiet;
} studio_state;

void messages_welcome(studio_state *s, net_client *client);
/* false: the message breaks the protocol. */
bool messages_text(studio_state *s, net_client *client, const char *text, size_t size,
                   const char **reason);
bool messages_files(studio_state *s, net_client *client, const unsigned char *bytes, size_t size,
                    const char **reason);
/* Weights that a drag came to: a patch in the name of the page that drags. */
void messages_dragged(studio_state *s, const char *text, size_t size, int client);
/* Asks the solver for what the pages should see now. */
void messages_want(studio_state *s, bool changed, bool only_pose);
void messages_stopped(studio_state *s);

#endif
