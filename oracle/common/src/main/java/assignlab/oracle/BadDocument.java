package assignlab.oracle;

/** The document itself cannot be understood; the original was not asked. */
public final class BadDocument extends Exception {
    private static final long serialVersionUID = 1L;

    public BadDocument(String reason) {
        super(reason);
    }
}
