/* Loopback HTTP and WebSocket. Knows connections, limits and bytes; the meaning of messages is in
 * messages.c.
 *
 * A connection is accepted only when its Host names this server, its Origin (browsers always send
 * one) is this server, and the token is right. A message that is too large, or that the receiver
 * refuses, closes that connection and nothing else. */
#ifndef STUDIO_NET_H
#define STUDIO_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sinew/sinew.h>

enum {
    NET_TEXT_LIMIT = 8 << 20,     /* bytes of one text message from a page */
    NET_BINARY_LIMIT = 512 << 20, /* of one binary message: dropped files */
    NET_CLIENT_LIMIT = 64,        /* pages and scripts at once */
    NET_QUEUE_LIMIT = 1024,       /* messages waiting for one page */
    NET_FRAMES_AHEAD = 2          /* frames sent to a page that it has not shown yet */
};

typedef struct net net;
typedef struct net_client net_client;

/* Outgoing bytes, shared by the connections that they go to. */
typedef struct net_message net_message;
net_message *net_message_text(const char *text);
/* header: JSON text; payload follows it after padding to 4 bytes. */
net_message *net_message_binary(const char *header, int part_count, const void *const *parts,
                                const size_t *sizes);
net_message *net_message_keep(net_message *message);
void net_message_release(net_message *message);
/* The payload. */
const char *net_message_view(const net_message *message, size_t *size);

typedef struct net_handler {
    void (*opened)(void *user, net_client *client);
    void (*closed)(void *user, net_client *client);
    /* false: malformed, the connection is closed with `reason` */
    bool (*text)(void *user, net_client *client, const char *text, size_t size,
                 const char **reason);
    bool (*binary)(void *user, net_client *client, const unsigned char *bytes, size_t size,
                   const char **reason);
    /* Called in the main thread after net_wake. */
    void (*woken)(void *user);
    bool (*stopped)(void *user);
    void (*log)(void *user, const char *line);
    void *user;
} net_handler;

enum { NET_TOKEN_SIZE = 33 };
/* token: 32 hexadecimal digits, or "" to make one. */
sinew_status net_create(int port, const char *token, const net_handler *handler, net **out,
                        sinew_error *error);
void net_destroy(net *n);
/* "http://127.0.0.1:PORT/?t=TOKEN" */
const char *net_address(const net *n);
const char *net_token(const net *n);
int net_port(const net *n);
/* Serves until handler->stopped. */
void net_serve(net *n);
/* From any thread. */
void net_wake(net *n);

/* Frames replace an older frame that still waits; everything else is kept in order. */
void net_send(net_client *client, net_message *message, bool is_frame);
void net_broadcast(net *n, net_message *message, bool is_frame);
/* To the client of that number, if it is still there. */
void net_send_to(net *n, int number, net_message *message);
void net_shown(net_client *client);
int net_client_count(const net *n);
int net_client_number(const net_client *client);

#endif
