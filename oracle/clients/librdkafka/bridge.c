/* librdkafka's own assignors as an oracle: one group document a line in, one answer a line out.
 *
 * The leader's way: each member's metadata is written and read back as it crosses the wire, the
 * assignor runs, and for a cooperative one the leader withholds what others still hold. The last
 * step and the reader are private to rdkafka_cgrp.c, which is therefore compiled into this file.
 *
 * A member that subscribes to nothing cannot be read ("subscription_cnt <= 0") and is left out by
 * the leader, as here; it gets nothing. If that is everybody, the assignor is not run: no client of
 * such a group would be its leader, and the sticky assignor breaks down without members.
 *
 * Every question is answered by a child process, which starts with a sound heap; a child that is
 * ended by a signal is an answer, too. The sticky assignor reads memory that it has freed, and what
 * comes of that depends on who got the memory since. So nobody gets it here: what a child frees is
 * overwritten and kept, and a pointer read from it leads nowhere, which is a SIGSEGV every time.
 */
#include "rdkafka_cgrp.c"

#include "cJSON.h"
#include "rdkafka_assignor.h"
#include "rdkafka_metadata.h"

#include <signal.h>
#include <sys/wait.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define CHILD_SECONDS 55

#ifdef __GLIBC__
#define KEPT_BYTES 65536 /* larger blocks are lists that nobody points into */
#define NOWHERE 0xdf     /* 0xdfdf...: an address that no machine has */

extern void __libc_free(void *block);
static int keeping;

/* In place of the C library's own. */
void free(void *block) {
        size_t bytes = block ? malloc_usable_size(block) : 0;

        if (keeping && bytes > 0 && bytes <= KEPT_BYTES)
                memset(block, NOWHERE, bytes);
        else
                __libc_free(block);
}
#endif

static const char prefix[] = "librdkafka-";

static rd_kafka_t *client(const char *strategy) {
        static rd_kafka_t *running[3];
        static const char *names[] = {"range", "roundrobin", "cooperative-sticky"};
        char reason[512];
        int i;

        for (i = 0; i < 3 && strcmp(strategy, names[i]); i++)
                ;
        if (i == 3)
                return NULL;
        if (!running[i]) {
                rd_kafka_conf_t *conf = rd_kafka_conf_new();
                rd_kafka_conf_set(conf, "group.id", "oracle", reason, sizeof(reason));
                rd_kafka_conf_set(conf, "log_level", "0", reason, sizeof(reason));
                rd_kafka_conf_set(conf, "partition.assignment.strategy", strategy, reason,
                                  sizeof(reason));
                running[i] = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
        }
        return running[i];
}

static const char *text(const cJSON *object, const char *field) {
        return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, field));
}

/* The client that runs the document's strategy, NULL if there is none. */
static rd_kafka_t *client_of(const cJSON *document) {
        const char *strategy = document ? text(document, "strategy") : NULL;

        if (!strategy || strncmp(strategy, prefix, sizeof(prefix) - 1))
                return NULL;
        return client(strategy + sizeof(prefix) - 1);
}

static int number(const cJSON *object, const char *field, int otherwise) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);
        return cJSON_IsNumber(item) ? item->valueint : otherwise;
}

/* The racks of a partition's replicas as the leader keeps them: sorted, each once, unknown ones
 * left out. */
static void give_racks(rd_kafka_metadata_partition_internal_t *partition, const cJSON *replicas) {
        rd_list_t *racks = rd_list_new(0, NULL);
        const cJSON *replica;
        char *rack;
        int i;

        cJSON_ArrayForEach(replica, replicas) {
                if (cJSON_IsString(replica))
                        rd_list_add(racks, replica->valuestring);
        }
        rd_list_deduplicate(&racks, rd_strcmp2);
        partition->racks_cnt = rd_list_cnt(racks);
        partition->racks     = rd_calloc(partition->racks_cnt + 1, sizeof(char *));
        RD_LIST_FOREACH(rack, racks, i)
        partition->racks[i] = rack;
        rd_list_destroy(racks);
}

/* The topics that somebody subscribes to: a leader asks for no others. The broker answers with those
 * that it does not have, too, without partitions. */
static rd_kafka_metadata_t *cluster(const cJSON *document) {
        const cJSON *topics = cJSON_GetObjectItemCaseSensitive(document, "topics");
        const cJSON *members = cJSON_GetObjectItemCaseSensitive(document, "members");
        const cJSON *topic, *member, *wanted;
        rd_kafka_metadata_topic_t *known;
        const cJSON **source;
        rd_kafka_metadata_t *metadata;
        rd_kafka_metadata_internal_t *internal;
        int cnt = 0, most = cJSON_GetArraySize(topics) + 1, t;

        cJSON_ArrayForEach(member, members)
        most += cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(member, "topics"));
        known  = rd_calloc(most, sizeof(*known));
        source = rd_calloc(most, sizeof(*source));
        cJSON_ArrayForEach(topic, topics) {
                rd_bool_t subscribed = rd_false;
                cJSON_ArrayForEach(member, members) {
                        cJSON_ArrayForEach(
                            wanted, cJSON_GetObjectItemCaseSensitive(member, "topics")) {
                                if (!strcmp(wanted->valuestring, text(topic, "name")))
                                        subscribed = rd_true;
                        }
                }
                if (!subscribed)
                        continue;
                known[cnt].topic         = (char *)text(topic, "name");
                known[cnt].partition_cnt = number(topic, "partitions", 0);
                source[cnt++]            = topic;
        }
        cJSON_ArrayForEach(member, members) {
                cJSON_ArrayForEach(wanted, cJSON_GetObjectItemCaseSensitive(member, "topics")) {
                        for (t = 0; t < cnt && strcmp(known[t].topic, wanted->valuestring); t++)
                                ;
                        if (t == cnt)
                                known[cnt++].topic = wanted->valuestring;
                }
        }
        metadata = rd_kafka_metadata_new_topic_mock(known, cnt, -1, 0);
        internal = rd_kafka_metadata_get_internal(metadata);
        for (t = 0; t < cnt; t++) {
                const cJSON *racks = cJSON_GetObjectItemCaseSensitive(source[t], "racks");
                int p;
                for (p = 0; cJSON_IsArray(racks) && p < known[t].partition_cnt; p++)
                        give_racks(&internal->topics[t].partitions[p],
                                   cJSON_GetArrayItem(racks, p));
        }
        rd_free(known);
        rd_free(source);
        return metadata;
}

/* A member as the leader reads it from the JoinGroup response; rd_false if it cannot be read. */
static rd_bool_t join(rd_kafka_group_member_t *rkgm, const cJSON *member) {
        const cJSON *owned = cJSON_GetObjectItemCaseSensitive(member, "owned");
        const cJSON *wanted, *claim;
        rd_list_t *topics = rd_list_new(0, rd_kafka_topic_info_destroy_free);
        rd_kafka_topic_partition_list_t *held = NULL;
        rd_kafkap_str_t *rack = rd_kafkap_str_new(text(member, "rack"), -1);
        rd_kafkap_bytes_t *sent;
        int failed;

        cJSON_ArrayForEach(wanted, cJSON_GetObjectItemCaseSensitive(member, "topics"))
            rd_list_add(topics, rd_kafka_topic_info_new(wanted->valuestring, -1));
        if (cJSON_IsArray(owned)) {
                held = rd_kafka_topic_partition_list_new(cJSON_GetArraySize(owned));
                cJSON_ArrayForEach(claim, owned) rd_kafka_topic_partition_list_add(
                    held, cJSON_GetArrayItem(claim, 0)->valuestring,
                    cJSON_GetArrayItem(claim, 1)->valueint);
        }
        sent = rd_kafka_consumer_protocol_member_metadata_new(
            topics, NULL, 0, held, number(member, "sub_generation", -1), rack);

        memset(rkgm, 0, sizeof(*rkgm));
        rkgm->rkgm_member_id         = rd_kafkap_str_new(text(member, "id"), -1);
        rkgm->rkgm_group_instance_id = rd_kafkap_str_new(text(member, "instance"), -1);
        rd_list_init(&rkgm->rkgm_eligible, 0, NULL);
        rkgm->rkgm_generation = -1;
        failed = rd_kafka_group_MemberMetadata_consumer_read(NULL, rkgm, sent);
        if (!failed)
                rkgm->rkgm_assignment = rd_kafka_topic_partition_list_new(0);

        rd_kafkap_bytes_destroy(sent);
        rd_kafkap_str_destroy(rack);
        rd_list_destroy(topics);
        if (held)
                rd_kafka_topic_partition_list_destroy(held);
        return !failed;
}

static cJSON *pairs(const rd_kafka_topic_partition_list_t *partitions) {
        cJSON *list = cJSON_CreateArray();
        int i;

        for (i = 0; i < partitions->cnt; i++) {
                cJSON *pair = cJSON_CreateArray();
                cJSON_AddItemToArray(pair, cJSON_CreateString(partitions->elems[i].topic));
                cJSON_AddItemToArray(pair, cJSON_CreateNumber(partitions->elems[i].partition));
                cJSON_AddItemToArray(list, pair);
        }
        return list;
}

/* What a member received, and what it claims next: its group assignment, sorted by topic. */
static void report(cJSON *assignment,
                   cJSON *claims,
                   const char *id,
                   const rd_kafka_group_member_t *rkgm) {
        rd_kafka_topic_partition_list_t *held =
            rkgm ? rd_kafka_topic_partition_list_copy(rkgm->rkgm_assignment)
                 : rd_kafka_topic_partition_list_new(0);

        cJSON_AddItemToObject(assignment, id, pairs(held));
        rd_kafka_topic_partition_list_sort_by_topic(held);
        if (claims)
                cJSON_AddItemToObject(claims, id, pairs(held));
        rd_kafka_topic_partition_list_destroy(held);
}

static cJSON *failure(const char *kind, const char *reason) {
        char said[1024];
        cJSON *reply = cJSON_CreateObject();
        snprintf(said, sizeof(said), "%s: %s", kind, reason);
        cJSON_AddStringToObject(reply, "error", said);
        return reply;
}

static cJSON *answer(const cJSON *document) {
        rd_kafka_t *rk       = client_of(document);
        const cJSON *list    = cJSON_GetObjectItemCaseSensitive(document, "members");
        int size             = cJSON_GetArraySize(list), cnt = 0, i, m;
        rd_kafka_assignor_t *rkas;
        rd_kafka_group_member_t *members;
        rd_kafka_metadata_t *metadata;
        rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
        char reason[512]        = "";
        cJSON *reply;

        if (!rk)
                return failure("BadDocument", "no JSON, or no strategy of librdkafka");
        rkas     = rd_kafka_assignor_find(rk, text(document, "strategy") + sizeof(prefix) - 1);
        metadata = cluster(document);
        members  = rd_calloc(size + 1, sizeof(*members));
        for (i = 0; i < size; i++) {
                if (join(&members[cnt], cJSON_GetArrayItem(list, i)))
                        cnt++;
                else
                        rd_kafka_group_member_clear(&members[cnt]);
        }
        if (cnt > 0)
                err = rd_kafka_assignor_run(rk->rk_cgrp, rkas, metadata, members, cnt, reason,
                                            sizeof(reason));
        if (!err && cnt > 0 && rkas->rkas_protocol == RD_KAFKA_REBALANCE_PROTOCOL_COOPERATIVE)
                rd_kafka_cooperative_protocol_adjust_assignment(rk->rk_cgrp, members, cnt);

        if (err) {
                reply = failure(rd_kafka_err2name(err), reason);
        } else {
                cJSON *assignment, *claims = NULL;
                reply      = cJSON_CreateObject();
                assignment = cJSON_AddObjectToObject(reply, "assignment");
                if (cJSON_HasObjectItem(document, "next_generation"))
                        claims = cJSON_AddObjectToObject(reply, "next_owned");
                for (i = 0; i < size; i++) {
                        const char *id = text(cJSON_GetArrayItem(list, i), "id");
                        for (m = 0; m < cnt; m++) {
                                if (!rd_kafkap_str_cmp_str(members[m].rkgm_member_id, id))
                                        break;
                        }
                        report(assignment, claims, id, m < cnt ? &members[m] : NULL);
                }
        }
        for (m = 0; m < cnt; m++)
                rd_kafka_group_member_clear(&members[m]);
        rd_free(members);
        ut_destroy_metadata(metadata);
        return reply;
}

static void say(const cJSON *reply, int to) {
        char *said = cJSON_PrintUnformatted(reply);
        dprintf(to, "%s\n", said);
        free(said);
}

/* Let a child answer on standard output; 0, or the signal that ended it. */
static int ask_child(const cJSON *document) {
        pid_t child = fork();
        int status;

        if (child == 0) {
                alarm(CHILD_SECONDS); /* nobody else would end a child that runs for ever */
#ifdef __GLIBC__
                keeping = 1;
#endif
                say(answer(document), STDOUT_FILENO);
                _exit(0);
        }
        waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main(void) {
        char *line  = NULL;
        size_t room = 0;

        while (getline(&line, &room, stdin) > 0) {
                cJSON *document = cJSON_Parse(line);
                int ended;

                client_of(document); /* made here, kept for all children */
                ended = ask_child(document);
                if (ended) {
                        const char *name = ended == SIGABRT   ? "SIGABRT"
                                           : ended == SIGALRM ? "SIGALRM"
                                                              : "SIGSEGV";
                        cJSON *reply     = failure(name, strsignal(ended));
                        say(reply, STDOUT_FILENO);
                        cJSON_Delete(reply);
                }
                cJSON_Delete(document);
        }
        return 0;
}
