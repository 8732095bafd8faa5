package assignlab.oracle.producers;

import java.lang.reflect.Field;
import java.util.concurrent.ThreadLocalRandom;

/** The state of this thread's ThreadLocalRandom. Needs --add-opens java.base/java.lang=ALL-UNNAMED. */
final class Draws {
    private Draws() {
    }

    static void seed(long seed) throws ReflectiveOperationException {
        ThreadLocalRandom.current(); // prepares the thread; otherwise the first draw would seed it anew
        field().setLong(Thread.currentThread(), seed);
    }

    static long state() throws ReflectiveOperationException {
        return field().getLong(Thread.currentThread());
    }

    private static Field field() throws ReflectiveOperationException {
        Field field = Thread.class.getDeclaredField("threadLocalRandomSeed");
        field.setAccessible(true);
        return field;
    }
}
