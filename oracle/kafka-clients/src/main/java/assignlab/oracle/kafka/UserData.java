package assignlab.oracle.kafka;

import assignlab.oracle.GroupDocument.Pair;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The bytes in which sticky members send claims.
 * Eager: an array of (topic, array of int32 partitions), then, since 2.3, an int32 generation.
 * Cooperative: the generation alone. Strings have an int16 length, arrays an int32 length.
 */
final class UserData {
    private UserData() {
    }

    /**
     * One entry for each run of equal topics, so that the assignor reads this very order.
     * @param generation null: the older form without a generation
     */
    static ByteBuffer claim(List<Pair> owned, Integer generation) {
        List<byte[]> names = new ArrayList<>();
        List<int[]> runs = new ArrayList<>();
        int bytes = 4 + (generation == null ? 0 : 4);
        for (int start = 0, end; start < owned.size(); start = end) {
            String topic = owned.get(start).topic();
            end = start;
            while (end < owned.size() && owned.get(end).topic().equals(topic))
                end++;
            names.add(topic.getBytes(StandardCharsets.UTF_8));
            runs.add(new int[] {start, end});
            bytes += 2 + names.get(names.size() - 1).length + 4 + 4 * (end - start);
        }
        ByteBuffer buffer = ByteBuffer.allocate(bytes);
        buffer.putInt(runs.size());
        for (int i = 0; i < runs.size(); i++) {
            buffer.putShort((short) names.get(i).length).put(names.get(i));
            buffer.putInt(runs.get(i)[1] - runs.get(i)[0]);
            for (int at = runs.get(i)[0]; at < runs.get(i)[1]; at++)
                buffer.putInt(owned.get(at).partition());
        }
        if (generation != null)
            buffer.putInt(generation);
        return buffer.flip();
    }

    static ByteBuffer generation(int generation) {
        return ByteBuffer.allocate(4).putInt(generation).flip();
    }

    /** The claim in the order in which it is written; leaves the buffer's position alone. */
    static List<Pair> readClaim(ByteBuffer userData) {
        ByteBuffer buffer = userData.duplicate();
        List<Pair> owned = new ArrayList<>();
        for (int topics = buffer.getInt(); topics > 0; topics--) {
            byte[] name = new byte[buffer.getShort()];
            buffer.get(name);
            String topic = new String(name, StandardCharsets.UTF_8);
            for (int partitions = buffer.getInt(); partitions > 0; partitions--)
                owned.add(new Pair(topic, buffer.getInt()));
        }
        return owned;
    }
}
