/* The studio: a server on loopback that shows a scene in the browser and lets people change it.
 *
 *   net       HTTP and WebSocket on libwebsockets: who may connect, limits, queues; no meaning
 *   messages  the protocol (docs/protocol.md): reads what pages send, writes what they get
 *   project   the scene, its history of patches and the journal on disk
 *   solver    one thread that turns the newest scene into shapes
 *   files     what pages drop and what they download
 *   examples  the scenes of the start screen
 *
 * The main thread owns the network and the project, the solver thread owns the models. They share
 * a request (newest wins), a list of tasks and a list of outgoing messages. */
#ifndef STUDIO_H
#define STUDIO_H

#include <stdbool.h>

#include <sinew/sinew.h>

typedef struct studio_options {
    int path_count;           /* 0: the sample face */
    const char *const *paths; /* a scene, or a rig: a file, a folder, or a neutral and targets */
    int port;                 /* 0: any free one */
    bool browser;             /* open the address in the browser */
    bool quiet;               /* no log lines on standard error */
} studio_options;

/* False when the page was not built in: Node was missing at build time. */
bool studio_has_page(void);

/* Serves until `monitor` asks to stop. Prints the address as the first line of standard output. */
sinew_status studio_run(const studio_options *options, const sinew_monitor *monitor,
                        sinew_error *error);

#endif
