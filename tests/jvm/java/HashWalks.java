import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.*;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Walks real HashMaps and HashSets: one case a line on stdin, one walk a line on stdout.
 *
 * Case: how, constructor argument (-1: none), keys, and for "first" and "left" the steps; parted by "|".
 * Keys are parted by blanks: hash:rank (Comparable), hash: (not Comparable), or x and the UTF-16
 * units in hex (String). Walk: slots of the table, then the positions of the keys.
 * For "first": +position adds, -position removes; answer: the first of the iterator after each.
 * For "left": all keys are put, then removed as the steps say; answer: the walk.
 *
 * java --add-opens java.base/java.util=ALL-UNNAMED HashWalks.java
 */
public class HashWalks {
    static class Plain {
        final int hash;
        Plain(int hash) { this.hash = hash; }
        @Override public int hashCode() { return hash; }
    }

    static final class Ranked extends Plain implements Comparable<Ranked> {
        final int rank;
        Ranked(int hash, int rank) { super(hash); this.rank = rank; }
        @Override public int compareTo(Ranked other) { return Integer.compare(rank, other.rank); }
    }

    static Object key(String text) {
        if (text.startsWith("x")) {
            StringBuilder name = new StringBuilder();
            for (int i = 1; i < text.length(); i += 4) {
                name.append((char) Integer.parseInt(text.substring(i, i + 4), 16));
            }
            return name.toString();
        }
        int colon = text.indexOf(':');
        int hash = Integer.parseInt(text.substring(0, colon));
        String rank = text.substring(colon + 1);
        return rank.isEmpty() ? new Plain(hash) : new Ranked(hash, Integer.parseInt(rank));
    }

    static int slots(Object map) throws Exception {
        if (map instanceof HashSet) {
            var inner = HashSet.class.getDeclaredField("map");
            inner.setAccessible(true);
            map = inner.get(map);
        }
        var table = HashMap.class.getDeclaredField("table");
        table.setAccessible(true);
        Object[] value = (Object[]) table.get(map);
        return value == null ? 0 : value.length;
    }

    static Object build(String how, int n, List<Object> keys) {
        Map<Object, Object> map = n < 0 ? new HashMap<>() : new HashMap<>(n);
        switch (how) {
            case "put": for (Object k : keys) map.put(k, k); return map;
            case "putIfAbsent": for (Object k : keys) map.putIfAbsent(k, k); return map;
            case "computeIfAbsent":
                for (Object k : keys) map.computeIfAbsent(k, x -> x);
                return map;
            case "compute": for (Object k : keys) map.compute(k, (x, v) -> x); return map;
            case "merge": for (Object k : keys) map.merge(k, k, (a, b) -> a); return map;
            case "mergeAgain":
                for (Object k : keys) map.merge(k, k, (a, b) -> a);
                map.merge(keys.get(0), keys, (a, b) -> a);
                return map;
            case "groupingBy":
                return keys.stream().collect(Collectors.groupingBy(Function.identity()));
            case "groupingByAgain": {
                List<Object> twice = new ArrayList<>(keys);
                twice.add(keys.get(0));
                return twice.stream().collect(Collectors.groupingBy(Function.identity()));
            }
            case "toMap":
                return keys.stream().collect(Collectors.toMap(Function.identity(), k -> k));
            case "toMapMerging":
                return keys.stream().collect(Collectors.toMap(k -> k, k -> k, (a, b) -> a));
            case "toSet": return keys.stream().collect(Collectors.toSet());
            case "add": {
                Set<Object> set = n < 0 ? new HashSet<>() : new HashSet<>(n);
                for (Object k : keys) set.add(k);
                return set;
            }
            case "copySet": return new HashSet<>(keys);
            case "copyMap": return new HashMap<>(inOrder(keys));
            case "putAll": map.putAll(inOrder(keys)); return map;
            case "addAll": {
                Set<Object> set = new HashSet<>();
                set.addAll(keys);
                return set;
            }
            default: throw new IllegalArgumentException(how);
        }
    }

    static Map<Object, Object> inOrder(List<Object> keys) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (Object k : keys) map.put(k, k);
        return map;
    }

    static String first(List<Object> keys, Map<Object, Integer> position, String steps) {
        StringBuilder answer = new StringBuilder();
        Set<Object> set = new HashSet<>();
        for (String step : steps.split(" ")) {
            Object key = keys.get(Integer.parseInt(step.substring(1)));
            if (step.charAt(0) == '+') set.add(key); else set.remove(key);
            Iterator<Object> walk = set.iterator();
            answer.append(walk.hasNext() ? position.get(walk.next()) : -1).append(' ');
        }
        return answer.toString().trim();
    }

    static Map<Object, Object> left(List<Object> keys, String steps) {
        Map<Object, Object> map = new HashMap<>();
        for (Object k : keys) map.put(k, k);
        for (String step : steps.split(" ")) {
            if (!step.isEmpty()) map.remove(keys.get(Integer.parseInt(step.substring(1))));
        }
        return map;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\\|", -1);
            List<Object> keys = new ArrayList<>();
            for (String text : parts[2].split(" ")) {
                if (!text.isEmpty()) keys.add(key(text));
            }
            Map<Object, Integer> position = new IdentityHashMap<>();
            for (Object k : keys) position.put(k, position.size());
            if (parts[0].equals("first")) {
                out.append(first(keys, position, parts[3])).append('\n');
                continue;
            }
            Object built = parts[0].equals("left") ? left(keys, parts[3])
                : build(parts[0], Integer.parseInt(parts[1]), keys);
            out.append(slots(built));
            Collection<?> walk = built instanceof Map ? ((Map<?, ?>) built).keySet()
                : (Collection<?>) built;
            for (Object k : walk) out.append(' ').append(position.get(k));
            out.append('\n');
        }
        System.out.print(out);
    }
}
