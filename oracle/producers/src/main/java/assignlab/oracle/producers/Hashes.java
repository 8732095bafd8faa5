package assignlab.oracle.producers;

import assignlab.oracle.Conversation;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.utils.Utils;

/**
 * Utils.murmur2 over {@code keys} keys of {@code length} bytes each; all bytes together are the outputs of
 * SplitMix64 from a seed, little-endian. Answered are the sum and the exclusive
 * or of all hashes, and the nanoseconds of each of {@code repeat} rounds after {@code warmup}.
 */
final class Hashes {
    private Hashes() {
    }

    static ObjectNode answer(ObjectNode request) {
        int count = request.get("keys").intValue();
        int length = request.get("length").intValue();
        byte[][] keys = keys(count, length, request.get("seed").longValue());
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ArrayNode nanos = answer.putArray("nanos");
        int[] hashes = new int[count];
        int rounds = request.get("warmup").intValue() + request.get("repeat").intValue();
        for (int round = 0; round < rounds; round++) {
            long began = System.nanoTime();
            for (int i = 0; i < count; i++)
                hashes[i] = Utils.murmur2(keys[i]);
            long taken = System.nanoTime() - began;
            if (round >= request.get("warmup").intValue())
                nanos.add(taken);
        }
        long sum = 0;
        int xor = 0;
        for (int hash : hashes) {
            sum += hash;
            xor ^= hash;
        }
        return answer.put("sum", sum).put("xor", xor);
    }

    private static byte[][] keys(int count, int length, long seed) {
        byte[][] keys = new byte[count][length];
        long state = seed;
        long output = 0;
        for (int i = 0; i < count * length; i++) {
            if (i % 8 == 0) {
                state += 0x9e3779b97f4a7c15L;
                output = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L;
                output = (output ^ (output >>> 27)) * 0x94d049bb133111ebL;
                output ^= output >>> 31;
            }
            keys[i / length][i % length] = (byte) (output >>> (8 * (i % 8)));
        }
        return keys;
    }
}
