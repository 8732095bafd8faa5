package assignlab.oracle.kafka08;

import org.I0Itec.zkclient.IZkConnection;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper.States;
import org.apache.zookeeper.data.Stat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A tree of ZooKeeper nodes that is read only and lives in this process. */
final class InMemoryZooKeeper implements IZkConnection {
    private final Map<String, byte[]> data = new LinkedHashMap<>();
    private final Map<String, List<String>> children = new LinkedHashMap<>();

    void clear() {
        data.clear();
        children.clear();
    }

    /** Adds a node and the nodes above it. */
    void add(String path, byte[] content) {
        link(path);
        data.put(path, content);
    }

    private void link(String path) {
        if (children.putIfAbsent(path, new ArrayList<>()) != null || path.isEmpty())
            return;
        int slash = path.lastIndexOf('/');
        String parent = path.substring(0, slash);
        link(parent);
        children.get(parent).add(path.substring(slash + 1));
    }

    @Override
    public void connect(Watcher watcher) {
        // The thread that brings the news may not use the client any more.
        new Thread(() -> watcher.process(new WatchedEvent(Watcher.Event.EventType.None,
                Watcher.Event.KeeperState.SyncConnected, null))).start();
    }

    @Override
    public boolean exists(String path, boolean watch) {
        return children.containsKey(path);
    }

    @Override
    public List<String> getChildren(String path, boolean watch) throws KeeperException {
        if (!children.containsKey(path))
            throw new KeeperException.NoNodeException(path);
        return children.get(path);
    }

    @Override
    public byte[] readData(String path, Stat stat, boolean watch) throws KeeperException {
        if (!data.containsKey(path))
            throw new KeeperException.NoNodeException(path);
        return data.get(path);
    }

    @Override
    public States getZookeeperState() {
        return States.CONNECTED;
    }

    @Override
    public String getServers() {
        return "in memory";
    }

    @Override
    public void close() {
    }

    @Override
    public String create(String path, byte[] content, CreateMode mode) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void delete(String path) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void writeData(String path, byte[] content, int version) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Stat writeDataReturnStat(String path, byte[] content, int version) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long getCreateTime(String path) {
        throw new UnsupportedOperationException();
    }
}
