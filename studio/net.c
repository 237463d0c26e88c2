#include "net.h"

#include <libwebsockets.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "page.h"

/* ---- messages -------------------------------------------------------------------------------- */

struct net_message {
    atomic_int references;
    bool binary;
    size_t size;
    unsigned char bytes[]; /* LWS_PRE bytes of room for the frame's header, then the payload */
};

static net_message *new_message(size_t size, bool binary) {
    net_message *m = malloc(sizeof *m + LWS_PRE + size);
    if (!m) return NULL;
    atomic_init(&m->references, 1);
    m->binary = binary;
    m->size = size;
    return m;
}

net_message *net_message_text(const char *text) {
    size_t size = strlen(text);
    net_message *m = new_message(size, false);
    if (m) memcpy(m->bytes + LWS_PRE, text, size);
    return m;
}

net_message *net_message_binary(const char *header, int part_count, const void *const *parts,
                                const size_t *sizes) {
    size_t length = strlen(header), padded = (length + 3) & ~(size_t)3, size = 4 + padded;
    for (int i = 0; i < part_count; i++) size += sizes[i];
    net_message *m = new_message(size, true);
    if (!m) return NULL;
    unsigned char *at = m->bytes + LWS_PRE;
    for (int i = 0; i < 4; i++) *at++ = (unsigned char)(padded >> (8 * i));
    memcpy(at, header, length);
    memset(at + length, ' ', padded - length);
    at += padded;
    for (int i = 0; i < part_count; i++) {
        if (sizes[i]) memcpy(at, parts[i], sizes[i]);
        at += sizes[i];
    }
    return m;
}

net_message *net_message_keep(net_message *message) {
    if (message) atomic_fetch_add(&message->references, 1);
    return message;
}

void net_message_release(net_message *message) {
    if (message && atomic_fetch_sub(&message->references, 1) == 1) free(message);
}

const char *net_message_view(const net_message *message, size_t *size) {
    *size = message->size;
    return (const char *)message->bytes + LWS_PRE;
}

/* ---- connections ----------------------------------------------------------------------------- */

typedef struct waiting {
    net_message *message;
    bool is_frame;
} waiting;

struct net_client {
    net *server;
    net_client *next;
    struct lws *wsi;
    int number;
    waiting *queue; /* ring of NET_QUEUE_LIMIT */
    int first, count;
    int ahead; /* frames on their way */
    unsigned char *input;
    size_t input_size, input_room;
    bool doomed;
};

struct net {
    struct lws_context *context;
    struct lws_vhost *vhost;
    net_handler handler;
    net_client *clients;
    int client_count, numbers;
    int port;
    char token[NET_TOKEN_SIZE];
    char address[128];
};

/* What libwebsockets keeps per connection. */
typedef struct connection {
    net_client *client; /* of a WebSocket */
    const unsigned char *body;
    size_t left; /* of an HTTP answer */
} connection;

static void say(net *n, const char *line) {
    if (n->handler.log) n->handler.log(n->handler.user, line);
}

static void refuse_line(net *n, const char *what, const char *detail) {
    char line[256], clean[96];
    size_t k = 0;
    for (; detail[k] && k + 1 < sizeof clean; k++)
        clean[k] = detail[k] < 32 || detail[k] > 126 ? '?' : detail[k];
    clean[k] = 0;
    snprintf(line, sizeof line, "refused: %s '%s'", what, clean);
    say(n, line);
}

static bool header(struct lws *wsi, enum lws_token_indexes token, char *text, int room) {
    text[0] = 0;
    int length = lws_hdr_total_length(wsi, token);
    if (length <= 0) return false;
    if (length >= room || lws_hdr_copy(wsi, text, room, token) < 0)
        snprintf(text, (size_t)room, "(too long)");
    return true;
}

/* "127.0.0.1:PORT", "localhost:PORT" and "[::1]:PORT", after an optional prefix. */
static bool is_this_server(const net *n, const char *prefix, const char *text) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (int i = 0; i < 3; i++) {
        char expected[80];
        snprintf(expected, sizeof expected, "%s%s:%d", prefix, names[i], n->port);
        if (!strcmp(expected, text)) return true;
    }
    return false;
}

static bool right_token(const net *n, struct lws *wsi) {
    char given[64];
    const char *value = lws_get_urlarg_by_name(wsi, "t=", given, sizeof given);
    if (!value || strlen(value) != strlen(n->token)) return false;
    unsigned char difference = 0;
    for (size_t i = 0; n->token[i]; i++) difference |= (unsigned char)(value[i] ^ n->token[i]);
    return difference == 0;
}

static bool right_host(net *n, struct lws *wsi) {
    char text[128];
    header(wsi, WSI_TOKEN_HOST, text, sizeof text);
    if (is_this_server(n, "", text)) return true;
    refuse_line(n, "Host", text);
    return false;
}

/* Programs send no Origin; a browser always does, and then it must be this page. */
static bool right_origin(net *n, struct lws *wsi) {
    char text[128];
    if (!header(wsi, WSI_TOKEN_ORIGIN, text, sizeof text)) return true;
    if (is_this_server(n, "http://", text)) return true;
    refuse_line(n, "Origin", text);
    return false;
}

/* ---- HTTP: the page's files, nothing else ---------------------------------------------------- */

static const char need_token[] =
    "<!doctype html><meta charset=utf-8><title>Sinew studio</title>"
    "<p>This address needs its token: open the whole line that <code>sinew studio</code> printed.";

static int answer(struct lws *wsi, connection *c, unsigned code, const char *type,
                  const unsigned char *body, size_t size, bool gzip) {
    unsigned char buffer[LWS_PRE + 1024], *start = buffer + LWS_PRE, *at = start,
                                          *end = buffer + sizeof buffer;
    static const char *const fixed[][2] = {
        {"cache-control:", "no-store"},
        {"x-content-type-options:", "nosniff"},
        {"referrer-policy:", "no-referrer"},
        {"cross-origin-opener-policy:", "same-origin"},
        {"content-security-policy:",
         "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
         "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; "
         "form-action 'none'; "
         "frame-ancestors 'none'"},
    };
    if (lws_add_http_common_headers(wsi, code, type, (lws_filepos_t)size, &at, end)) return 1;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (lws_add_http_header_by_name(wsi, (const unsigned char *)fixed[i][0],
                                        (const unsigned char *)fixed[i][1],
                                        (int)strlen(fixed[i][1]), &at, end))
            return 1;
    if (gzip && lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_CONTENT_ENCODING,
                                             (const unsigned char *)"gzip", 4, &at, end))
        return 1;
    if (lws_finalize_write_http_header(wsi, start, &at, end)) return 1;
    c->body = body;
    c->left = size;
    if (!size) return lws_http_transaction_completed(wsi) != 0;
    lws_callback_on_writable(wsi);
    return 0;
}

static int send_body(struct lws *wsi, connection *c) {
    unsigned char buffer[LWS_PRE + 16384];
    if (!c->body) return 0;
    size_t n = c->left < 16384 ? c->left : 16384;
    memcpy(buffer + LWS_PRE, c->body, n);
    bool last = n == c->left;
    if (lws_write(wsi, buffer + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n)
        return 1;
    c->body += n;
    c->left -= n;
    if (!last) {
        lws_callback_on_writable(wsi);
        return 0;
    }
    c->body = NULL;
    return lws_http_transaction_completed(wsi) != 0;
}

static int text_answer(struct lws *wsi, connection *c, unsigned code, const char *text) {
    return answer(wsi, c, code, "text/html; charset=utf-8", (const unsigned char *)text,
                  strlen(text), false);
}

static int on_http(net *n, struct lws *wsi, connection *c, const char *path) {
    if (!right_host(n, wsi)) return text_answer(wsi, c, 403, "wrong Host\n");
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI))
        return text_answer(wsi, c, 405, "GET only\n");
    for (const page_file *file = page_files; file->path; file++) {
        if (strcmp(file->path, path)) continue;
        /* Scripts and styles hold nothing of the project; the page and the socket need the token.
         */
        if (!strcmp(path, "/") && !right_token(n, wsi)) {
            refuse_line(n, "no token for", path);
            return text_answer(wsi, c, 403, need_token);
        }
        return answer(wsi, c, 200, file->type, file->bytes, file->size, file->gzip);
    }
    return text_answer(wsi, c, 404, "not found\n");
}

/* ---- WebSocket ------------------------------------------------------------------------------- */

static int on_upgrade(net *n, struct lws *wsi) {
    if (!right_host(n, wsi) || !right_origin(n, wsi)) return 1;
    char path[32];
    if (!header(wsi, WSI_TOKEN_GET_URI, path, sizeof path) || strcmp(path, "/ws")) {
        refuse_line(n, "socket at", path);
        return 1;
    }
    if (!right_token(n, wsi)) {
        refuse_line(n, "wrong token at", path);
        return 1;
    }
    if (n->client_count >= NET_CLIENT_LIMIT) {
        refuse_line(n, "too many connections at", path);
        return 1;
    }
    return 0;
}

static int on_open(net *n, struct lws *wsi, connection *c) {
    net_client *client = calloc(1, sizeof *client);
    waiting *queue = calloc(NET_QUEUE_LIMIT, sizeof *queue);
    if (!client || !queue) {
        free(client);
        free(queue);
        return 1;
    }
    *client = (net_client){.server = n, .wsi = wsi, .queue = queue, .number = ++n->numbers};
    client->next = n->clients;
    n->clients = client;
    n->client_count++;
    c->client = client;
    n->handler.opened(n->handler.user, client);
    return 0;
}

static void on_close(net *n, connection *c) {
    net_client *client = c->client;
    if (!client) return;
    c->client = NULL;
    for (net_client **at = &n->clients; *at; at = &(*at)->next)
        if (*at == client) {
            *at = client->next;
            break;
        }
    n->client_count--;
    n->handler.closed(n->handler.user, client);
    for (int i = 0; i < client->count; i++)
        net_message_release(client->queue[(client->first + i) % NET_QUEUE_LIMIT].message);
    free(client->queue);
    free(client->input);
    free(client);
}

static int drop(struct lws *wsi, net *n, net_client *client, enum lws_close_status code,
                const char *reason) {
    char line[160];
    snprintf(line, sizeof line, "page %d closed: %s", client->number, reason);
    say(n, line);
    lws_close_reason(wsi, code, (unsigned char *)reason, strlen(reason));
    return -1;
}

static int on_receive(net *n, struct lws *wsi, connection *c, const void *bytes, size_t size) {
    net_client *client = c->client;
    if (!client) return -1;
    bool binary = lws_frame_is_binary(wsi);
    size_t limit = binary ? (size_t)NET_BINARY_LIMIT : (size_t)NET_TEXT_LIMIT;
    size_t coming = lws_remaining_packet_payload(wsi);
    if (client->input_size + size > limit || coming > limit - client->input_size - size)
        return drop(wsi, n, client, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "message too large");
    if (client->input_size + size + 1 > client->input_room) {
        size_t room = 2 * (client->input_size + size) + 1024;
        unsigned char *grown = realloc(client->input, room);
        if (!grown)
            return drop(wsi, n, client, LWS_CLOSE_STATUS_UNEXPECTED_CONDITION, "out of memory");
        client->input = grown;
        client->input_room = room;
    }
    if (size) memcpy(client->input + client->input_size, bytes, size);
    client->input_size += size;
    if (coming || !lws_is_final_fragment(wsi)) return 0;
    client->input[client->input_size] = 0;
    const char *reason = "malformed message";
    bool good = binary ? n->handler.binary(n->handler.user, client, client->input,
                                           client->input_size, &reason)
                       : n->handler.text(n->handler.user, client, (const char *)client->input,
                                         client->input_size, &reason);
    client->input_size = 0;
    if (client->input_room > 1 << 20) { /* a dropped file should not keep its room */
        free(client->input);
        client->input = NULL;
        client->input_room = 0;
    }
    if (!good) return drop(wsi, n, client, LWS_CLOSE_STATUS_INVALID_PAYLOAD, reason);
    return client->doomed ? drop(wsi, n, client, LWS_CLOSE_STATUS_POLICY_VIOLATION, "too slow") : 0;
}

/* The next message that may go: frames wait while the page has NET_FRAMES_AHEAD to show. */
static int on_writable(net *n, struct lws *wsi, connection *c) {
    net_client *client = c->client;
    if (!client) return -1;
    if (client->doomed) return drop(wsi, n, client, LWS_CLOSE_STATUS_POLICY_VIOLATION, "too slow");
    if (!client->count) return 0;
    waiting *next = &client->queue[client->first];
    if (next->is_frame && client->ahead >= NET_FRAMES_AHEAD) return 0;
    waiting taken = *next;
    client->first = (client->first + 1) % NET_QUEUE_LIMIT;
    client->count--;
    if (taken.is_frame) client->ahead++;
    net_message *m = taken.message;
    /* Writes into the room before the payload; pages share it one after the other. */
    int written =
        lws_write(wsi, m->bytes + LWS_PRE, m->size, m->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT);
    bool failed = written < (int)m->size;
    net_message_release(m);
    if (failed) return -1;
    if (client->count) lws_callback_on_writable(wsi);
    return 0;
}

void net_send(net_client *client, net_message *message, bool is_frame) {
    if (!message) return;
    if (is_frame) /* an older frame that still waits is of no use any more */
        for (int i = client->count - 1; i >= 0; i--) {
            waiting *old = &client->queue[(client->first + i) % NET_QUEUE_LIMIT];
            if (!old->is_frame) continue;
            net_message_release(old->message);
            for (int j = i; j + 1 < client->count; j++)
                client->queue[(client->first + j) % NET_QUEUE_LIMIT] =
                    client->queue[(client->first + j + 1) % NET_QUEUE_LIMIT];
            client->count--;
            break;
        }
    if (client->count == NET_QUEUE_LIMIT) {
        client->doomed = true;
    } else {
        client->queue[(client->first + client->count++) % NET_QUEUE_LIMIT] =
            (waiting){net_message_keep(message), is_frame};
    }
    lws_callback_on_writable(client->wsi);
}

void net_broadcast(net *n, net_message *message, bool is_frame) {
    for (net_client *client = n->clients; client; client = client->next)
        net_send(client, message, is_frame);
}

void net_send_to(net *n, int number, net_message *message) {
    for (net_client *client = n->clients; client; client = client->next)
        if (client->number == number) net_send(client, message, false);
}

void net_shown(net_client *client) {
    if (client->ahead > 0) client->ahead--;
    if (client->count) lws_callback_on_writable(client->wsi);
}

int net_client_count(const net *n) {
    return n->client_count;
}
int net_client_number(const net_client *client) {
    return client->number;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t size) {
    net *n = lws_context_user(lws_get_context(wsi));
    connection *c = user;
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        return on_http(n, wsi, c, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return send_body(wsi, c);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return on_upgrade(n, wsi);
    case LWS_CALLBACK_ESTABLISHED:
        return on_open(n, wsi, c);
    case LWS_CALLBACK_RECEIVE:
        return on_receive(n, wsi, c, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(n, wsi, c);
    case LWS_CALLBACK_CLOSED:
        on_close(n, c);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        if (n && n->handler.woken) n->handler.woken(n->handler.user);
        return 0;
    default:
        return 0;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static const struct lws_protocols protocols[] = {
    {"http", on_event, sizeof(connection), 65536, 0, NULL, 0},
    {"sinew-studio-1", on_event, sizeof(connection), 65536, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

sinew_status net_create(int port, const char *token, const net_handler *handler, net **out,
                        sinew_error *error) {
    net *n = calloc(1, sizeof *n);
    if (!n) {
        *error = (sinew_error){SINEW_NO_MEMORY, "out of memory"};
        return error->status;
    }
    n->handler = *handler;
    unsigned char secret[16];
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        free(n);
        *error = (sinew_error){SINEW_UNAVAILABLE, "no random numbers for the token"};
        return error->status;
    }
    for (size_t i = 0; i < sizeof secret; i++) snprintf(n->token + 2 * i, 3, "%02x", secret[i]);
    if (strlen(token) == NET_TOKEN_SIZE - 1) memcpy(n->token, token, NET_TOKEN_SIZE);

    lws_set_log_level(0, NULL);
    struct lws_context_creation_info info = {
        .port = port,
        .iface = "127.0.0.1",
        .protocols = protocols,
        .user = n,
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
        .timeout_secs = 20,
        .pt_serv_buf_size = 65536,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
        .server_string = "sinew-studio",
    };
    n->context = lws_create_context(&info);
    info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    n->vhost = n->context ? lws_create_vhost(n->context, &info) : NULL;
    if (!n->vhost) {
        if (n->context) lws_context_destroy(n->context);
        free(n);
        error->status = SINEW_IO;
        snprintf(error->message, sizeof error->message,
                 "cannot listen on 127.0.0.1:%d; another program may use the port", port);
        return SINEW_IO;
    }
    n->port = lws_get_vhost_listen_port(n->vhost);
    info.port = n->port;
    info.iface = "::1";
    info.vhost_name = "ipv6";
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_IPV6_V6ONLY_MODIFY |
                   LWS_SERVER_OPTION_IPV6_V6ONLY_VALUE;
    (void)lws_create_vhost(n->context, &info); /* machines without IPv6 do without */
    snprintf(n->address, sizeof n->address, "http://127.0.0.1:%d/?t=%s", n->port, n->token);
    *out = n;
    return SINEW_OK;
}

void net_destroy(net *n) {
    if (!n) return;
    lws_context_destroy(n->context);
    free(n);
}

const char *net_address(const net *n) {
    return n->address;
}

const char *net_token(const net *n) {
    return n->token;
}

int net_port(const net *n) {
    return n->port;
}

void net_serve(net *n) {
    while (!n->handler.stopped(n->handler.user))
        if (lws_service(n->context, 0) < 0) break;
}

void net_wake(net *n) {
    lws_cancel_service(n->context);
}
