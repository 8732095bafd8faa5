import java.util.Scanner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/**
 * Hash codes of Kafka's own keys: one key a line on stdin, one answer a line on stdout.
 * "partition topic" gives the hash code; "two Uuids" (most least most least, or base64) gives
 * hash code and text of the first and the sign of compareTo.
 *
 * java -cp kafka-clients.jar KafkaKeys.java
 */
public class KafkaKeys {
    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in, "UTF-8");
        while (lines.hasNextLine()) {
            String[] parts = lines.nextLine().split(" ", 4);
            if (parts.length == 2) {
                int partition = Integer.parseInt(parts[0]);
                System.out.println(new TopicPartition(parts[1], partition).hashCode());
                continue;
            }
            Uuid a = new Uuid(Long.parseLong(parts[0]), Long.parseLong(parts[1]));
            Uuid b = new Uuid(Long.parseLong(parts[2]), Long.parseLong(parts[3]));
            boolean back = Uuid.fromString(a.toString()).equals(a);
            System.out.println(a.hashCode() + " " + a + " " + a.compareTo(b) + " " + back);
        }
    }
}
